"""Absolute floors beside the comparison: is the candidate known to reach a rate, whatever the baseline does."""

from __future__ import annotations

from collections.abc import Mapping

from eval_assets.analysis.pairing import NO_RUNS
from eval_assets.model.reports import MetricStat, Report
from eval_assets.model.verdicts import Finding, FloorFinding, GatePolicy, floor_parts
from eval_assets.stats import floors as planning


def find(report: Report, policy: GatePolicy) -> tuple[FloorFinding, ...]:
    """Judge every floor of a policy on the lower bound of the candidate's interval."""
    return tuple(_finding(name, wanted, report, policy) for name, wanted in policy.floors.items())


def _finding(name: str, wanted: float, report: Report, policy: GatePolicy) -> FloorFinding:
    tag, metric = floor_parts(name)
    stats: Mapping[str, MetricStat] = report.overall if tag is None else report.by_tag.get(tag, {})
    stat = stats.get(metric)
    finding, note = _unmeasured(stat, wanted) or _judged(stat or NO_RUNS, wanted, policy)
    return FloorFinding(
        floor=name,
        wanted=wanted,
        finding=finding,
        note=note,
        **(stat or NO_RUNS).model_dump(exclude={"rate"}),
    )


def _unmeasured(stat: MetricStat | None, wanted: float) -> tuple[Finding, str] | None:
    if stat is not None and stat.scored:
        return None
    missing = "is not in the new report" if stat is None else "has no scored runs in the new report"
    return "inconclusive", f"{missing}, so the floor {wanted:.1%} is open"


def _judged(stat: MetricStat, wanted: float, policy: GatePolicy) -> tuple[Finding, str]:
    seen = f"{stat.passes} of {stat.scored} passed, 95 % interval {stat.ci_low:.1%} to {stat.ci_high:.1%}"
    if stat.ci_high < wanted:
        return "missed", f"is below its floor {wanted:.1%}: {seen}"
    if stat.unscored / stat.expected > policy.unscored_tolerance:
        return "inconclusive", f"leaves its floor {wanted:.1%} open: {stat.unscored} of {stat.expected} runs unscored"
    if stat.ci_low >= wanted:
        return "held", ""
    return "inconclusive", f"leaves its floor {wanted:.1%} open: {seen}; {_what_would_settle(stat, wanted)}"


def _what_would_settle(stat: MetricStat, wanted: float) -> str:
    runs = planning.runs_to_clear(stat.rate, wanted)
    if runs is None:
        return "at this rate no number of runs would clear it"
    return f"{runs} runs at this rate would clear it"
