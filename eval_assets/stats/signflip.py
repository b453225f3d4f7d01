"""The `sign_flip` test: would cases like these change, each case being one piece of evidence."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
from scipy.special import gammaln

from eval_assets.stats import lattice
from eval_assets.stats.lattice import Lattice
from eval_assets.stats.paired import PairedCounts, PairedTest

_LARGEST_SUPPORT = 400_000  # Values of the sum up to which every one is counted.


def sign_flip(counts: PairedCounts) -> PairedTest:
    """
    Say how surprising the mean change of a case is if a case were as likely to have changed the other way.

    The exact distribution of the sum of the changes of all cases, every sign equally likely, as a doubled mid-p. The
    changes are whole numbers once multiplied by the least common multiple of the runs, so nothing is drawn and nothing
    is rounded. Where more than 400,000 sums are possible, both on that lattice and by 2**cases, the changes are
    rounded to a lattice of 400,000 steps: with so many cases and so fine a lattice no p moves by more than 0.001.

    Args:
        counts: Both reports case by case. Copies do no harm: only the rate of a case counts.

    Returns:
        p in [0, 1] and the smallest p that changes of these sizes can give, 2**-(cases that changed); both 1 where
        no case changed. A p below 1e-40 may be stated as the smallest.

    Source:
        Fisher (1935), section 21. Equals `scipy.stats.permutation_test(permutation_type="samples")` read as a mid-p;
        with one run a case and report the mid-p of McNemar.
    """
    changes = _whole_changes(counts)
    smallest = 0.5 ** len(changes)
    return PairedTest(max(smallest, _mid_p(changes)), smallest)


def _whole_changes(counts: PairedCounts) -> list[int]:
    """Python's integers, because the least common multiple of many different runs does not fit into 64 bits."""
    moved = counts.new_passes * counts.old_scored - counts.old_passes * counts.new_scored
    changed = moved != 0
    moved, runs = moved[changed], (counts.old_scored * counts.new_scored)[changed]
    shared = np.gcd(moved, runs)
    moved, runs = moved // shared, runs // shared
    steps = math.lcm(*np.unique(runs).tolist())
    changes = [change * (steps // of) for change, of in zip(moved.tolist(), runs.tolist(), strict=True)]
    unit = math.gcd(*changes)
    return [change // unit for change in changes]


def _mid_p(changes: list[int]) -> float:
    reach = sum(map(abs, changes))
    if reach < _LARGEST_SUPPORT:
        return _by_lattice(changes)
    if 2 ** len(changes) <= _LARGEST_SUPPORT:
        return _by_enumeration(changes)
    return _by_lattice([round(Fraction(change * _LARGEST_SUPPORT, reach)) for change in changes])


def _by_lattice(changes: list[int]) -> float:
    """The sizes that got a plus sum to (reach + sum of all) / 2: half as many values, none of them skipped."""
    sums = Lattice(0, np.ones(1))
    for size, cases in sorted(Counter(map(abs, changes)).items()):
        sums = _add_spread(sums, _fair_coins(cases), step=size)
    return lattice.mid_p(sums, sum(change for change in changes if change > 0))


def _by_enumeration(changes: list[int]) -> float:
    sums = np.zeros(1, dtype=object)
    for change in changes:
        sums = np.concatenate([sums + change, sums - change])
    beyond, observed = np.mean(sums > abs(sum(changes))), np.mean(sums == abs(sum(changes)))
    return float(min(1.0, 2 * beyond + observed))


def _fair_coins(coins: int) -> Lattice:
    heads = np.arange(coins + 1.0)
    log_p = gammaln(coins + 1) - gammaln(heads + 1) - gammaln(coins - heads + 1) - coins * math.log(2)
    return lattice.trimmed(Lattice(0, np.exp(log_p)))


def _add_spread(sums: Lattice, coins: Lattice, *, step: int) -> Lattice:
    """The distribution of sum + step * heads; a loop over the shorter of the two, because all but every step is 0."""
    one, other = sums.probabilities, coins.probabilities
    out = np.zeros(one.size + step * (other.size - 1))
    if one.size < other.size:
        for i, p in enumerate(one.tolist()):
            out[i : i + step * (other.size - 1) + 1 : step] += p * other
    else:
        for i, p in enumerate(other.tolist()):
            out[step * i : step * i + one.size] += p * one
    return lattice.trimmed(Lattice(sums.low + step * coins.low, out))
