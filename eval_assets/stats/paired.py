"""
Two reports, case by case: what every paired test, interval and plan starts from.

Counts, differences and the sums of Mantel and Haenszel belong here; tests and intervals do not. numpy only, so that
whoever needs no distribution does not pay for scipy.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eval_assets.errors import OutOfRange

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class PairedCounts(NamedTuple):
    """Passes and scored runs of every case that both reports scored. Each of shape (cases,), scored >= 1."""

    old_passes: IntArray
    old_scored: IntArray
    new_passes: IntArray
    new_scored: IntArray

    @property
    def cases(self) -> int:
        """How many cases both reports scored."""
        return int(self.old_scored.size)


class PairedTest(NamedTuple):
    """A p-value, and the smallest these cases and runs could have given whatever the candidate had done."""

    p_value: float
    smallest_p: float


class MantelHaenszel(NamedTuple):
    """The change of these cases as Mantel and Haenszel weigh it."""

    difference: float
    """New rate minus old rate, in [-1, 1]; 0 of no cases."""
    weight: float
    """Sum over cases of old * new / (old + new) scored runs: half the runs per arm where arms are equal."""
    variance: float
    """Of weight * difference if no case changed, given how many runs of each case passed in both reports together."""

    @property
    def standard_error(self) -> float:
        """Of the difference, smoothed by a quarter of a run so that it is never 0. Infinite of no cases."""
        return math.sqrt(self.variance + 0.25) / self.weight if self.weight else math.inf


def counts(old_passes: ArrayLike, old_scored: ArrayLike, new_passes: ArrayLike, new_scored: ArrayLike) -> PairedCounts:
    """
    Pair two reports of one metric; cases that one of them did not score say nothing and are left out.

    Args:
        old_passes: Runs of each case that passed in the old report. Integers, shape (cases,), may be empty.
        old_scored: Runs of each case that were scored there, copies counted once, in the same shape and order.
        new_passes: Likewise in the new report.
        new_scored: Likewise in the new report.

    Raises:
        OutOfRange: Shapes differ, a count is no whole number, or passes are outside [0, scored].
    """
    given = (old_passes, old_scored, new_passes, new_scored)
    found = PairedCounts(*(_whole(numbers) for numbers in given))
    if found.old_passes.ndim != 1 or len({numbers.shape for numbers in found}) > 1:
        raise OutOfRange(f"the four counts must share one shape (cases,), but got {[n.shape for n in found]}")
    if not (_possible(found.old_passes, found.old_scored) and _possible(found.new_passes, found.new_scored)):
        raise OutOfRange("passes must be in [0, scored] for every case of both reports")
    in_both = (found.old_scored > 0) & (found.new_scored > 0)
    return PairedCounts(*(numbers[in_both] for numbers in found))


def differences(counts: PairedCounts) -> FloatArray:
    """How much the rate of each case changed, new minus old, in [-1, 1]. Shape (cases,)."""
    return np.asarray(counts.new_passes / counts.new_scored - counts.old_passes / counts.old_scored)


def mantel_haenszel(counts: PairedCounts) -> MantelHaenszel:
    """
    Say how much these cases changed on average, cases with more runs weighing more.

    Source:
        Mantel and Haenszel (1959); the variance is the hypergeometric one of `cmh`, its chi-square being
        (weight * difference)**2 / variance.
    """
    old, new = counts.old_scored.astype(float), counts.new_scored.astype(float)
    runs = old + new
    passes = (counts.old_passes + counts.new_passes).astype(float)
    weight = float(np.sum(old * new / runs))
    moved = float(np.sum(counts.new_passes - new * passes / runs))
    variance = float(np.sum(old * new * passes * (runs - passes) / (runs**2 * (runs - 1))))
    return MantelHaenszel(difference=moved / weight if weight else 0.0, weight=weight, variance=variance)


def _whole(numbers: ArrayLike) -> IntArray:
    found = np.asarray(numbers)
    if found.dtype.kind not in "iub" and not np.all(found == np.floor(found)):
        raise OutOfRange(f"counts must be whole numbers but got {found.tolist()}")
    return found.astype(np.int64)


def _possible(passes: IntArray, scored: IntArray) -> bool:
    return bool(np.all((passes >= 0) & (passes <= scored)))
