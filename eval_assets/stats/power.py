"""Planning: how much to run before a drop can be seen, and how small a drop could have been seen in what was run."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri

from eval_assets.errors import ConfigError, OutOfRange, Problem
from eval_assets.stats import paired, signflip, stratified
from eval_assets.stats.paired import PairedCounts

FloatArray = NDArray[np.float64]

MOST_RUNS = 2**63 - 1
"""Stands for "no number of runs": the largest that a signed 64-bit integer holds."""

TYPICAL_FALL = 0.5
"""By how much a case that is affected falls, in rate, when no pilot says otherwise."""

_BISECTIONS = 50


class Plan(NamedTuple):
    """What it takes to see a drop, from the variance a baseline showed."""

    runs_per_arm: int
    """Scored runs of each report, over all cases together, that show a drop of these cases."""
    runs_per_case: int
    """The same, per case and report."""
    cases: int
    """Cases, each run as often as in the baseline, that show a drop of cases like these."""
    buy_cases: bool
    """True where cases like these are the question and more runs of a case would hardly help."""


def required_runs(baseline_rate: float, drop: float, alpha: float, power: float) -> int:
    """
    Runs per arm with which the `pooled` test sees a drop, all runs taken as independent.

    Args:
        baseline_rate: Pass rate before the drop, in [0, 1].
        drop: How far it falls, in rate, at most 1; a rate cannot fall below 0.
        alpha: Two-sided chance of a false alarm, in (0, 1).
        power: Chance of seeing the drop, in (0, 1).

    Returns:
        At least 1; 0 where there is no drop to see, 2**63 - 1 where no number of runs would show it.

    Raises:
        ConfigError: An argument is outside its range or not a number. Every such argument is named.

    Source:
        Fleiss, Levin and Paik (2003), 4.4. Equals `power.prop.test` of R.
    """
    _check_request(baseline_rate, drop, alpha, power)
    if drop <= 0:
        return 0
    fallen_rate = max(0.0, baseline_rate - drop)
    if fallen_rate == baseline_rate:
        return MOST_RUNS
    between = (baseline_rate + fallen_rate) / 2
    unchanged = math.sqrt(2 * between * (1 - between))
    fallen = math.sqrt(baseline_rate * (1 - baseline_rate) + fallen_rate * (1 - fallen_rate))
    numerator = float(-ndtri(alpha / 2)) * unchanged + float(ndtri(power)) * fallen
    if numerator <= 0:
        return 1
    ratio = numerator / (baseline_rate - fallen_rate)
    return _rounded_up(ratio * ratio, least=1)


def plan(
    passes: ArrayLike,
    scored: ArrayLike,
    *,
    drop: float,
    alpha: float = 0.05,
    power: float = 0.8,
    fall: float = TYPICAL_FALL,
) -> Plan:
    """
    Say how many runs, or how many cases, would show a drop, from how a baseline varied.

    Args:
        passes: Runs of each case of the baseline that passed. Integers, shape (cases,).
        scored: Runs of each case that were scored, in the same shape; cases without one are left out.
        drop: The drop to see, in rate, in (0, 1).
        alpha: Two-sided chance of a false alarm, in (0, 1).
        power: Chance of seeing the drop, in (0, 1).
        fall: By how much an affected case falls, in (0, 1]; the drop is a share drop / fall of cases that do.

    Raises:
        OutOfRange: No scored run, or an argument outside its range.

    Source:
        Miller (2024), section 5, the variance within cases from the baseline's own repeats.
    """
    x, n = _scored(passes, scored)
    within, per_case = within_variance(x, n), float(1 / np.mean(1 / n))
    runs = runs_for_drop(within, drop=drop, alpha=alpha, power=power)
    cases = cases_for_drop(within, per_case, drop=drop, alpha=alpha, power=power, fall=fall)
    return Plan(
        runs_per_arm=_rounded_up(runs, least=n.size),
        runs_per_case=_rounded_up(runs / n.size, least=1),
        cases=_rounded_up(cases, least=1),
        buy_cases=2 * within / per_case < _between_variance(drop, fall) / 4,
    )


def within_variance(passes: ArrayLike, scored: ArrayLike) -> float:
    """
    How much runs of the same case vary, mean over cases, in [0, 1/2].

    Only cases with two scored runs can tell. Where there is none it is p (1 - p) of the mean rate p: what it would be
    if runs of a case were no more alike than runs of different cases, and the most it can be on average.

    Args:
        passes: Runs of each case that passed. Integers, shape (cases,).
        scored: Runs of each case that were scored, in the same shape.

    Raises:
        OutOfRange: Passes outside [0, scored], or no run was scored.

    Source:
        The unbiased variance R / (R - 1) p (1 - p) of each case.
    """
    x, n = _scored(passes, scored)
    repeated = n > 1
    if not repeated.any():
        rate = float(np.mean(x / n))
        return rate * (1 - rate)
    x, n = x[repeated], n[repeated]
    return float(np.mean(x * (n - x) / (n * (n - 1))))


def runs_for_drop(within: float, *, drop: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """
    Scored runs per arm that show a drop of these cases; round up.

    Args:
        within: Variance within cases, as `within_variance` gives it.
        drop: The drop to see, in rate, in (0, 1).
        alpha: Two-sided chance of a false alarm, in (0, 1).
        power: Chance of seeing the drop, in (0, 1).

    Raises:
        OutOfRange: An argument outside its range.
    """
    _check_plan(within, drop, alpha, power)
    return _squared(quantiles(one_sided=alpha / 2, power=power) / drop) * 2 * within


def cases_for_drop(
    within: float,
    runs_per_case: float,
    *,
    drop: float,
    alpha: float = 0.05,
    power: float = 0.8,
    fall: float = TYPICAL_FALL,
) -> float:
    """
    Cases, run `runs_per_case` times in each report, that show a drop of cases like these; round up.

    Args and refusals as `runs_for_drop`; besides, `runs_per_case` is at least 1 and `fall`, by how much an affected
    case falls, is in (0, 1]. A drop deeper than `fall` is one that every case shares.
    """
    _check_plan(within, drop, alpha, power)
    if not (runs_per_case >= 1 and 0 < fall <= 1):
        raise OutOfRange(f"runs_per_case must be at least 1 and fall in (0, 1], but got {runs_per_case} and {fall}")
    variance = _between_variance(drop, fall) + 2 * within / runs_per_case
    return _squared(quantiles(one_sided=alpha / 2, power=power) / drop) * variance


def smallest_drop_of_these_cases(counts: PairedCounts, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """
    The smallest drop of these very cases that the `stratified` test had the power to see, before correction.

    Every case is taken to fall by the same share of its rate, which the runs of both reports estimate together.

    Args:
        counts: Both reports case by case, copies counted once.
        alpha: Two-sided chance of a false alarm, in (0, 1).
        power: Chance of seeing the drop, in (0, 1).

    Returns:
        The drop in rate, in (0, 1]; None where even all runs of the candidate failing would not have been seen.

    Raises:
        OutOfRange: `alpha` or `power` is not in (0, 1).

    Source:
        The normal approximation of `required_runs` for strata: the hypergeometric variance that the totals would have
        under the drop, and the variance of the drop itself.
    """
    _check_shares(alpha=alpha, power=power)
    all_failing = counts._replace(new_passes=np.zeros_like(counts.new_passes))
    if stratified.cmh(all_failing).p_value >= alpha:
        return None
    shortfall = _Shortfall.of(counts, alpha=alpha, power=power)
    if shortfall.at(1.0) > 0:
        return None
    seen, unseen = 1.0, 0.0
    for _ in range(_BISECTIONS):
        share = (seen + unseen) / 2
        seen, unseen = (share, unseen) if shortfall.at(share) <= 0 else (seen, share)
    return seen * shortfall.deepest


def smallest_drop_of_cases_like_these(
    counts: PairedCounts, *, alpha: float = 0.05, power: float = 0.8, fall: float = TYPICAL_FALL
) -> float | None:
    """
    The smallest drop of cases like these that the `sign_flip` test had the power to see, before correction.

    Args:
        counts: Both reports case by case.
        alpha: Two-sided chance of a false alarm, in (0, 1).
        power: Chance of seeing the drop, in (0, 1).
        fall: By how much an affected case falls, in (0, 1].

    Returns:
        The drop in rate, in (0, 1]; None where even all runs of the candidate failing would not have been seen.

    Raises:
        OutOfRange: `alpha` or `power` is not in (0, 1), or `fall` not in (0, 1].

    Source:
        `cases_for_drop` solved for the drop, and never fewer falling cases than the test needs to reach alpha at all.
    """
    _check_shares(alpha=alpha, power=power)
    if not 0 < fall <= 1:
        raise OutOfRange(f"fall must be in (0, 1] but got {fall}")
    all_failing = counts._replace(new_passes=np.zeros_like(counts.new_passes))
    if signflip.sign_flip(all_failing).p_value >= alpha:
        return None
    drop = max(_drop_by_variance(counts, alpha, power, fall), _drop_by_count(counts.cases, alpha, power, fall))
    return drop if drop <= 1 else None


def smallest_drop_of_independent_runs(
    baseline_rate: float, runs: int, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """
    The smallest drop that the `pooled` test had the power to see, before correction, were all runs independent.

    Args:
        baseline_rate: Pass rate before the drop, in [0, 1].
        runs: Scored runs of the smaller report.
        alpha: Two-sided chance of a false alarm, in (0, 1).
        power: Chance of seeing the drop, in (0, 1).

    Returns:
        The drop in rate, in (0, 1]; None where even a fall to 0 would not have been seen.

    Raises:
        ConfigError: As `required_runs`.

    Source:
        `required_runs` solved for the drop by bisection.
    """
    if required_runs(baseline_rate, baseline_rate, alpha, power) > runs or not baseline_rate:
        return None
    unseen, seen = 0.0, baseline_rate
    for _ in range(_BISECTIONS):
        drop = (unseen + seen) / 2
        unseen, seen = (unseen, drop) if required_runs(baseline_rate, drop, alpha, power) <= runs else (drop, seen)
    return seen


def quantiles(*, one_sided: float, power: float) -> float:
    """How many standard errors an effect must be away from what a test rejects: z of alpha plus z of power."""
    return float(ndtri(power) - ndtri(one_sided))


def whole(number: float) -> int | None:
    """Rounded up; None where that is more than 2**63 - 1."""
    return math.ceil(number) if number < MOST_RUNS else None


def _rounded_up(number: float, *, least: int) -> int:
    found = whole(number)
    return MOST_RUNS if found is None else max(least, found)


class _Shortfall(NamedTuple):
    """By how much a drop misses the power asked for, as a function of the share of its rate that each case loses."""

    old_runs: FloatArray
    new_runs: FloatArray
    rates: FloatArray
    squares: FloatArray
    """Unbiased estimates of the squared rates; the square of an estimated rate would be too large."""
    z_alpha: float
    z_power: float

    @classmethod
    def of(cls, counts: PairedCounts, *, alpha: float, power: float) -> _Shortfall:
        old, new = counts.old_scored.astype(float), counts.new_scored.astype(float)
        passes, runs = counts.old_passes + counts.new_passes, old + new
        squares = passes * (passes - 1) / (runs * (runs - 1))
        return cls(old, new, passes / runs, squares, float(-ndtri(alpha / 2)), float(ndtri(power)))

    @property
    def weights(self) -> FloatArray:
        return self.old_runs * self.new_runs / (self.old_runs + self.new_runs)

    @property
    def deepest(self) -> float:
        """The drop, in rate, at which nothing passes any more."""
        return float(np.sum(self.weights * self.rates) / self.weights.sum())

    def at(self, share: float) -> float:
        """Positive where the drop is too small to be seen."""
        runs, old, new = self.old_runs + self.new_runs, self._spread(1.0), self._spread(1 - share)
        changed = np.sum(self.weights**2 * (old / self.old_runs + new / self.new_runs))
        passes = self.old_runs * old + self.new_runs * new
        pooled = self._spread((self.old_runs + self.new_runs * (1 - share)) / runs)
        unchanged = np.sum(self.weights * (runs * pooled - passes / runs) / (runs - 1))
        moved = share * self.deepest * self.weights.sum()
        return float(self.z_alpha * np.sqrt(unchanged) + self.z_power * np.sqrt(changed) - moved)

    def _spread(self, kept: FloatArray | float) -> FloatArray:
        """The variance of a run, p (1 - p), where each case keeps this share of its rate."""
        return np.asarray(kept * self.rates - kept**2 * self.squares)


def _drop_by_variance(counts: PairedCounts, alpha: float, power: float, fall: float) -> float:
    """Solve cases * drop**2 = q * (fall * drop - drop**2 + noise), and where the drop is deeper without the fall."""
    change = paired.mantel_haenszel(counts)
    within = change.variance / change.weight
    noise = within * float(np.mean(1 / counts.old_scored + 1 / counts.new_scored))
    q = quantiles(one_sided=alpha / 2, power=power) ** 2
    cases = counts.cases
    drop = (q * fall + math.sqrt((q * fall) ** 2 + 4 * (cases + q) * q * noise)) / (2 * (cases + q))
    return drop if drop <= fall else max(fall, math.sqrt(q * noise / cases))


def _drop_by_count(cases: int, alpha: float, power: float, fall: float) -> float:
    """The drop at which enough cases fall, with the chance `power`, for all of them together to reach alpha."""
    fewest = math.floor(-math.log2(alpha)) + 1
    return fall * float(betaincinv(fewest, cases - fewest + 1, power))


def _between_variance(drop: float, fall: float) -> float:
    return max(fall, drop) * drop - drop**2


def _squared(number: float) -> float:
    """Infinite where it is too large, because ** would raise."""
    return number * number


def _scored(passes: ArrayLike, scored: ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, n = np.asarray(passes, dtype=float), np.asarray(scored, dtype=float)
    if not np.all((x >= 0) & (x <= n)):
        raise OutOfRange(f"passes must be in [0, scored], but got {x.tolist()} of {n.tolist()}")
    if not n.sum() > 0:
        raise OutOfRange("a plan needs a baseline, but no run of it was scored")
    return x[n > 0], n[n > 0]


def _check_shares(**shares: float) -> None:
    for name, share in shares.items():
        if not 0 < share < 1:
            raise OutOfRange(f"{name} must be in the interval (0, 1) but got {share}")


def _check_plan(within: float, drop: float, alpha: float, power: float) -> None:
    _check_shares(drop=drop, alpha=alpha, power=power)
    if not 0 <= within <= 1 / 2:
        raise OutOfRange(f"a variance within cases must be in [0, 1/2] but got {within}")


def _check_request(baseline_rate: float, drop: float, alpha: float, power: float) -> None:
    wanted = {
        f"a baseline rate must be in [0, 1] but got {baseline_rate}": 0 <= baseline_rate <= 1,
        f"a drop must be a rate, at most 1, but got {drop}": drop <= 1,
        f"alpha must be in (0, 1) but got {alpha}": 0 < alpha < 1,
        f"power must be in (0, 1) but got {power}": 0 < power < 1,
    }
    if not all(wanted.values()):
        raise ConfigError([Problem(text) for text, holds in wanted.items() if not holds])
