"""What repeated runs of a case say: can it be relied on, and how much more do more runs of it tell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eval_assets.errors import OutOfRange

FloatArray = NDArray[np.float64]


class PassCurves(NamedTuple):
    """Entry k - 1 is about k runs of a case; as long as the case with the fewest runs allows."""

    pass_at: FloatArray
    """pass@k: the chance that at least one of k runs passes, mean over cases, in [0, 1]."""
    pass_hat: FloatArray
    """pass^k: the chance that all of k runs pass, mean over cases, in [0, 1]."""


class IntraclassCorrelation(NamedTuple):
    """How alike runs of a case are, and what that costs."""

    between: float
    """Mean square between cases."""
    within: float
    """Mean square within cases."""
    icc: float
    """1 where runs of a case are all alike, 0 where they are as different as runs of different cases; at least -1."""
    design_effect: float
    """How many runs tell as much about cases like these as one run of a fresh case."""


def pass_curves(passes: ArrayLike, scored: ArrayLike, *, longest: int | None = None) -> PassCurves:
    """
    Say how often one of k runs, or every one of k runs, of a case passes.

    Args:
        passes: Runs of each case that passed. Integers, shape (cases,), may be empty.
        scored: Runs of each case that were scored, in the same shape; cases without one are left out.
        longest: The most runs asked about; as many as there are where None.

    Returns:
        Unbiased estimates for k = 1, 2, ... up to the least scored runs of any case, never extrapolated beyond; empty
        of no cases. At k = 1 both are the mean rate of a case.

    Raises:
        OutOfRange: Passes outside [0, scored].

    Source:
        pass@k = 1 - C(n-c, k) / C(n, k), Chen et al. (2021); pass^k = C(c, k) / C(n, k), Yao et al. (2024).
    """
    x, n = _repeated(passes, scored)
    most = int(n.min()) if n.size else 0
    drawn = np.arange(most if longest is None else min(most, longest))[:, None]
    return PassCurves(pass_at=1 - _all_of(n - x, n, drawn), pass_hat=_all_of(x, n, drawn))


def intraclass_correlation(passes: ArrayLike, scored: ArrayLike) -> IntraclassCorrelation | None:
    """
    Say how alike runs of the same case are, from a one-way analysis of variance.

    Args:
        passes: Runs of each case that passed. Integers, shape (cases,), may be empty.
        scored: Runs of each case that were scored, in the same shape; cases without one are left out.

    Returns:
        ICC in [-1, 1] and the design effect 1 + (R - 1) ICC, R being the runs per case; where cases differ, sum n**2 /
        sum n, which is what an average run finds in its case and makes the variance of the pooled rate right.
        None where there is nothing to compare: fewer than two cases, no case with two runs, or all runs alike.

    Raises:
        OutOfRange: Passes outside [0, scored].

    Source:
        ICC(1) of Shrout and Fleiss (1979), for unequal runs as in Donner (1986). Equals `anova(lm(y ~ case))` of R.
    """
    x, n = _repeated(passes, scored)
    runs, cases = float(n.sum()), n.size
    if cases < 2 or runs == cases or x.sum() in {0, runs}:  # noqa: PLR2004  one case has no other to differ from
        return None
    between = float(np.sum(n * (x / n - x.sum() / runs) ** 2)) / (cases - 1)
    within = float(np.sum(x * (n - x) / n)) / (runs - cases)
    per_case = float(np.sum(n**2)) / runs
    size = (runs - per_case) / (cases - 1)
    icc = (between - within) / (between + (size - 1) * within)
    return IntraclassCorrelation(between, within, icc, 1 + (per_case - 1) * icc)


def _repeated(passes: ArrayLike, scored: ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, n = np.asarray(passes, dtype=float), np.asarray(scored, dtype=float)
    if not np.all((x >= 0) & (x <= n)):
        raise OutOfRange(f"passes must be in [0, scored], but got {x.tolist()} of {n.tolist()}")
    return x[n > 0], n[n > 0]


def _all_of(good: FloatArray, runs: FloatArray, drawn: NDArray[np.int_]) -> FloatArray:
    """Row k - 1: the chance that k runs drawn without putting back are all good, mean over cases."""
    if not runs.size:
        return np.empty(0)
    return np.asarray(np.cumprod(np.maximum(good - drawn, 0) / (runs - drawn), axis=0).mean(axis=1))
