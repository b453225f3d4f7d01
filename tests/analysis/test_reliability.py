from __future__ import annotations

import pytest

from eval_assets.analysis import reliability
from eval_assets.model.scores import CaseCount


def test_every_number_stands_beside_what_it_is_of() -> None:
    found = reliability.by_metric([CaseCount("a", "m", 3, 4, 1), CaseCount("b", "m", 0, 5, 0)])["m"]

    assert (found["measured"], found["expected"], found["effective_runs"]) == (9, 10, 9)
    assert (found["worst_rate"], found["best_rate"]) == (0.3, 0.4)
    assert found["pass_hat"][0] == pytest.approx((3 / 4 + 0) / 2)


def test_copies_are_told_apart_from_runs() -> None:
    assert reliability.by_metric([CaseCount("a", "m", 3, 5, 0, 4, 2)])["m"]["effective_runs"] == 1


def test_what_cannot_be_known_is_none() -> None:
    found = reliability.by_metric([CaseCount("a", "m", 0, 0, 0)])["m"]

    assert (found["worst_rate"], found["best_rate"], found["icc"], found["design_effect"]) == (None,) * 4
    assert found["pass_hat"] == []


def test_half_of_ten_unscored() -> None:
    """C03: five right, five whose judge crashed: the rate is anything from one half to one."""
    found = reliability.by_metric([CaseCount(str(n), "m", n % 2, n % 2, 1 - n % 2) for n in range(10)])["m"]

    assert (found["measured"], found["expected"]) == (5, 10)
    assert (found["worst_rate"], found["best_rate"]) == (0.5, 1.0)
