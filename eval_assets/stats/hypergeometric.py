"""
Many hypergeometric distributions at once: passes of the old report given all passes of a case, if nothing changed.

They lie end to end in one flat array, because a table of cases x values is mostly empty where runs differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class Hypergeometrics(NamedTuple):
    """Table i holds the values low[i], low[i] + 1, ... at starts[i] : starts[i] + sizes[i] of the flat array."""

    low: IntArray
    sizes: IntArray
    starts: IntArray
    log_probabilities: FloatArray


def support(old_scored: IntArray, new_scored: IntArray, passes: IntArray) -> tuple[IntArray, IntArray]:
    """The least and the most old passes that a table with these margins can hold. Shapes (tables,)."""
    return np.maximum(0, passes - new_scored), np.minimum(passes, old_scored)


def distributions(old_scored: IntArray, new_scored: IntArray, passes: IntArray) -> Hypergeometrics:
    """
    Say how likely each number of old passes is when `passes` runs of old + new passed and chance dealt them out.

    Args:
        old_scored: Scored runs of the old report. Shape (tables,), tables >= 1.
        new_scored: Scored runs of the new report, likewise.
        passes: Runs that passed in both together, in [0, old + new].

    Source:
        Equals `scipy.stats.hypergeom(old + new, old, passes).logpmf`, the constant left to normalization.
    """
    low, high = support(old_scored, new_scored, passes)
    sizes = high - low + 1
    starts = np.cumsum(sizes) - sizes
    old_passes = np.arange(sizes.sum()) - np.repeat(starts - low, sizes)
    new_passes = np.repeat(passes, sizes) - old_passes
    old_failures = np.repeat(old_scored, sizes) - old_passes
    new_failures = np.repeat(new_scored, sizes) - new_passes
    log_p = -sum(gammaln(cell + 1.0) for cell in (old_passes, new_passes, old_failures, new_failures))
    log_p -= np.repeat(np.maximum.reduceat(log_p, starts), sizes)
    log_p -= np.repeat(np.log(np.add.reduceat(np.exp(log_p), starts)), sizes)
    return Hypergeometrics(low=low, sizes=sizes, starts=starts, log_probabilities=log_p)
