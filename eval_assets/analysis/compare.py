"""Old report against new, metric by metric: what moved by more than chance, what did not, and what cannot be said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from eval_assets.analysis import floors, pairing, words
from eval_assets.analysis.pairing import NO_RUNS, Ground, Pair
from eval_assets.errors import FormatError
from eval_assets.model.reports import REPORT_FORMAT, MetricStat, Report
from eval_assets.model.verdicts import TESTS, Comparison, Direction, GatePolicy, MetricComparison, Test

if TYPE_CHECKING:
    from eval_assets.analysis.evidence import Evidence


def compare(
    old: Report,
    new: Report,
    *,
    test: Test = "pooled",
    alpha: float = 0.05,
    unscored_tolerance: float = 0.0,
    allow_case_set_mismatch: bool = False,
    margin: float | None = None,
    metrics: Sequence[str] | None = None,
) -> Comparison:
    """
    Say which metrics differ between two reports by more than chance, corrected over the metrics compared.

    A metric is inconclusive, and outside the correction, when it is missing from one report, was never scored in one,
    has a larger share of unscored runs than tolerated in either, was judged by different judges, or when the case sets
    differ. With a margin, one that is not a regression and cannot rule out a drop that large is inconclusive too.

    Args:
        old: The baseline's report.
        new: The candidate's report.
        test: Which test decides; all three are computed. `pooled`: runs taken as independent. `stratified`: did these
            cases change. `sign_flip`: would cases like these change.
        alpha: A change is significant when its adjusted p is below this; in (0, 1).
        unscored_tolerance: The share of unscored runs, in [0, 1), up to which a metric counts as measured.
        allow_case_set_mismatch: Compare the cases both reports share instead of refusing different case sets.
        margin: A drop this large must be ruled out, in (0, 1); None asks for none.
        metrics: The metrics to compare; None is every metric of either report.

    Raises:
        FormatError: A report is of another format.
        ConfigError: An unknown test, or a number out of its range.
    """
    policy = GatePolicy.of(
        test=test,
        alpha=alpha,
        unscored_tolerance=unscored_tolerance,
        allow_case_set_mismatch=allow_case_set_mismatch,
        margin=margin,
        metrics=None if metrics is None else tuple(metrics),
    )
    return compare_under(policy, old, new)


def compare_under(policy: GatePolicy, old: Report, new: Report, *, expected: Iterable[str] = ()) -> Comparison:
    """Compare as `compare` does, under a gate's policy. A metric that was expected and is in neither report blocks."""
    _check_formats(old, new)
    ground = pairing.common_ground(old, new, policy)
    names = policy.metrics or sorted({*pairing.metric_names(ground), *expected})
    pairs = pairing.pairs(ground, names)
    measured = [pair for pair in pairs if not _why_inconclusive(pair, ground, policy)]
    tested = {found.metric: found for found in _tested(measured, ground, policy)}
    return Comparison(
        metrics=tuple(tested.get(pair.metric) or _inconclusive(pair, ground, policy) for pair in pairs),
        old=old.provenance,
        new=new.provenance,
        floors=floors.find(new, policy),
        extensions={
            "test": policy.test,
            "alpha": policy.alpha,
            "unscored_tolerance": policy.unscored_tolerance,
            "margin": policy.margin,
            "compared_metrics": len(measured),
            "only_in_old": list(ground.only_old),
            "only_in_new": list(ground.only_new),
        },
    )


def _check_formats(old: Report, new: Report) -> None:
    for side, report in (("old", old), ("new", new)):
        if report.format != REPORT_FORMAT:
            raise FormatError(f"the {side} report's format is {report.format!r}, wanted {REPORT_FORMAT!r}")


def _why_inconclusive(pair: Pair, ground: Ground, policy: GatePolicy) -> str:
    """The reason a metric cannot be judged; empty where it can."""
    if not ground.comparable:
        return ground.note
    if ground.old.unavailable_as != ground.new.unavailable_as:
        old, new = ground.old.unavailable_as, ground.new.unavailable_as
        return f"unanswered runs were scored differently (`unavailable`: old {old}, new {new})"
    if pair.old is None or pair.new is None:
        sides = [side for side, stat in (("old", pair.old), ("new", pair.new)) if stat is None]
        return " and ".join(f"missing from the {side} report" for side in sides)
    sides = [side for side, stat in (("old", pair.old), ("new", pair.new)) if not stat.scored]
    if sides:
        return f"no scored runs in the {' or the '.join(sides)} report"
    unscored = _too_unscored(pair.old, "old", policy) + _too_unscored(pair.new, "new", policy)
    return "; ".join([*unscored, *_other_judges(pair.metric, ground)])


