"""Correction for looking at many metrics at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eval_assets.errors import OutOfRange


def benjamini_hochberg(p_values: ArrayLike) -> NDArray[np.float64]:
    """
    Adjust p-values so that of the changes called significant, at most a share alpha are expected to be chance.

    Args:
        p_values: One p per metric that was compared, each in [0, 1]. Shape (metrics,), may be empty.

    Returns:
        Adjusted p-values in the order given, never below the raw ones, at most 1.

    Raises:
        OutOfRange: A p is outside [0, 1] or not a number.

    Source:
        Benjamini and Hochberg (1995). Equals `scipy.stats.false_discovery_control`.
    """
    p = np.asarray(p_values, dtype=float)
    if not np.all((p >= 0) & (p <= 1)):
        raise OutOfRange(f"p-values must be in [0, 1] but got {p.tolist()}")
    order = np.argsort(p)[::-1]
    ranks = np.arange(p.size, 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum.accumulate(np.minimum(p[order] * p.size / ranks, 1.0))
    return np.asarray(np.maximum(adjusted, p))  # p * n / n may round to just below p
