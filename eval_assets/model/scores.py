"""A named question about a run, and its three possible answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput

Detail = Mapping[str, Any]
"""What a metric saw, as JSON, kept with the score for whoever doubts it: a judge's reply, word for word."""


@dataclass(frozen=True, slots=True)
class Passed:
    """The run did what the metric asks."""

    detail: Detail | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Failed:
    """The run did not; `reason` says what was missing, where the metric knows."""

    reason: str | None = None
    detail: Detail | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Unscored:
    """The metric could not do its job on this run. Neither a pass nor a failure, and never dropped silently."""

    reason: str
    detail: Detail | None = field(default=None, hash=False)


Score = Passed | Failed | Unscored

MetricFunction = Callable[[Case, RunOutput], "bool | Score | Awaitable[bool | Score]"]
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
    kind: Literal["judgement", "governance"] = "judgement"
    """Whether it asks if the model was right, or if the outcome stayed compliant whatever the model did."""
    waits: bool = False
    """Asks someone who takes time: put to many runs at once, and in a thread where its function is sync."""

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
    detail: Detail | None = None


class GovernanceGap(NamedTuple):
    """How often the outcome stayed compliant although the model was wrong, over the runs both metrics scored."""

    metric: str
    """A judgement metric."""
    governance: str
    """A governance metric."""
    both_scored: int
    erred: int
    """Of those, the runs that failed the judgement metric."""
    erred_but_held: int
    """Of those, the runs that passed the governance metric."""


class ScoringTerms(NamedTuple):
    """What the scores of one pass of metrics over an evaluation rest on."""

    metrics: tuple[str, ...]
    governance: tuple[str, ...]
    """Those of the metrics that ask whether the outcome stayed compliant."""
    judges: dict[str, dict[str, Any]]
    """By judge metric: whose verdicts they are, and by what words (`JudgeMetric.provenance`)."""
    unavailable_as: Literal["unscored", "fail"] = "unscored"
    """What a run that was never answered was to every metric (`GatePolicy.unavailable`)."""

    def for_report(self, gaps: Iterable[GovernanceGap]) -> dict[str, Any]:
        """What a report's extensions say of governance, judges and unanswered runs; nothing where it goes unsaid."""
        told: dict[str, Any] = {}
        if self.unavailable_as != "unscored":
            told["unavailable_as"] = self.unavailable_as
        if self.governance:
            told["governance"] = {"metrics": list(self.governance), "gaps": [gap._asdict() for gap in gaps]}
        if self.judges:
            told["judges"] = self.judges
        return told


class CaseCount(NamedTuple):
    """How one case fared on one metric: what scores shrink to before anything has a distribution in it."""

    case_hash: str
    metric: str
    passes: int
    scored: int
    unscored: int
    copied: int = 0
    """Scored runs that are copies of another run of the case."""
    copied_passes: int = 0
    """Of those, the ones that passed."""

    @property
    def effective_scored(self) -> int:
        """Scored runs, copies counted once."""
        return self.scored - self.copied

    @property
    def effective_passes(self) -> int:
        """Passes, copies counted once."""
        return self.passes - self.copied_passes