def _too_unscored(stat: MetricStat, side: str, policy: GatePolicy) -> list[str]:
    share = stat.unscored / stat.expected
    if share <= policy.unscored_tolerance:
        return []
    found = f"{stat.unscored} of {stat.expected} runs unscored in the {side} report"
    return [f"{found} ({share:.1%}, tolerance {policy.unscored_tolerance:.1%})"]


def _other_judges(metric: str, ground: Ground) -> list[str]:
    """Two judges, or one with two rubrics, are two instruments: what differs between them is not the candidate."""
    judges = [(report.extensions.get("judges") or {}).get(metric) or {} for report in (ground.old, ground.new)]
    old, new = ([judge.get(key) for key in ("model", "rubric_sha256", "fingerprint")] for judge in judges)
    if old == new:
        return []
    return [f"judged by different judges (old {words.judge(judges[0])}, new {words.judge(judges[1])})"]


def _tested(pairs: list[Pair], ground: Ground, policy: GatePolicy) -> list[MetricComparison]:
    """Test every measured metric and correct over them; the distributions are loaded only when there is one."""
    if not pairs:
        return []
    from eval_assets.analysis import evidence
    from eval_assets.stats import multiplicity

    found = [
        evidence.gather(pair, pair.old or NO_RUNS, pair.new or NO_RUNS, alpha=policy.alpha, margin=policy.margin)
        for pair in pairs
    ]
    adjusted = {
        test: multiplicity.benjamini_hochberg([each.tests[test].p_value for each in found]).tolist() for test in TESTS
    }
    return [
        _decided(pair, each, {test: adjusted[test][place] for test in TESTS}, ground, policy)
        for place, (pair, each) in enumerate(zip(pairs, found, strict=True))
    ]


def _decided(
    pair: Pair, evidence: Evidence, adjusted: dict[Test, float], ground: Ground, policy: GatePolicy
) -> MetricComparison:
    test = policy.test
    significant = adjusted[test] < policy.alpha
    direction = _direction(evidence.changes[test], significant=significant)
    not_ruled_out = words.not_ruled_out(evidence, policy) if direction != "regression" else ""
    notes = [ground.note, not_ruled_out, words.copies(pair, policy), words.disagreement(adjusted, policy)]
    return _comparison(
        pair,
        rate_delta=(pair.new or NO_RUNS).rate - (pair.old or NO_RUNS).rate,
        p_value=evidence.tests[test].p_value,
        adjusted_p=adjusted[test],
        significant=significant,
        direction="inconclusive" if not_ruled_out else direction,
        note="; ".join(note for note in notes if note),
        extensions=_extensions(evidence, adjusted, test),
    )


def _direction(change: float, *, significant: bool) -> Direction:
    if not significant or change == 0:
        return "flat"
    return "regression" if change < 0 else "improvement"


def _extensions(evidence: Evidence, adjusted: dict[Test, float], test: Test) -> dict[str, Any]:
    return {
        "test": test,
        "tests": {
            name: {
                "p_value": found.p_value,
                "adjusted_p": adjusted[name],
                "change": evidence.changes[name],
                "smallest_p": found.smallest_p,
                "smallest_drop": evidence.smallest_drops[name],
            }
            for name, found in evidence.tests.items()
        },
        "change_of_these_cases": evidence.these_cases._asdict(),
        "change_of_cases_like_these": evidence.cases_like_these._asdict(),
        "drop_ruled_out": evidence.ruled_out[test]._asdict() if evidence.ruled_out else None,
    }


def _inconclusive(pair: Pair, ground: Ground, policy: GatePolicy) -> MetricComparison:
    return _comparison(
        pair,
        rate_delta=0.0,
        p_value=1.0,
        adjusted_p=1.0,
        significant=False,
        direction="inconclusive",
        note=_why_inconclusive(pair, ground, policy),
        extensions={},
    )


def _comparison(
    pair: Pair,
    *,
    rate_delta: float,
    p_value: float,
    adjusted_p: float,
    significant: bool,
    direction: Direction,
    note: str,
    extensions: dict[str, Any],
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
        extensions=extensions,
    )
