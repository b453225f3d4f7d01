"""
Distributions on whole numbers: summed exactly, and read as a mid-p.

Everything is a sum of products of probabilities, never a difference, so tails keep their relative precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_NEGLIGIBLE = 1e-50  # Ends less likely are cut: they cost time, then precision as they underflow, and decide nothing.
_WORTH_TRIMMING = 64  # Looking for ends to cut costs more than it saves below this length.


class Lattice(NamedTuple):
    """P(value = low + i) for each i; what lies outside has a probability below 1e-50."""

    low: int
    probabilities: FloatArray


def trimmed(lattice: Lattice) -> Lattice:
    """Without the ends that decide nothing."""
    if lattice.probabilities.size < _WORTH_TRIMMING:
        return lattice
    kept = np.flatnonzero(lattice.probabilities > _NEGLIGIBLE)
    return Lattice(lattice.low + int(kept[0]), lattice.probabilities[kept[0] : kept[-1] + 1])


def add(one: Lattice, other: Lattice) -> Lattice:
    """The distribution of the sum of two independent values."""
    return trimmed(Lattice(one.low + other.low, np.convolve(one.probabilities, other.probabilities)))


def repeat(lattice: Lattice, times: int) -> Lattice:
    """The distribution of the sum of `times` independent values, times >= 1, by squaring."""
    if times == 1:
        return lattice
    half = repeat(lattice, times // 2)
    whole = add(half, half)
    return add(whole, lattice) if times % 2 else whole


def total(parts: list[Lattice]) -> Lattice:
    """The distribution of the sum of one independent value of each; shortest first, which is cheapest."""
    while len(parts) > 1:
        parts = sorted(parts, key=lambda part: part.probabilities.size)
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [add(one, other) for one, other in pairs] + parts[len(parts) // 2 * 2 :]
    return parts[0]


def mid_p(lattice: Lattice, observed: int) -> float:
    """
    How surprising a value is, two-sided: twice the smaller tail, of which the observed value itself counts half.

    Returns:
        A p in [0, 1]. Less conservative than counting the observed value whole, which a discrete test need not be.

    Source:
        Lancaster (1961).
    """
    at = observed - lattice.low
    p = lattice.probabilities
    half = p[at] / 2 if 0 <= at < p.size else 0.0
    return float(min(1.0, 2 * min(p[: max(at, 0)].sum() + half, p[max(at + 1, 0) :].sum() + half)))
