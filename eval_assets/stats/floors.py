"""How many runs it takes to know that a rate is above a floor."""

from __future__ import annotations

from eval_assets.errors import OutOfRange
from eval_assets.stats import intervals

_MOST_RUNS = 10**9


def runs_to_clear(rate: float, floor: float, *, level: float = 0.95) -> int | None:
    """
    The least number of runs whose Wilson interval would lie above a floor, were they to pass at this rate.

    Args:
        rate: The pass rate seen, in [0, 1].
        floor: The rate to be above, in (0, 1).
        level: Confidence level of the interval, in (0, 1).

    Returns:
        Runs, at least 1; None where the rate is not above the floor, or so little that a billion runs would
        not show it.

    Raises:
        OutOfRange: A number is outside its range.

    Source:
        Wilson (1927), inverted by bisection: the lower bound rises with the runs.
    """
    if not 0 <= rate <= 1 or not 0 < floor < 1:
        raise OutOfRange(f"rate must be in [0, 1] and floor in (0, 1), but got {rate} and {floor}")
    if rate <= floor or not _clears(rate, floor, _MOST_RUNS, level):
        return None
    too_few, enough = 0, 1
    while not _clears(rate, floor, enough, level):
        too_few, enough = enough, enough * 2
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if _clears(rate, floor, middle, level) else (middle, enough)
    return enough


def _clears(rate: float, floor: float, runs: int, level: float) -> bool:
    return bool(intervals.wilson(rate * runs, runs, level=level).low >= floor)
