from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_assets.errors import OutOfRange
from eval_assets.stats import intervals

TOLERANCE = 1e-9  # the sourced numbers have twelve digits


def test_wilson_agrees_with_sourced_numbers(sourced: Callable[[str], Any]) -> None:
    for inputs, expected in sourced("wilson"):
        found = intervals.wilson(inputs["passes"], inputs["n"])

        assert (found.low, found.high) == pytest.approx((expected["low"], expected["high"]), abs=TOLERANCE)


@pytest.mark.parametrize(
    ("passes", "scored", "low", "high"),
    [
        (0, 25, 0.0, 0.133),
        (0, 5000, 0.0, 0.00077),
        (25, 25, 0.867, 1.0),
        (5, 5, 0.566, 1.0),
        (17, 20, 0.640, 0.948),
        (850, 1000, 0.827, 0.871),
        (0, 0, 0.0, 1.0),
        (43, 100, 0.3373, 0.5278),
    ],
)
def test_wilson_is_never_of_zero_width(passes: int, scored: int, low: float, high: float) -> None:
    """The edges at 0 % and 100 %, where a bootstrap or a plain standard error gives no width at all."""
    found = intervals.wilson(passes, scored)

    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-4)
    assert found.low < found.high


def test_wilson_solves_its_defining_equation() -> None:
    """Independent of the closed form: each bound is z standard errors, at that bound, from the rate."""
    found = intervals.wilson(30, 40)

    for bound in (float(found.low), float(found.high)):
        assert abs(30 / 40 - bound) == pytest.approx(intervals.quantile(0.95) * (bound * (1 - bound) / 40) ** 0.5)


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_rate_and_mirrors(counts: tuple[int, int]) -> None:
    passes, scored = counts
    found, mirrored = intervals.wilson(passes, scored), intervals.wilson(scored - passes, scored)

    assert 0 <= found.low <= passes / scored <= found.high <= 1
    assert float(found.low) == pytest.approx(1 - float(mirrored.high), abs=TOLERANCE)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(2, 20))
def test_wilson_shrinks_with_runs(passes: int, failures: int, times: int) -> None:
    few = intervals.wilson(passes, passes + failures)
    many = intervals.wilson(passes * times, (passes + failures) * times)

    assert float(many.high - many.low) <= float(few.high - few.low)


def test_wilson_takes_arrays() -> None:
    found = intervals.wilson([0, 5, 9], [10, 10, 10])

    assert found.low.shape == (3,)
    assert np.all(np.diff(found.low) > 0)


@pytest.mark.parametrize(("passes", "scored"), [(2, 1), (-1, 1), (0, -1)])
def test_wilson_refuses_impossible_counts(passes: int, scored: int) -> None:
    with pytest.raises(OutOfRange, match=r"\[0, scored\]"):
        intervals.wilson(passes, scored)


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, 2.0, float("nan")])
def test_a_level_outside_its_range_is_refused(level: float) -> None:
    with pytest.raises(OutOfRange, match="confidence level"):
        intervals.quantile(level)


def test_quantile_at_another_level() -> None:
    assert intervals.quantile(0.99) == pytest.approx(2.575829303548901, abs=1e-12)  # scipy.stats.norm.ppf(0.995)


@pytest.mark.slow
def test_wilson_covers_the_true_rate() -> None:
    """Over rates from 5 % to 95 % at 50 runs, about 95 % of the intervals hold the true rate, none far fewer."""
    random = np.random.default_rng(42)
    rates = np.linspace(0.05, 0.95, 19)[:, None]
    found = intervals.wilson(random.binomial(50, rates, size=(19, 20_000)), np.full((19, 20_000), 50))

    covered = ((found.low <= rates) & (rates <= found.high)).mean(axis=1)

    assert covered.mean() == pytest.approx(0.95, abs=0.01)
    assert covered.min() > 0.91
