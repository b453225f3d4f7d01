from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eval_assets.errors import OutOfRange
from eval_assets.stats import intervals, noninferiority, paired
from eval_assets.stats.paired import PairedCounts

TOLERANCE = 1e-9  # the sourced numbers have twelve digits

arms = st.integers(1, 5).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
cases = st.lists(st.tuples(arms, arms), min_size=1, max_size=70)
BOTH = pytest.mark.parametrize("rule", [noninferiority.these_cases, noninferiority.cases_like_these])


def counted(cases: list[tuple[tuple[int, int], tuple[int, int]]]) -> PairedCounts:
    return paired.counts(*np.array([(*old, *new) for old, new in cases], dtype=int).reshape(-1, 4).T)


def repeated(counts: PairedCounts, *, cases: int = 1, runs: int = 1) -> PairedCounts:
    return PairedCounts(*(np.tile(numbers * runs, cases) for numbers in counts))


def test_agrees_with_sourced_numbers(sourced: Callable[[str], Any], sourced_counts: Callable[..., Any]) -> None:
    for inputs, expected in sourced("noninferiority_case_t_floor"):
        found = noninferiority.cases_like_these(sourced_counts(inputs), margin=inputs["margin"])

        assert found.p_value == pytest.approx(expected["p_one_sided"], abs=TOLERANCE)
        assert noninferiority.least_cases(margin=inputs["margin"]) == expected["min_cases"]


def test_it_holds_where_the_interval_stays_above_the_margin() -> None:
    """Independent of the p: at 5 % one-sided, the lower bound of the two-sided 90 % interval decides."""
    random = np.random.default_rng(2)
    for _ in range(30):
        counts = paired.counts(random.binomial(8, 0.9, 40), [8] * 40, random.binomial(8, 0.88, 40), [8] * 40)

        found = noninferiority.these_cases(counts, margin=0.05)

        assert found.holds == (intervals.difference_of_these_cases(counts, level=0.9).low > -0.05)


def test_where_cases_vary_much_it_is_a_plain_t() -> None:
    random = np.random.default_rng(4)
    counts = paired.counts(random.integers(0, 3, 80), [2] * 80, random.integers(0, 3, 80), [2] * 80)

    expected = stats.ttest_1samp(paired.differences(counts), -0.1, alternative="greater").pvalue
    assert noninferiority.cases_like_these(counts, margin=0.1).p_value == pytest.approx(expected, abs=TOLERANCE)


def test_too_few_cases_hold_nothing_however_small_p_is() -> None:
    found = noninferiority.cases_like_these(counted([((0, 3), (3, 3))] * 28), margin=0.1, power=0.01)

    assert found.p_value < 1e-6
    assert not found.holds
    assert found.needed == 29


@BOTH
@given(cases=cases)
def test_p_is_a_probability_and_holding_needs_it_small(rule: Any, cases: Any) -> None:
    found = rule(counted(cases), margin=0.1)

    assert 0 <= found.p_value <= 1
    assert not found.holds or found.p_value < 0.05
    assert not found.holds or found.needed is None


@BOTH
@given(cases=cases, random=st.randoms(use_true_random=False))
def test_order_of_cases_does_not_matter(rule: Any, cases: Any, random: Any) -> None:
    shuffled = random.sample(cases, len(cases))

    expected = rule(counted(cases), margin=0.1).p_value
    assert rule(counted(shuffled), margin=0.1).p_value == pytest.approx(expected, abs=TOLERANCE)


@BOTH
def test_a_drop_as_large_as_the_margin_is_settled_by_no_number(rule: Any) -> None:
    found = rule(counted([((4, 4), (3, 4))] * 30), margin=0.2)

    assert not found.holds
    assert found.needed is None


@BOTH
def test_of_no_cases_nothing_holds(rule: Any) -> None:
    found = rule(counted([]), margin=0.05)

    assert (found.p_value, found.holds) == (1.0, False)


def test_the_runs_that_are_needed_suffice() -> None:
    """As many runs as it says, at the rates that were seen, and the statistic is beyond its limit by z of the power."""
    counts = counted([((9, 10), (9, 10)), ((10, 10), (10, 10)), ((5, 10), (5, 10))] * 5)
    found = noninferiority.these_cases(counts, margin=0.05)
    assert found.needed is not None
    times = found.needed / 150

    more = noninferiority.these_cases(repeated(counts, runs=round(times) + 1), margin=0.05)
    fewer = noninferiority.these_cases(repeated(counts, runs=round(times) - 1), margin=0.05)
    at_power = stats.norm.sf(stats.norm.ppf(0.95) + stats.norm.ppf(0.8))
    assert found.unit == "runs per arm"
    assert more.p_value < at_power < fewer.p_value


def test_the_cases_that_are_needed_suffice() -> None:
    counts = counted([((2, 3), (2, 3)), ((3, 3), (2, 3)), ((2, 3), (3, 3)), ((3, 3), (3, 3))] * 5)
    found = noninferiority.cases_like_these(counts, margin=0.05)
    assert found.needed is not None

    more = noninferiority.cases_like_these(repeated(counts, cases=found.needed // 20 + 1), margin=0.05)
    fewer = noninferiority.cases_like_these(repeated(counts, cases=found.needed // 20 - 1), margin=0.05)
    at_power = stats.norm.sf(stats.norm.ppf(0.95) + stats.norm.ppf(0.8))
    assert found.unit == "cases"
    assert more.p_value < at_power < fewer.p_value


@BOTH
@pytest.mark.parametrize(
    "bad", [{"margin": 0.0}, {"margin": 1.0}, {"alpha": 0.0}, {"power": 1.0}, {"alpha": float("nan")}]
)
def test_what_is_no_share_is_refused(rule: Any, bad: dict[str, float]) -> None:
    with pytest.raises(OutOfRange, match=f"{next(iter(bad))} must be in the interval"):
        rule(counted([]), **{"margin": 0.05, **bad})
