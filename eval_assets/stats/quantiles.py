"""Percentiles of what was seen, by nearest rank: always a value that occurred."""

from __future__ import annotations

from collections.abc import Sequence


def nearest_rank(ordered: Sequence[int], percent: int) -> int | None:
    """
    The value below which about `percent` of the values lie.

    Args:
        ordered: Values in ascending order. Shape (n,).
        percent: In [0, 100].

    Returns:
        The value at index floor(n * percent / 100), at most n - 1; None of no values.
    """
    if not ordered:
        return None
    return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]
