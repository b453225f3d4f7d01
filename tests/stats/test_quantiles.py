from __future__ import annotations

import pytest

from eval_assets.stats import quantiles


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [([], 50, None), ([7], 95, 7), ([1, 2, 3, 4], 50, 3), (list(range(100)), 95, 95), ([1, 2], 100, 2)],
)
def test_nearest_rank(values: list[int], percent: int, expected: int | None) -> None:
    assert quantiles.nearest_rank(values, percent) == expected
