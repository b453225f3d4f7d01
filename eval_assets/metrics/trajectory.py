"""
Questions about how the run got there: which tools it called, in what order, in how many model turns.

A run whose trajectory could not be read is unscored: an unread trajectory has no steps and would be within any limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eval_assets.errors import ConfigError
from eval_assets.metrics import arguments
from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput, Trajectory
from eval_assets.model.scores import Metric, MetricFunction, Score, Unscored


def called_tool(name: str, *, tags: Sequence[str] = ()) -> Metric:
    """The run called this tool at least once."""
    arguments.text(name, of="called_tool: the tool's name")
    return Metric(f"called:{name}", _of_trajectory(lambda trajectory: name in trajectory.tool_names), tags=_tags(tags))


def tool_order(*names: str, tags: Sequence[str] = ()) -> Metric:
    """The run called these tools in this order, others between them allowed."""
    if not names:
        raise ConfigError("tool_order needs at least one tool name, but got none")
    for name in names:
        arguments.text(name, of="tool_order: each tool's name")

    def in_order(trajectory: Trajectory) -> bool:
        calls = iter(trajectory.tool_names)
        return all(name in calls for name in names)

    return Metric(f"tool_order:{'>'.join(names)}", _of_trajectory(in_order), tags=_tags(tags))


def max_steps(n: int, *, tags: Sequence[str] = ()) -> Metric:
    """The run took at most `n` model turns."""
    arguments.count(n, of="max_steps")
    return Metric(f"max_steps:{n}", _of_trajectory(lambda trajectory: trajectory.steps <= n), tags=_tags(tags))


def _of_trajectory(question: Callable[[Trajectory], bool]) -> MetricFunction:
    def ask(_: Case, output: RunOutput) -> Score | bool:
        if output.trace_error is not None:
            return Unscored(f"the trajectory could not be read: {output.trace_error}")
        return question(output.trajectory)

    return ask


_tags = arguments.labels
