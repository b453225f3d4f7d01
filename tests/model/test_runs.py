from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from eval_assets import RunOutput, ToolCall, Trajectory


def test_trajectory_counts_turns_and_keeps_calls_in_order() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "a", "arguments": "{}"}}]},
        {"role": "tool", "content": "done"},
        {"role": "assistant", "tool_calls": [{"function": {"name": "b"}}, {"function": {"name": "a"}}]},
        {"role": "assistant", "content": "bye"},
    ]

    trajectory = Trajectory.from_messages(messages)

    assert trajectory.steps == 3
    assert trajectory.tool_names == ("a", "b", "a")
    assert trajectory.tool_calls[0] == ToolCall(name="a", arguments="{}", id="1")


@pytest.mark.parametrize("messages", [["text"], [{"role": "assistant", "tool_calls": ["call"]}]])
def test_unreadable_messages_are_named(messages: list[Any]) -> None:
    with pytest.raises(ValueError, match="must be an object"):
        Trajectory.from_messages(messages)


def test_a_stated_trajectory_is_kept() -> None:
    stated = Trajectory(steps=2, tool_calls=(ToolCall(name="a"),))

    assert RunOutput(final="x", trajectory=stated).trajectory == stated


def test_a_trace_error_leaves_no_trajectory() -> None:
    output = RunOutput(messages=({"role": "assistant"},), trace_error="journal gone")

    assert output.trajectory == Trajectory()


def test_an_unavailable_run_says_why() -> None:
    with pytest.raises(ValidationError, match="to say why"):
        RunOutput(unavailable=True)
