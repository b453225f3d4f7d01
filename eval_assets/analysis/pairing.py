"""What two reports have in common: the cases to compare on, and each metric's counts on them, case by case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from eval_assets.analysis import summarize
from eval_assets.model.reports import CaseReport, MetricStat, Report, sum_counts
from eval_assets.model.verdicts import GatePolicy
from eval_assets.stats import paired
from eval_assets.stats.paired import PairedCounts

NO_RUNS = MetricStat(passes=0, scored=0, unscored=0, rate=0.0, ci_low=0.0, ci_high=1.0)
"""What a report holds of a metric it does not have."""

_Count = tuple[int, int]
"""(passes, scored)."""


class Pair(NamedTuple):
    """One metric in two reports."""

    metric: str
    old: MetricStat | None
    """None where the old report does not have it."""
    new: MetricStat | None
    counts: PairedCounts
    """Case by case, every scored run."""
    effective: PairedCounts
    """Case by case, copies counted once."""

    @property
    def has_copies(self) -> bool:
        """Whether some runs of it are copies of others."""
        return sum(map(int, self.effective.old_scored)) + sum(map(int, self.effective.new_scored)) < sum(
            map(int, self.counts.old_scored)
        ) + sum(map(int, self.counts.new_scored))


class Ground(NamedTuple):
    """The cases two reports are compared on, or why there are none."""

    old: Report
    new: Report
    shared: frozenset[str] | None
    """Keys of the cases both have; None where the case sets are the same."""
    comparable: bool
    note: str = ""
    """What to know about it: that the case sets differ, and how far they overlap."""
    only_old: tuple[str, ...] = ()
    """Names of the cases that only the old report has."""
    only_new: tuple[str, ...] = ()


def common_ground(old: Report, new: Report, policy: GatePolicy) -> Ground:
    """Find the cases to compare on. Different case sets have none, unless the policy allows their shared cases."""
    old_hash, new_hash = old.provenance.case_set_hash, new.provenance.case_set_hash
    if old_hash == new_hash and old_hash:
        return Ground(old, new, shared=None, comparable=True)
    shared = {case.hash for case in old.cases} & {case.hash for case in new.cases} - {""}
    only_old, only_new = _names_outside(old, shared), _names_outside(new, shared)
    differ = f"case sets differ (old {old_hash or 'none'}, new {new_hash or 'none'})"
    if not policy.allow_case_set_mismatch:
        return Ground(old, new, frozenset(shared), False, f"{differ}{_listed(only_old, only_new)}", only_old, only_new)
    if not shared:
        return Ground(old, new, frozenset(), False, f"{differ}; they share no case", only_old, only_new)
    note = f"{differ}; compared on {len(shared)} shared case(s){_listed(only_old, only_new)}"
    return Ground(old, new, frozenset(shared), True, note, only_old, only_new)


def pairs(ground: Ground, names: Iterable[str]) -> list[Pair]:
    """Each metric's stats and counts in both reports, on the common ground."""
    sides = [_Side.of(report, ground) for report in (ground.old, ground.new)]
    return [_pair(name, *sides) for name in names]


def metric_names(ground: Ground) -> set[str]:
    """The metrics of either report."""
    return {*ground.old.overall, *ground.new.overall}


class _Side(NamedTuple):
    """One report's cases by key, and its stats over those on the common ground."""

    cases: Mapping[str, list[CaseReport]]
    stats: Mapping[str, MetricStat]
    report: Report

    @classmethod
    def of(cls, report: Report, ground: Ground) -> _Side:
        cases: dict[str, list[CaseReport]] = {}
        for position, case in enumerate(report.cases):
            # Reports of old have no case hashes; where the case sets are the same, places say which case is which.
            key = case.hash or (f"#{position}" if ground.shared is None else "")
            if key and (ground.shared is None or key in ground.shared):
                cases.setdefault(key, []).append(case)
        if ground.shared is None or not ground.comparable:
            return cls(cases, report.overall, report)
        counts = sum_counts(case.metrics for repeated in cases.values() for case in repeated)
        return cls(cases, {name: summarize.stat(*count) for name, count in counts.items()}, report)

    def counts(self, key: str, metric: str) -> _Count:
        found = [case.metrics[metric] for case in self.cases.get(key, ()) if metric in case.metrics]
        return sum(stat.passes for stat in found), sum(stat.scored for stat in found)

    def effective(self, key: str, metric: str) -> _Count:
        found = [self.report.effective(case, metric) for case in self.cases.get(key, ())]
        return sum(passes for passes, _ in found), sum(scored for _, scored in found)


def _pair(metric: str, old: _Side, new: _Side) -> Pair:
    keys = [key for key in old.cases if key in new.cases]
    return Pair(
        metric=metric,
        old=old.stats.get(metric),
        new=new.stats.get(metric),
        counts=_paired([old.counts(key, metric) for key in keys], [new.counts(key, metric) for key in keys]),
        effective=_paired([old.effective(key, metric) for key in keys], [new.effective(key, metric) for key in keys]),
    )


def _paired(old: list[_Count], new: list[_Count]) -> PairedCounts:
    return paired.counts(
        [passes for passes, _ in old],
        [scored for _, scored in old],
        [passes for passes, _ in new],
        [scored for _, scored in new],
    )


def _names_outside(report: Report, shared: set[str]) -> tuple[str, ...]:
    return tuple(case.name for case in report.cases if case.hash not in shared)


def _listed(only_old: tuple[str, ...], only_new: tuple[str, ...]) -> str:
    sides = (("old", only_old), ("new", only_new))
    return "".join(f"; only in the {side} report: {_few(names)}" for side, names in sides if names)


def _few(names: tuple[str, ...], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
