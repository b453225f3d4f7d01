"""The `pooled` test: did the pooled rate move, runs taken as independent."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr

from eval_assets.errors import OutOfRange

_SMALLEST_EXPECTED = 5  # Below this expected count the normal approximation behind z is unreliable (Cochran 1954).
_TIE = 1e-7  # Tables this close in probability are ties: the observed one must count itself after rounding.


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
    passes = old_passes + new_passes
    possible = np.arange(max(0, passes - new_scored), min(passes, old_scored) + 1)
    log_p = _log_choose(old_scored, possible) + _log_choose(new_scored, passes - possible)
    probabilities = np.exp(log_p - log_p.max())
    observed = probabilities[old_passes - possible[0]]
    return float(min(1.0, probabilities[probabilities <= observed * (1 + _TIE)].sum() / probabilities.sum()))


def _smallest_expected(old_passes: int, old_scored: int, new_passes: int, new_scored: int) -> float:
    passes, runs = old_passes + new_passes, old_scored + new_scored
    return min(old_scored, new_scored) * min(passes, runs - passes) / runs


def _z_test(old_passes: int, old_scored: int, new_passes: int, new_scored: int) -> float:
    pooled = (old_passes + new_passes) / (old_scored + new_scored)
    variance = pooled * (1 - pooled) * (1 / old_scored + 1 / new_scored)
    difference = new_passes / new_scored - old_passes / old_scored
    return float(2 * ndtr(-abs(difference) / math.sqrt(variance)))


def _log_choose(n: int, k: NDArray[np.int_]) -> NDArray[np.float64]:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), dtype=np.float64)
