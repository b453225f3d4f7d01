"""Confidence intervals for a pass rate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eval_assets.errors import OutOfRange

FloatArray = NDArray[np.float64]

_Z_95 = 1.959963984540054  # The quantile of the default level, so that it does not cost an import of scipy.


class Intervals(NamedTuple):
    """Lower and upper bounds, in the shape of what they were asked for."""

    low: FloatArray
    high: FloatArray


def wilson(passes: ArrayLike, scored: ArrayLike, *, level: float = 0.95) -> Intervals:
    """
    Say how far the true pass rate may be from the one seen, runs taken as independent.

    Args:
        passes: Runs that passed. Any shape; integers, 0 <= passes <= scored.
        scored: Runs that were scored, in the same shape.
        level: Confidence level, a probability in (0, 1).

    Returns:
        Bounds in [0, 1] around each rate. [0, 1] where nothing was scored; the lower bound is exactly 0 at no
        passes and the upper exactly 1 at all, so neither is left to rounding. Never of zero width.

    Raises:
        OutOfRange: `level` is not in (0, 1), or there are more passes than scored runs, or fewer than none.

    Source:
        Wilson (1927). Equals `statsmodels.stats.proportion.proportion_confint(method="wilson")`.
    """
    x, n = np.asarray(passes, dtype=float), np.asarray(scored, dtype=float)
    if not np.all((x >= 0) & (x <= n)):
        raise OutOfRange(f"passes must be in [0, scored], but got {x} of {n}")
    z = quantile(level)
    runs = np.maximum(n, 1)
    rate = x / runs
    shrink = 1 + z**2 / runs
    centre = (rate + z**2 / (2 * runs)) / shrink
    margin = z * np.sqrt(rate * (1 - rate) / runs + z**2 / (4 * runs**2)) / shrink
    low = np.where(x == 0, 0.0, np.maximum(centre - margin, 0.0))
    high = np.where(x == n, 1.0, np.minimum(centre + margin, 1.0))
    return Intervals(low=low, high=high)


def quantile(level: float) -> float:
    """
    The z of a two-sided interval: 1.96 at 0.95.

    Raises:
        OutOfRange: `level` is not in (0, 1).
    """
    if not 0 < level < 1:
        raise OutOfRange(f"a confidence level must be in the interval (0, 1) but got {level}")
    if level == 0.95:  # noqa: PLR2004  the one level everything here defaults to
        return _Z_95
    from scipy.special import ndtri

    return float(ndtri(1 - (1 - level) / 2))
