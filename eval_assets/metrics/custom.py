"""Questions whose answer comes from elsewhere: a function of the user's, or a verdict that came with a recorded run."""

from __future__ import annotations

from collections.abc import Sequence

from eval_assets.metrics import arguments
from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput
from eval_assets.model.scores import Metric, MetricFunction, Score, Unscored


def custom(name: str, function: MetricFunction, *, tags: Sequence[str] = ()) -> Metric:
    """Your own predicate: gets (case, output), sync or async, returns a bool, and raises to leave the run unscored."""
    arguments.text(name, of="custom: the metric's name")
    arguments.function(function, of=f"custom {name!r}: the predicate must be a function of (case, output)", takes=2)
    return Metric(name, function, tags=arguments.labels(tags), waits=arguments.is_async(function))


def recorded(name: str, *, tags: Sequence[str] = ()) -> Metric:
    """The verdict of this name that came with a recorded run; unscored where none came."""
    arguments.text(name, of="recorded: the score's name")

    def verdict(_: Case, output: RunOutput) -> Score | bool:
        passed = output.scores.get(name)
        return Unscored(f"no recorded verdict {name!r} came with this run") if passed is None else passed

    return Metric(f"recorded:{name}", verdict, tags=arguments.labels(tags))
