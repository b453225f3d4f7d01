"""A named question about a run, and its three possible answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput


@dataclass(frozen=True, slots=True)
class Passed:
    """The run did what the metric asks."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The run did not; `reason` says what was missing, where the metric knows."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Unscored:
    """The metric could not do its job on this run. Neither a pass nor a failure, and never dropped silently."""

    reason: str


Score = Passed | Failed | Unscored

MetricFunction = Callable[[Case, RunOutput], "bool | Score | Awaitable[bool]"]
"""Answers True or False; raises to leave the run unscored."""


@dataclass(frozen=True)
class Metric:
    """
    A named question about (Case, RunOutput).

    A metric that raises leaves the run unscored with the reason kept. A property of the output is never a reason to
    raise: an output that confuses a metric must lower the rate, not leave it.
    """

    name: str
    """Unique in an evaluation; reports key by it."""
    function: MetricFunction = field(compare=False)
    tags: tuple[str, ...] = ()
    """Asked only of cases that carry one of these; empty asks it of every case."""
    asks_unavailable: bool = False
    """Asked even of a run that was never answered. Only `available` is."""

    def asks(self, case: Case) -> bool:
        """Whether this metric is asked of a case at all."""
        return not self.tags or not set(self.tags).isdisjoint(case.tags)


class ScoreRow(NamedTuple):
    """One score as the store keeps it."""

    case_hash: str
    run_index: int
    metric: str
    passed: bool | None
    """None is unscored."""
    reason: str | None


class CaseCount(NamedTuple):
    """How one case fared on one metric: what scores shrink to before anything has a distribution in it."""

    case_hash: str
    metric: str
    passes: int
    scored: int
    unscored: int
