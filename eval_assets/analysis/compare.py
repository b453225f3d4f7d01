"""Old report against new, metric by metric: what moved by more than chance, what did not, and what cannot be said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from eval_assets.analysis import summarize
from eval_assets.errors import ConfigError, FormatError
from eval_assets.model.reports import REPORT_FORMAT, MetricStat, Report, sum_counts
from eval_assets.model.verdicts import Comparison, Direction, GatePolicy, MetricComparison

NO_RUNS = MetricStat(passes=0, scored=0, unscored=0, rate=0.0, ci_low=0.0, ci_high=1.0)
"""What a report holds of a metric it does not have."""


def compare(
    old: Report,
    new: Report,
    *,
    test: str = "pooled",
    alpha: float = 0.05,
    unscored_tolerance: float = 0.0,
    allow_case_set_mismatch: bool = False,
    metrics: Sequence[str] | None = None,
) -> Comparison:
    """
    Say which metrics differ between two reports by more than chance, corrected over the metrics compared.

    A metric is inconclusive, and outside the correction, when it is missing from one report, was never scored in one,
    has a larger share of unscored runs than tolerated in either, or when the case sets differ.

    Args:
        old: The baseline's report.
        new: The candidate's report.
        test: `pooled`: two-proportion z, or Fisher's exact where counts are small.
        alpha: A change is significant when its adjusted p is below this; in (0, 1).
        unscored_tolerance: The share of unscored runs, in [0, 1), up to which a metric counts as measured.
        allow_case_set_mismatch: Compare the cases both reports share instead of refusing different case sets.
        metrics: The metrics to compare; None is every metric of either report.

    Raises:
        FormatError: A report is of another format.
        ConfigError: An unknown test, or a number out of its range.
    """
    _check(old, new, test)
    policy = GatePolicy(
        test=test,
        alpha=alpha,
        unscored_tolerance=unscored_tolerance,
        allow_case_set_mismatch=allow_case_set_mismatch,
        metrics=None if metrics is None else tuple(metrics),
    )
    return compare_under(policy, old, new)


def compare_under(policy: GatePolicy, old: Report, new: Report, *, expected: Iterable[str] = ()) -> Comparison:
    """Compare as `compare` does, under a gate's policy. A metric that was expected and is in neither report blocks."""
    _check(old, new, policy.test)
    ground = _common_ground(old, new, allow_mismatch=policy.allow_case_set_mismatch)
    names = policy.metrics or sorted({*ground.old, *ground.new, *expected})
    pairs = [_Pair(name, ground.old.get(name), ground.new.get(name)) for name in names]
    measured = [pair for pair in pairs if not _why_inconclusive(pair, ground, policy)]
    tested = dict(zip(measured, _p_values(measured), strict=True))
    return Comparison(
        metrics=tuple(
            _tested(pair, *tested[pair], ground, policy) if pair in tested else _inconclusive(pair, ground, policy)
            for pair in pairs
        ),
        old=old.provenance,
        new=new.provenance,
        extensions={
            "test": policy.test,
            "alpha": policy.alpha,
            "unscored_tolerance": policy.unscored_tolerance,
            "compared_metrics": len(measured),
        },
    )


class _Pair(NamedTuple):
    """A metric and its stat in either report; None where the report does not have it."""

    metric: str
    old: MetricStat | None
    new: MetricStat | None


class _Ground(NamedTuple):
    """The stats both sides are compared on, or why there are none."""

    old: dict[str, MetricStat]
    new: dict[str, MetricStat]
    note: str = ""
    comparable: bool = True


def _check(old: Report, new: Report, test: str) -> None:
    for side, report in (("old", old), ("new", new)):
        if report.format != REPORT_FORMAT:
            raise FormatError(f"the {side} report's format is {report.format!r}, wanted {REPORT_FORMAT!r}")
    if test != "pooled":
        raise ConfigError(f"the test {test!r} is not one this version has; wanted 'pooled'")


