"""What a comparison found, what it must show, and what follows from it."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from eval_assets.errors import ConfigError, GateError, Inconclusive, Regression, RegressionAndInconclusive
from eval_assets.model.base import Noun
from eval_assets.model.runs import Provenance

Direction = Literal["regression", "improvement", "flat", "inconclusive"]
Outcome = Literal["pass", "regression", "inconclusive"]
Finding = Literal["held", "missed", "inconclusive"]
Test = Literal["pooled", "stratified", "sign_flip"]
UnavailableAs = Literal["unscored", "fail"]
TESTS: tuple[Test, ...] = ("pooled", "stratified", "sign_flip")
"""Runs taken as independent; these cases; cases like these."""

_TAG = "tag:"
_JUDGED = frozenset({"regression", "improvement", "flat"})


class GatePolicy(Noun):
    """What a comparison must show for the candidate to pass."""

    test: Test = "stratified"
    """The test that decides."""
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """A change is significant when its adjusted p is below this."""
    unscored_tolerance: float = Field(default=0.0, ge=0, lt=1)
    """The share of unscored runs, in either report, up to which a metric still counts as measured."""
    allow_case_set_mismatch: bool = False
    """Compare the shared cases of two different case sets, instead of refusing."""
    margin: float | None = Field(default=None, gt=0, lt=1)
    """A drop this large must be ruled out."""
    metrics: tuple[str, ...] | None = Field(default=None, min_length=1)
    """The metrics that count; None is all of them."""
    unavailable: UnavailableAs = "unscored"
    """What a run that was never answered is to every metric: unscored, or scored as a run that ended in an error."""
    floors: dict[str, Annotated[float, Field(gt=0, lt=1)]] = Field(default_factory=dict)
    """Rates the candidate must reach whatever the baseline does, by `metric` or `tag:TAG/metric`."""

    @classmethod
    def of(cls, **settings: Any) -> GatePolicy:
        """
        A policy from settings that nobody has checked yet.

        Raises:
            ConfigError: A setting is out of its range; every one is named.
        """
        try:
            return cls(**settings)
        except ValidationError as error:
            wrong = (f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in error.errors())
            raise ConfigError("; ".join(wrong)) from error


def floor_parts(floor: str) -> tuple[str | None, str]:
    """The tag of a floor, None where it is over all cases, and its metric."""
    if not floor.startswith(_TAG) or "/" not in floor:
        return None, floor
    tag, _, metric = floor.removeprefix(_TAG).partition("/")
    return tag, metric


class FloorFinding(Noun):
    """One floor, and whether the candidate is known to be above it."""

    floor: str
    """`metric` or `tag:TAG/metric`, as the policy names it."""
    wanted: float
    """The rate to reach."""
    passes: int
    scored: int
    unscored: int
    ci_low: float
    """The floor is held when this reaches it: 2 of 2 is no evidence for 85 %."""
    ci_high: float
    finding: Finding
    note: str = ""
    """Why it is missed or inconclusive, and what would settle it."""


class MetricComparison(Noun):
    """One metric, old report against new."""

    metric: str
    old_rate: float
    new_rate: float
    rate_delta: float
    """new - old; 0 where nothing can be compared."""
    old_passes: int
    old_scored: int
    old_unscored: int
    new_passes: int
    new_scored: int
    new_unscored: int
    p_value: float = Field(ge=0, le=1)
    """Two-sided p of the deciding test; 1 where nothing can be compared."""
    adjusted_p: float = Field(ge=0, le=1)
    """p after Benjamini-Hochberg over the metrics that were compared."""
    significant: bool
    """adjusted_p < alpha."""
    direction: Direction
    note: str = ""
    """Why it is inconclusive, or what to know about it."""
    extensions: dict[str, Any] = Field(default_factory=dict)
    """What this project adds to the layout."""


class Comparison(Noun):
    """Old report against new, per metric, corrected over metrics."""

    metrics: tuple[MetricComparison, ...]
    old: Provenance = Provenance()
    new: Provenance = Provenance()
    floors: tuple[FloorFinding, ...] = ()
    """What became of the policy's floors."""
    extensions: dict[str, Any] = Field(default_factory=dict)
    """What this project adds: the test, alpha, which reports, which cases moved."""

    @property
    def regressions(self) -> tuple[MetricComparison, ...]:
        """The metrics that got worse by more than chance."""
        return tuple(metric for metric in self.metrics if metric.direction == "regression")

    @property
    def inconclusives(self) -> tuple[MetricComparison, ...]:
        """The metrics that cannot be judged; a direction that nobody knows is among them."""
        return tuple(metric for metric in self.metrics if metric.direction not in _JUDGED)

    @property
    def missed_floors(self) -> tuple[FloorFinding, ...]:
        """The floors the candidate is known to be under."""
        return tuple(floor for floor in self.floors if floor.finding == "missed")

    @property
    def open_floors(self) -> tuple[FloorFinding, ...]:
        """The floors that these runs cannot settle."""
        return tuple(floor for floor in self.floors if floor.finding == "inconclusive")

    @property
    def outcome(self) -> Outcome:
        """The one rule: what is known to be worse blocks first, then anything not measured; nothing never passes."""
        if self.regressions or self.missed_floors:
            return "regression"
        return "inconclusive" if self.inconclusives or self.open_floors or not self.metrics else "pass"

    @property
    def offences(self) -> tuple[str, ...]:
        """A sentence for everything that keeps this from passing."""
        metrics = (sentence(metric) for metric in (*self.regressions, *self.inconclusives))
        floors = (f"{floor.floor} {floor.note}" for floor in (*self.missed_floors, *self.open_floors))
        return (*metrics, *floors)

    def gate(self) -> None:
        """
        Return only when something was compared, every metric is flat or improved, and every floor is held.

        Raises:
            Regression: A metric got worse by more than chance, or a floor is missed.
            Inconclusive: A metric, a floor, or the whole comparison was not measured. Where both hold, it is both.
        """
        if self.outcome == "pass":
            return
        named = (*self.regressions, *self.inconclusives)
        message = "; ".join(self.offences) or "nothing was compared"
        raise self._error_type()(message, metrics=tuple(metric.metric for metric in named))

    def _error_type(self) -> type[GateError]:
        worse = bool(self.regressions or self.missed_floors)
        unmeasured = bool(self.inconclusives or self.open_floors)
        if worse and unmeasured:
            return RegressionAndInconclusive
        return Regression if worse else Inconclusive


