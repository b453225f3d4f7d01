from __future__ import annotations

import math

import pytest

from eval_assets.errors import OutOfRange
from eval_assets.stats import paired


def test_cases_that_one_report_did_not_score_are_left_out() -> None:
    counts = paired.counts([1, 0, 2], [2, 0, 2], [1, 1, 0], [2, 2, 0])

    assert counts.cases == 1
    assert [numbers.tolist() for numbers in counts] == [[1], [2], [1], [2]]


def test_no_cases_are_no_change() -> None:
    change = paired.mantel_haenszel(paired.counts([], [], [], []))

    assert change == (0.0, 0.0, 0.0)
    assert change.standard_error == math.inf


def test_cases_with_more_runs_weigh_more() -> None:
    """By hand: weights 10 * 10 / 20 = 5 and 2 * 2 / 4 = 1, differences -0.2 and 1."""
    counts = paired.counts([8, 0], [10, 2], [6, 2], [10, 2])

    assert paired.differences(counts).tolist() == pytest.approx([-0.2, 1.0])
    assert paired.mantel_haenszel(counts).difference == pytest.approx((5 * -0.2 + 1 * 1) / 6)


@pytest.mark.parametrize(
    "bad",
    [
        ([3], [2], [0], [2]),
        ([-1], [2], [0], [2]),
        ([0], [2], [3], [2]),
        ([0, 1], [2, 2], [1], [2]),
        ([0.5], [2], [0], [2]),
        ([float("nan")], [2], [0], [2]),
        ([[1]], [[2]], [[1]], [[2]]),
    ],
)
def test_what_are_no_counts_is_refused(bad: tuple[list[float], ...]) -> None:
    with pytest.raises(OutOfRange):
        paired.counts(*bad)
