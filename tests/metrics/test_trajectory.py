from __future__ import annotations

import asyncio
from typing import Any

import pytest

from eval_assets import Case, ConfigError, RunOutput, ToolCall, Trajectory, metrics
from eval_assets.metrics import scoring
from eval_assets.model.scores import Failed, Metric, Passed, Score, Unscored


def ran(*tools: str, steps: int = 1, **fields: Any) -> RunOutput:
    calls = tuple(ToolCall(name=name) for name in tools)
    return RunOutput(final="x", trajectory=Trajectory(steps=steps, tool_calls=calls), **fields)


def ask(metric: Metric, output: RunOutput) -> Score:
    return asyncio.run(scoring.score_output(metric, Case(name="c"), output))


@pytest.mark.parametrize(
    ("metric", "output", "passes"),
    [
        (metrics.called_tool("a"), ran("b", "a"), True),
        (metrics.called_tool("a"), ran("b"), False),
        (metrics.tool_order("a", "b"), ran("a", "x", "b"), True),
        (metrics.tool_order("a", "b"), ran("b", "a"), False),
        (metrics.tool_order("a", "a"), ran("a"), False),
        (metrics.tool_order("a", "a", "b"), ran("a", "b", "b"), False),
        (metrics.max_steps(2), ran(steps=2), True),
        (metrics.max_steps(2), ran(steps=3), False),
        (metrics.called_tool("a"), ran("a", error="then it crashed"), True),
    ],
)
def test_trajectory(metric: Metric, output: RunOutput, passes: bool) -> None:
    assert isinstance(ask(metric, output), Passed if passes else Failed)


@pytest.mark.parametrize("metric", [metrics.called_tool("a"), metrics.tool_order("a"), metrics.max_steps(9)])
def test_an_unread_trajectory_is_unscored(metric: Metric) -> None:
    """It has no steps, and would be within any limit."""
    score = ask(metric, RunOutput(final="x", trace_error="journal gone"))

    assert score == Unscored("the trajectory could not be read: journal gone")


def test_names_are_those_promised() -> None:
    made = [metrics.called_tool("t"), metrics.tool_order("a", "b"), metrics.max_steps(3)]

    assert [metric.name for metric in made] == ["called:t", "tool_order:a>b", "max_steps:3"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: metrics.called_tool(""),
        metrics.tool_order,
        lambda: metrics.tool_order("a", ""),
        lambda: metrics.max_steps(0),
        lambda: metrics.max_steps(True),
        lambda: metrics.max_steps("3"),  # type: ignore[arg-type]
    ],
)
def test_a_bad_argument_is_refused_at_once(make: Any) -> None:
    with pytest.raises(ConfigError):
        make()
