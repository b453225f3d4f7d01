"""The `pooled` test: did the pooled rate move, runs taken as independent."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from eval_assets.errors import OutOfRange
from eval_assets.stats import hypergeometric

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

_SMALLEST_EXPECTED = 5  # Below this expected count the normal approximation behind z is unreliable (Cochran 1954).
_TIE = 1e-7  # Tables this close in probability are ties: the observed one must count itself after rounding.
_LARGEST_BATCH = 1_000_000  # Probabilities held at once: many large tables must not need gigabytes.


def two_proportions(old_passes: int, old_scored: int, new_passes: int, new_scored: int) -> float:
    """
    Say how surprising a change of the pooled pass rate is if nothing changed.

    The two-proportion z-test with pooled variance; Fisher's exact test where an expected cell is below 5.

    Args:
        old_passes: Runs of the old report that passed, in [0, old_scored].
        old_scored: Runs of the old report that were scored.
        new_passes: Likewise of the new report.
        new_scored: Likewise of the new report.

    Returns:
        A two-sided p in [0, 1]; 1 where either side scored nothing.

    Raises:
        OutOfRange: Passes outside [0, scored].

    Source:
        Equals `statsmodels.stats.proportion.proportions_ztest` and `scipy.stats.fisher_exact`.
    """
    if not (0 <= old_passes <= old_scored and 0 <= new_passes <= new_scored):
        raise OutOfRange(
            f"passes must be in [0, scored], but got {old_passes} of {old_scored} and {new_passes} of {new_scored}"
        )
    if not old_scored or not new_scored:
        return 1.0
    if _smallest_expected(old_passes, old_scored, new_passes, new_scored) < _SMALLEST_EXPECTED:
        return fisher_exact(old_passes, old_scored, new_passes, new_scored)
    return _z_test(old_passes, old_scored, new_passes, new_scored)


def fisher_exact(old_passes: int, old_scored: int, new_passes: int, new_scored: int) -> float:
    """
    Fisher's exact test, two-sided: the probability of every table no likelier than the one seen, margins fixed.

    Args and range as `two_proportions`. A table with an empty margin is the only one there is: p = 1.

    Source:
        Fisher (1935). Equals `scipy.stats.fisher_exact`, which takes 30 times as long to import and to run.
    """
    return float(fisher_exact_tables([old_passes], [old_scored], [new_passes], [new_scored])[0])


def fisher_exact_tables(
    old_passes: ArrayLike, old_scored: ArrayLike, new_passes: ArrayLike, new_scored: ArrayLike
) -> FloatArray:
    """
    Fisher's exact test of many tables at once, such as every case of a report by itself.

    Args:
        old_passes: Runs of the old report that passed. Integers, shape (tables,), may be empty.
        old_scored: Runs of the old report that were scored, in the same shape.
        new_passes: Likewise of the new report.
        new_scored: Likewise of the new report.

    Returns:
        A two-sided p in [0, 1] for each table, as `fisher_exact` gives it. Shape (tables,).

    Raises:
        OutOfRange: Passes outside [0, scored].
    """
    numbers = (old_passes, old_scored, new_passes, new_scored)
    old, old_runs, new, new_runs = (np.asarray(number, dtype=np.int64) for number in numbers)
    if not np.all((old >= 0) & (old <= old_runs) & (new >= 0) & (new <= new_runs)):
        raise OutOfRange("passes must be in [0, scored] in every table")
    if not old.size:
        return np.empty(0)
    low, high = hypergeometric.support(old_runs, new_runs, old + new)
    batch = np.cumsum(high - low + 1) // _LARGEST_BATCH
    batches = np.split(np.arange(old.size), np.flatnonzero(np.diff(batch)) + 1)
    return np.concatenate([_no_likelier(old[i], old_runs[i], new[i], new_runs[i]) for i in batches])


def _no_likelier(old: IntArray, old_runs: IntArray, new: IntArray, new_runs: IntArray) -> FloatArray:
    tables = hypergeometric.distributions(old_runs, new_runs, old + new)
    observed = tables.log_probabilities[tables.starts + old - tables.low]
    counted = tables.log_probabilities <= np.repeat(observed, tables.sizes) + _TIE
    p = np.add.reduceat(np.where(counted, np.exp(tables.log_probabilities), 0.0), tables.starts)
    return np.asarray(np.minimum(1.0, p))


def _smallest_expected(old_passes: int, old_scored: int, new_passes: int, new_scored: int) -> float:
    passes, runs = old_passes + new_passes, old_scored + new_scored
    return min(old_scored, new_scored) * min(passes, runs - passes) / runs


def _z_test(old_passes: int, old_scored: int, new_passes: int, new_scored: int) -> float:
    pooled = (old_passes + new_passes) / (old_scored + new_scored)
    variance = pooled * (1 - pooled) * (1 / old_scored + 1 / new_scored)
    difference = new_passes / new_scored - old_passes / old_scored
    return float(2 * ndtr(-abs(difference) / math.sqrt(variance)))
