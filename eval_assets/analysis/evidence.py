"""Everything that is computed about one metric of two reports, whichever test decides: three tests, two intervals."""

from __future__ import annotations

from typing import NamedTuple

from eval_assets.analysis.pairing import Pair
from eval_assets.model.reports import MetricStat
from eval_assets.model.verdicts import Test
from eval_assets.stats import intervals, noninferiority, paired, pooled, power, signflip, stratified
from eval_assets.stats.intervals import DifferenceInterval
from eval_assets.stats.noninferiority import DropRuledOut
from eval_assets.stats.paired import PairedTest


class Evidence(NamedTuple):
    """What two reports say about one metric."""

    tests: dict[Test, PairedTest]
    """p and the smallest p each test could have reached."""
    changes: dict[Test, float]
    """New minus old, as each test weighs it: pooled rates, Mantel and Haenszel's, mean over cases."""
    these_cases: DifferenceInterval
    cases_like_these: DifferenceInterval
    smallest_drops: dict[Test, float | None]
    """The drop each had 80 % power to see; None where none would have been seen."""
    ruled_out: dict[Test, DropRuledOut]
    """Whether a drop as large as the margin is ruled out; empty without a margin."""


def gather(pair: Pair, old: MetricStat, new: MetricStat, *, alpha: float, margin: float | None) -> Evidence:
    """Compute everything about a metric that both reports measured."""
    these = intervals.difference_of_these_cases(pair.effective)
    alike = intervals.difference_of_cases_like_these(pair.counts)
    return Evidence(
        tests={
            "pooled": _pooled(old, new),
            "stratified": stratified.cmh(pair.effective),
            "sign_flip": signflip.sign_flip(pair.counts),
        },
        changes={
            "pooled": new.rate - old.rate,
            "stratified": paired.mantel_haenszel(pair.effective).difference,
            "sign_flip": alike.difference,
        },
        these_cases=these,
        cases_like_these=alike,
        smallest_drops={
            "pooled": power.smallest_drop_of_independent_runs(old.rate, min(old.scored, new.scored), alpha=alpha),
            "stratified": power.smallest_drop_of_these_cases(pair.effective, alpha=alpha),
            "sign_flip": power.smallest_drop_of_cases_like_these(pair.counts, alpha=alpha),
        },
        ruled_out={} if margin is None else _ruled_out(pair, alpha=alpha, margin=margin),
    )


def _pooled(old: MetricStat, new: MetricStat) -> PairedTest:
    def p_of(old_passes: int) -> float:
        return pooled.two_proportions(old_passes, old.scored, passes - old_passes, new.scored)

    passes = old.passes + new.passes
    least, most = max(0, passes - new.scored), min(passes, old.scored)
    return PairedTest(p_of(old.passes), min(p_of(least), p_of(most)))


def _ruled_out(pair: Pair, *, alpha: float, margin: float) -> dict[Test, DropRuledOut]:
    these = noninferiority.these_cases(pair.effective, margin=margin, alpha=alpha)
    alike = noninferiority.cases_like_these(pair.counts, margin=margin, alpha=alpha)
    return {"pooled": these, "stratified": these, "sign_flip": alike}
