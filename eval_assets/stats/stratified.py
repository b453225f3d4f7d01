"""The `stratified` test: did these very cases change, each compared only with itself."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from eval_assets.stats import hypergeometric, lattice, paired
from eval_assets.stats.lattice import Lattice
from eval_assets.stats.paired import PairedCounts, PairedTest

IntArray = NDArray[np.int64]

_LARGEST_SUPPORT = 20_000  # Beyond this many values of the sum the normal approximation is as good as exact.


def cmh(counts: PairedCounts) -> PairedTest:
    """
    Say how surprising the change of these cases is if no case changed.

    The conditional exact test of Cochran, Mantel and Haenszel, as a doubled mid-p: given how many runs of each case
    passed in both reports together, the number that passed in the old one is a sum of hypergeometric numbers. The
    chi-square without continuity correction where that sum can take more than 20,000 values.

    Args:
        counts: Both reports case by case, copies counted once.

    Returns:
        p in [0, 1] and the smallest p that the same totals of each case can give; both 1 where every case passed
        always or never, and of no cases. A p below 1e-40 may be stated as the smallest.

    Source:
        Agresti (2002), 7.3.5. Equals `mantelhaen.test(exact=TRUE)` of R, read as a mid-p; with one run a case and
        report the mid-p of McNemar, with one case the mid-p of Fisher.
    """
    counts = _informative(counts)
    groups = _groups(counts)
    low, high = hypergeometric.support(groups.old_scored, groups.new_scored, groups.passes)
    support = int(((high - low) * groups.cases).sum()) + 1
    if not counts.cases:
        return PairedTest(p_value=1.0, smallest_p=1.0)
    if support > _LARGEST_SUPPORT:
        return _chi_square(counts, int((low * groups.cases).sum()), int((high * groups.cases).sum()))
    return _exact(groups, observed=int(counts.old_passes.sum()))


def _informative(counts: PairedCounts) -> PairedCounts:
    """Cases that passed always or never could only have come out as they did."""
    passes = counts.old_passes + counts.new_passes
    mixed = (passes > 0) & (passes < counts.old_scored + counts.new_scored)
    return PairedCounts(*(numbers[mixed] for numbers in counts))


class _Groups(NamedTuple):
    """Distinct margins and how many cases have each, because a power is cheaper than as many sums."""

    old_scored: IntArray
    new_scored: IntArray
    passes: IntArray
    cases: IntArray


def _groups(counts: PairedCounts) -> _Groups:
    margins = np.stack([counts.old_scored, counts.new_scored, counts.old_passes + counts.new_passes])
    margins = margins[:, np.lexsort(margins)]
    first = np.flatnonzero(np.any(np.diff(margins, axis=1, prepend=-1), axis=0))
    old_scored, new_scored, passes = margins[:, first]
    return _Groups(old_scored, new_scored, passes, cases=np.diff(first, append=counts.cases))


def _exact(groups: _Groups, observed: int) -> PairedTest:
    tables = hypergeometric.distributions(groups.old_scored, groups.new_scored, groups.passes)
    least, most = tables.starts, tables.starts + tables.sizes - 1
    log_ends = [float((groups.cases * tables.log_probabilities[end]).sum()) for end in (least, most)]
    smallest = min(1.0, math.exp(min(log_ends)))
    parts = zip(tables.low.tolist(), np.split(np.exp(tables.log_probabilities), tables.starts[1:]), strict=True)
    sums = [lattice.repeat(Lattice(*part), times) for part, times in zip(parts, groups.cases.tolist(), strict=True)]
    return PairedTest(max(smallest, lattice.mid_p(lattice.total(sums), observed)), smallest)


def _chi_square(counts: PairedCounts, least: int, most: int) -> PairedTest:
    change = paired.mantel_haenszel(counts)
    deviation = math.sqrt(change.variance)
    observed = int(counts.old_passes.sum())
    expected = observed + change.difference * change.weight

    def p_of(passes: int) -> float:
        return float(2 * ndtr(-abs(passes - expected) / deviation))

    return PairedTest(p_of(observed), min(p_of(least), p_of(most)))