def _common_ground(old: Report, new: Report, *, allow_mismatch: bool) -> _Ground:
    old_hash, new_hash = old.provenance.case_set_hash, new.provenance.case_set_hash
    if old_hash == new_hash and old_hash:
        return _Ground(old.overall, new.overall)
    differ = f"case sets differ (old {old_hash or 'none'}, new {new_hash or 'none'})"
    if not allow_mismatch:
        return _Ground(old.overall, new.overall, differ, comparable=False)
    shared = {case.hash for case in old.cases} & {case.hash for case in new.cases} - {""}
    if not shared:
        return _Ground(old.overall, new.overall, f"{differ}; they share no case", comparable=False)
    note = f"{differ}; compared on {len(shared)} shared case(s)"
    return _Ground(_restricted(old, shared), _restricted(new, shared), note)


def _restricted(report: Report, shared: set[str]) -> dict[str, MetricStat]:
    counts = sum_counts(case.metrics for case in report.cases if case.hash in shared)
    return {name: summarize.stat(*count) for name, count in counts.items()}


def _why_inconclusive(pair: _Pair, ground: _Ground, policy: GatePolicy) -> str:
    """The reason a metric cannot be judged; empty where it can."""
    if not ground.comparable:
        return ground.note
    if pair.old is None or pair.new is None:
        sides = [side for side, stat in (("old", pair.old), ("new", pair.new)) if stat is None]
        return " and ".join(f"missing from the {side} report" for side in sides)
    sides = [side for side, stat in (("old", pair.old), ("new", pair.new)) if not stat.scored]
    if sides:
        return f"no scored runs in the {' or the '.join(sides)} report"
    return "; ".join(_too_unscored(pair.old, "old", policy) + _too_unscored(pair.new, "new", policy))


def _too_unscored(stat: MetricStat, side: str, policy: GatePolicy) -> list[str]:
    share = stat.unscored / stat.expected
    if share <= policy.unscored_tolerance:
        return []
    found = f"{stat.unscored} of {stat.expected} runs unscored in the {side} report"
    return [f"{found} ({share:.1%}, tolerance {policy.unscored_tolerance:.1%})"]


def _p_values(pairs: Iterable[_Pair]) -> list[tuple[float, float]]:
    """Raw and adjusted p of each metric that was measured; scipy is loaded only when there is one."""
    stats = [(pair.old, pair.new) for pair in pairs if pair.old is not None and pair.new is not None]
    if not stats:
        return []
    from eval_assets.stats import multiplicity, pooled

    raw = [pooled.two_proportions(old.passes, old.scored, new.passes, new.scored) for old, new in stats]
    return list(zip(raw, multiplicity.benjamini_hochberg(raw).tolist(), strict=True))


def _tested(pair: _Pair, p_value: float, adjusted: float, ground: _Ground, policy: GatePolicy) -> MetricComparison:
    old, new = pair.old or NO_RUNS, pair.new or NO_RUNS
    significant = adjusted < policy.alpha
    return _comparison(
        pair,
        rate_delta=new.rate - old.rate,
        p_value=p_value,
        adjusted_p=adjusted,
        significant=significant,
        direction=_direction(new.rate - old.rate, significant=significant),
        note=ground.note,
    )


def _direction(rate_delta: float, *, significant: bool) -> Direction:
    if not significant or rate_delta == 0:
        return "flat"
    return "regression" if rate_delta < 0 else "improvement"


def _inconclusive(pair: _Pair, ground: _Ground, policy: GatePolicy) -> MetricComparison:
    note = _why_inconclusive(pair, ground, policy)
    return _comparison(
        pair, rate_delta=0.0, p_value=1.0, adjusted_p=1.0, significant=False, direction="inconclusive", note=note
    )


def _comparison(
    pair: _Pair,
    *,
    rate_delta: float,
    p_value: float,
    adjusted_p: float,
    significant: bool,
    direction: Direction,
    note: str,
) -> MetricComparison:
    old, new = pair.old or NO_RUNS, pair.new or NO_RUNS
    return MetricComparison(
        metric=pair.metric,
        old_rate=old.rate,
        new_rate=new.rate,
        rate_delta=rate_delta,
        old_passes=old.passes,
        old_scored=old.scored,
        old_unscored=old.unscored,
        new_passes=new.passes,
        new_scored=new.scored,
        new_unscored=new.unscored,
        p_value=p_value,
        adjusted_p=adjusted_p,
        significant=significant,
        direction=direction,
        note=note,
    )
