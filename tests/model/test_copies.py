from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from eval_assets import RunOutput, ToolCall, Trajectory
from eval_assets.model import copies
from eval_assets.model.runs import Run

LONG = "x" * copies.TELLING_CHARACTERS


def runs(*outputs: RunOutput) -> list[Run]:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        Run(case_name="c", case_hash="h", run_index=index, run_id=f"r{index}", started_at=moment, output=output)
        for index, output in enumerate(outputs)
    ]


def said(text: str | None, **fields: Any) -> RunOutput:
    return RunOutput(final=text, **fields)


@pytest.mark.parametrize(
    ("temperature", "outputs", "first"),
    [
        (0, [said("4"), said("4"), said("5"), said("4")], [0, 0, 2, 0]),
        (0.7, [said(LONG), said(LONG)], [0, 1]),
        (None, [said("4"), said("4")], [0, 1]),
        (None, [said(LONG), said(LONG + "!"), said(LONG)], [0, 1, 0]),
        (0, [said(None), said(None)], [0, 1]),
        (0.7, [said("a", response_id="r"), said("b", response_id="r"), said("c")], [0, 0, 2]),
        (0.7, [said("a", response_id="r"), said("a", response_id="s")], [0, 1]),
        (0, [said("a", response_id="r"), said("b", response_id="s"), said("b", response_id="r")], [0, 0, 0]),
        (0.7, [said("a", served_by="7"), said("b", served_by="7"), said("a", served_by="8")], [0, 0, 2]),
        (1, [said("a", served_by="7"), said("b", served_by="7", response_id="r"), said("c", response_id="r")], [0] * 3),
    ],
)
def test_runs_are_grouped_by_what_they_are_copies_of(
    temperature: float | None, outputs: list[RunOutput], first: list[int]
) -> None:
    assert list(copies.first_of_each(runs(*outputs), temperature=temperature).values()) == first


def test_the_same_text_after_other_calls_is_no_copy() -> None:
    one, other = (Trajectory(steps=1, tool_calls=(ToolCall(name=name, arguments="{}"),)) for name in ("a", "b"))

    found = copies.first_of_each(runs(said("4", trajectory=one), said("4", trajectory=other)), temperature=0)

    assert found == {0: 0, 1: 1}


def test_ids_of_calls_tell_nothing() -> None:
    calls = [Trajectory(steps=1, tool_calls=(ToolCall(name="a", arguments="{}", id=id_),)) for id_ in ("1", "2")]

    found = copies.first_of_each(runs(*(said("4", trajectory=call) for call in calls)), temperature=0)

    assert found == {0: 0, 1: 0}


def test_unreadable_messages_tell_nothing() -> None:
    broken = RunOutput(messages=({"role": "assistant", "tool_calls": 3},))

    assert copies.first_of_each(runs(broken, broken), temperature=0) == {0: 0, 1: 1}
