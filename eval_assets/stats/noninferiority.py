"""Ruling out a drop: not "no change was seen" but "a drop as large as the margin would have been"."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from scipy.special import ndtr, ndtri, stdtr, stdtrit

from eval_assets.errors import OutOfRange
from eval_assets.stats import paired
from eval_assets.stats import power as power_analysis
from eval_assets.stats.paired import MantelHaenszel, PairedCounts


class DropRuledOut(NamedTuple):
    """Whether a drop as large as the margin is ruled out, and what would settle it where it is not."""

    p_value: float
    """One-sided: how surprising rates this good are if the true drop is as large as the margin. In [0, 1]."""
    holds: bool
    """True where the drop is ruled out."""
    needed: int | None
    """Runs per arm, or cases, that would rule it out with the power asked for if the drop is what was seen, or none;
    None where it holds already, or where the drop that was seen is as large as the margin, so that none would."""
    unit: Literal["runs per arm", "cases"]


def these_cases(counts: PairedCounts, *, margin: float, alpha: float = 0.05, power: float = 0.8) -> DropRuledOut:
    """
    Say whether these very cases can have dropped by the margin or more, their runs being the sample.

    Args:
        counts: Both reports case by case, copies counted once.
        margin: The drop to rule out, in rate, in (0, 1): 0.05 is five points.
        alpha: Chance of ruling out a drop that is there, in (0, 1).
        power: Chance with which `needed` is to suffice, in (0, 1).

    Returns:
        p = 1 of no cases.

    Raises:
        OutOfRange: `margin`, `alpha` or `power` is not in (0, 1).

    Source:
        One-sided z around the difference of Mantel and Haenszel with the width of its interval.
    """
    _check(margin=margin, alpha=alpha, power=power)
    if not counts.cases:
        return DropRuledOut(1.0, holds=False, needed=None, unit="runs per arm")
    change = paired.mantel_haenszel(counts)
    p = float(ndtr(-(change.difference + margin) / change.standard_error))
    room = margin + min(change.difference, 0.0)
    if p < alpha or room <= 0:
        return DropRuledOut(p, holds=p < alpha, needed=None, unit="runs per arm")
    quantiles = power_analysis.quantiles(one_sided=alpha, power=power)
    return DropRuledOut(p, holds=False, needed=_runs_per_arm(change, room, quantiles), unit="runs per arm")


def cases_like_these(counts: PairedCounts, *, margin: float, alpha: float = 0.05, power: float = 0.8) -> DropRuledOut:
    """
    Say whether cases like these can have dropped by the margin or more, cases being the sample.

    Args:
        counts: Both reports case by case. Copies do no harm: only the rate of a case counts.
        margin: The drop to rule out, in rate, in (0, 1): 0.05 is five points.
        alpha: Chance of ruling out a drop that is there, in (0, 1).
        power: Chance with which `needed` is to suffice, in (0, 1).

    Returns:
        p = 1 of fewer than two cases. It does not hold with fewer than `least_cases`, however small p is.

    Raises:
        OutOfRange: `margin`, `alpha` or `power` is not in (0, 1).

    Source:
        One-sided paired t over the changes of cases, their variance taken as at least margin * (1 - margin): what it
        would be if the margin were lost by that share of cases failing outright. Without both guards cases that
        happen not to show a rare failure rule it out wrongly up to 33 % of the time.
    """
    _check(margin=margin, alpha=alpha, power=power)
    changes = paired.differences(counts)
    cases, mean = changes.size, float(changes.mean()) if changes.size else 0.0
    variance = max(float(changes.var(ddof=1)) if cases > 1 else 0.0, margin * (1 - margin))
    p = float(stdtr(cases - 1, -(mean + margin) / math.sqrt(variance / cases))) if cases > 1 else 1.0
    holds = p < alpha and cases >= least_cases(margin=margin, alpha=alpha)
    room = margin + min(mean, 0.0)
    if holds or room <= 0:
        return DropRuledOut(p, holds=holds, needed=None, unit="cases")
    needed = _cases(variance / room**2 if room**2 else math.inf, least_cases(margin=margin, alpha=alpha), alpha, power)
    return DropRuledOut(p, holds=False, needed=needed, unit="cases")


def least_cases(*, margin: float, alpha: float = 0.05) -> int:
    """
    The fewest cases that can rule out the margin: so many that a share `margin` of failing cases would have shown.

    Fewer leave a chance above alpha that none of those cases is among them. 59 at five points, 29 at ten.

    Raises:
        OutOfRange: `margin` or `alpha` is not in (0, 1).
    """
    _check(margin=margin, alpha=alpha)
    return math.ceil(math.log(alpha) / math.log1p(-margin))


def _check(**shares: float) -> None:
    for name, share in shares.items():
        if not 0 < share < 1:
            raise OutOfRange(f"{name} must be in the interval (0, 1) but got {share}")


def _runs_per_arm(change: MantelHaenszel, room: float, quantiles: float) -> int | None:
    """The runs at which `quantiles` standard errors, quarter included, fit into the room; arms being equal."""
    variance_per_run = 2 * change.variance / change.weight
    root = math.sqrt((quantiles * variance_per_run) ** 2 + 4 * room**2)
    return power_analysis.whole(quantiles * (quantiles * variance_per_run + root) / (2 * room) / room)


def _cases(variance_in_room: float, least: int, alpha: float, power: float) -> int | None:
    """From the number that the normal quantile gives upwards, because Student's is the larger."""
    needed = power_analysis.whole(power_analysis.quantiles(one_sided=alpha, power=power) ** 2 * variance_in_room)
    if needed is None:
        return None
    cases = max(needed, least, 2)
    while (float(stdtrit(cases - 1, 1 - alpha)) + float(ndtri(power))) ** 2 * variance_in_room > cases:
        cases += 1
    return cases
