from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from eval_assets.errors import OutOfRange
from eval_assets.stats import intervals, paired
from eval_assets.stats.paired import PairedCounts

TOLERANCE = 1e-9  # the sourced numbers have twelve digits


def test_wilson_agrees_with_sourced_numbers(sourced: Callable[[str], Any]) -> None:
    for inputs, expected in sourced("wilson"):
        found = intervals.wilson(inputs["passes"], inputs["n"], level=1 - 2 * float(special.ndtr(-inputs["z"])))

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


def test_over_cases_agrees_with_sourced_numbers(sourced: Callable[[str], Any]) -> None:
    for inputs, expected in sourced("wilson_case_effective_n"):
        found = intervals.wilson_over_cases(inputs["passes"], inputs["runs"])

        wanted = (expected["rate"], expected["low"], expected["high"], expected["n_eff"])
        assert found == pytest.approx(wanted, abs=TOLERANCE)


def test_both_intervals_of_an_agent_benchmark(airline: Callable[..., Any]) -> None:
    passes, scored = airline(0, 1, 2, 3)
    these = intervals.wilson(sum(passes), sum(scored))
    like_these = intervals.wilson_over_cases(passes, scored)

    assert (float(these.low), float(these.high)) == pytest.approx((0.3537, 0.4893), abs=5e-5)
    assert like_these[:3] == pytest.approx((0.42, 0.3213, 0.5256), abs=5e-5)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=30))
def test_over_cases_with_one_run_a_case_is_wilson(passes: list[int]) -> None:
    found, expected = intervals.wilson_over_cases(passes, [1] * len(passes)), intervals.wilson(sum(passes), len(passes))

    assert (found.low, found.high) == pytest.approx((float(expected.low), float(expected.high)), abs=TOLERANCE)


arms = st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(st.lists(arms, min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_over_cases_holds_the_rate_and_knows_no_order(cases: list[tuple[int, int]], random: Any) -> None:
    found = intervals.wilson_over_cases(*zip(*cases, strict=True))
    shuffled = intervals.wilson_over_cases(*zip(*random.sample(cases, len(cases)), strict=True))
    mirrored = intervals.wilson_over_cases([n - x for x, n in cases], [n for _, n in cases])

    assert 0 <= found.low <= found.rate + TOLERANCE
    assert found.rate - TOLERANCE <= found.high <= 1
    assert found.low < found.high
    assert found == pytest.approx(shuffled, abs=TOLERANCE)
    assert (found.low, found.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=TOLERANCE)


@given(st.lists(arms, min_size=1, max_size=20), st.integers(2, 20))
def test_over_cases_shrinks_with_runs_and_with_cases(cases: list[tuple[int, int]], times: int) -> None:
    found = intervals.wilson_over_cases(*zip(*cases, strict=True))
    runs = intervals.wilson_over_cases([x * times for x, _ in cases], [n * times for _, n in cases])
    more = intervals.wilson_over_cases(*zip(*cases * times, strict=True))

    assert runs.high - runs.low <= found.high - found.low + TOLERANCE
    assert more.high - more.low < found.high - found.low


def test_over_cases_leaves_out_what_was_not_scored() -> None:
    assert intervals.wilson_over_cases([3, 0], [4, 0]) == intervals.wilson_over_cases([3], [4])


def test_over_no_cases_it_says_nothing() -> None:
    assert intervals.wilson_over_cases([], []) == (0.0, 0.0, 1.0, 0.0)


def test_over_cases_refuses_impossible_counts() -> None:
    with pytest.raises(OutOfRange, match=r"\[0, scored\]"):
        intervals.wilson_over_cases([1, 3], [2, 2])


def test_differences_agree_with_sourced_numbers(
    sourced: Callable[[str], Any], sourced_counts: Callable[..., Any]
) -> None:
    for method, interval in (
        ("mh_difference_ci", intervals.difference_of_these_cases),
        ("case_difference_ci", intervals.difference_of_cases_like_these),
    ):
        for inputs, expected in sourced(method):
            found = interval(sourced_counts(inputs))

            assert found == pytest.approx((expected["diff"], expected["low"], expected["high"]), abs=TOLERANCE)


def test_a_difference_of_many_cases_is_a_paired_t() -> None:
    random = np.random.default_rng(3)
    counts = paired.counts(random.binomial(5, 0.8, 60), [5] * 60, random.binomial(5, 0.7, 60), [5] * 60)
    found = intervals.difference_of_cases_like_these(counts, level=0.9)

    expected = stats.ttest_1samp(paired.differences(counts), 0).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=TOLERANCE)


DIFFERENCES = pytest.mark.parametrize(
    "interval", [intervals.difference_of_these_cases, intervals.difference_of_cases_like_these]
)
pairs = st.lists(st.tuples(arms, arms), min_size=1, max_size=45)
Cases = list[tuple[tuple[int, int], tuple[int, int]]]


def counted(cases: Cases) -> PairedCounts:
    return paired.counts(*np.array([(*old, *new) for old, new in cases], dtype=int).reshape(-1, 4).T)


@DIFFERENCES
@given(cases=pairs)
def test_a_difference_is_within_its_interval_and_mirrors(interval: Any, cases: Cases) -> None:
    found, mirrored = interval(counted(cases)), interval(counted([(new, old) for old, new in cases]))

    assert found.low < found.difference < found.high
    assert found == pytest.approx((-mirrored.difference, -mirrored.high, -mirrored.low), abs=TOLERANCE)


@given(pairs, st.integers(2, 20))
def test_a_difference_of_these_cases_shrinks_with_runs(cases: Cases, times: int) -> None:
    few = counted(cases)
    many = PairedCounts(*(numbers * times for numbers in few))

    found, shrunk = intervals.difference_of_these_cases(few), intervals.difference_of_these_cases(many)
    assert shrunk.high - shrunk.low < found.high - found.low


@DIFFERENCES
def test_a_difference_that_every_case_shares_still_has_a_width(interval: Any) -> None:
    found = interval(counted([((3, 3), (0, 3))] * 40))

    assert found.difference == -1
    assert found.high - found.low > 0.01


@DIFFERENCES
def test_a_difference_of_no_cases_says_nothing(interval: Any) -> None:
    assert interval(counted([])) == (0.0, -1.0, 1.0)


@DIFFERENCES
@pytest.mark.parametrize("level", [0.0, 1.0, float("nan")])
def test_a_difference_at_no_level_is_refused(interval: Any, level: float) -> None:
    with pytest.raises(OutOfRange, match="confidence level"):
        interval(counted([]), level=level)


@pytest.mark.slow
def test_wilson_covers_the_true_rate() -> None:
    """Over rates from 5 % to 95 % at 50 runs, about 95 % of the intervals hold the true rate, none far fewer."""
    random = np.random.default_rng(42)
    rates = np.linspace(0.05, 0.95, 19)[:, None]
    found = intervals.wilson(random.binomial(50, rates, size=(19, 20_000)), np.full((19, 20_000), 50))

    covered = ((found.low <= rates) & (rates <= found.high)).mean(axis=1)

    assert covered.mean() == pytest.approx(0.95, abs=0.01)
    assert covered.min() > 0.91