class Verdict(Noun):
    """What follows from one comparison under one gate policy."""

    outcome: Outcome
    reasons: tuple[str, ...]
    """One sentence per offending metric; for a pass, what was compared."""

    @property
    def exit_code(self) -> int:
        """0 pass, 1 regression, 3 inconclusive."""
        return {"pass": 0, "regression": 1, "inconclusive": 3}[self.outcome]


class StoredVerdict(Noun):
    """A verdict as the store keeps it, bound to the exact comparison and reports it was decided on."""

    verdict_id: str
    comparison_id: str
    suite: str
    candidate: str
    baseline_report_id: str
    candidate_report_id: str
    verdict: Verdict
    decided_by: str
    """`cli`, or `dagster:<dagster_run_id>`."""
    decided_at: datetime


class Promotion(Noun):
    """A candidate becoming the baseline, on a passing verdict of exactly that comparison."""

    promotion_id: str
    verdict_id: str
    suite: str
    candidate: str
    baseline_report_id: str
    candidate_report_id: str
    reason: str
    promoted_by: str
    promoted_at: datetime


def sentence(metric: MetricComparison) -> str:
    """One metric's finding as a person would say it."""
    if metric.direction == "inconclusive":
        return f"{metric.metric} is inconclusive: {metric.note}"
    moved = f"{metric.metric} went from {_share(metric, 'old')} to {_share(metric, 'new')}"
    return f"{moved} (p = {metric.p_value:.4g}, adjusted {metric.adjusted_p:.4g}): {metric.direction}"


def _share(metric: MetricComparison, side: Literal["old", "new"]) -> str:
    passes, scored = getattr(metric, f"{side}_passes"), getattr(metric, f"{side}_scored")
    return f"{passes}/{scored} ({passes / scored:.1%})" if scored else "0/0"


def comparison_json(comparison: Comparison, verdict: Verdict) -> str:
    """The document that `compare`, `gate` and `diff` write."""
    document = {
        "verdict": verdict.outcome,
        "reasons": list(verdict.reasons),
        "metrics": [metric.model_dump(mode="json") for metric in comparison.metrics],
        "extensions": {
            "old": comparison.old.model_dump(mode="json"),
            "new": comparison.new.model_dump(mode="json"),
            "floors": [floor.model_dump(mode="json") for floor in comparison.floors],
            **comparison.extensions,
        },
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
