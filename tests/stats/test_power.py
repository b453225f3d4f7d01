from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_assets.errors import ConfigError, OutOfRange
from eval_assets.stats import paired, power, signflip, stratified
from eval_assets.stats.paired import PairedCounts

TOLERANCE = 1e-8  # twelve digits of a number up to a thousand
NAN = float("nan")


def test_required_runs_agree_with_sourced_numbers(sourced: Callable[[str], Any]) -> None:
    for inputs, expected in sourced("required_runs"):
        assert power.required_runs(**inputs) == expected["n"]


@pytest.mark.parametrize(
    ("baseline_rate", "drop", "runs"),
    [
        (0.9, 0.0, 0),
        (0.9, -0.1, 0),
        (0.0, 0.1, power.MOST_RUNS),
        (0.9, 1e-17, power.MOST_RUNS),
        (0.9, 1e-12, power.MOST_RUNS),
        (1e-300, 1e-300, power.MOST_RUNS),
        (1.0, 1.0, 2),
    ],
)
def test_required_runs_at_the_edges(baseline_rate: float, drop: float, runs: int) -> None:
    assert power.required_runs(baseline_rate, drop, 0.05, 0.8) == runs


def test_a_power_below_chance_needs_one_run() -> None:
    assert power.required_runs(0.9, 0.1, 0.9, 0.01) == 1


def test_a_rate_cannot_fall_below_zero() -> None:
    assert power.required_runs(0.3, 0.9, 0.05, 0.8) == power.required_runs(0.3, 0.3, 0.05, 0.8)


@pytest.mark.parametrize(
    "bad",
    [
        (-0.1, 0.1, 0.05, 0.8),
        (1.1, 0.1, 0.05, 0.8),
        (NAN, 0.1, 0.05, 0.8),
        (0.9, NAN, 0.05, 0.8),
        (0.9, 5.0, 0.05, 0.8),
        (0.9, 0.1, 0.0, 0.8),
        (0.9, 0.1, 1.0, 0.8),
        (0.9, 0.1, 0.05, 1.0),
        (0.9, 0.1, 0.05, NAN),
    ],
)
def test_required_runs_refuse_what_is_no_rate(bad: tuple[float, float, float, float]) -> None:
    with pytest.raises(ConfigError) as refused:
        power.required_runs(*bad)

    assert len(refused.value.problems) == 1


def test_required_runs_name_every_problem() -> None:
    with pytest.raises(ConfigError, match=r"(?s)baseline.*alpha.*power"):
        power.required_runs(2.0, 0.1, 0.0, 1.0)


@given(st.floats(0.01, 1), st.floats(0.001, 1), st.floats(0.001, 0.5), st.floats(0.5, 0.99))
def test_a_smaller_drop_needs_more_runs(rate: float, drop: float, alpha: float, wanted: float) -> None:
    assert power.required_runs(rate, drop / 2, alpha, wanted) >= power.required_runs(rate, drop, alpha, wanted) >= 1


def test_plans_agree_with_sourced_numbers(sourced: Callable[[str], Any]) -> None:
    for inputs, expected in sourced("plan_suite_runs"):
        found = power.runs_for_drop(
            inputs["within_var"], drop=inputs["drop"], alpha=inputs["alpha"], power=inputs["power"]
        )
        assert found == pytest.approx(expected["n_raw"], abs=TOLERANCE)
    for inputs, expected in sourced("plan_cases"):
        drop = inputs["drop"]
        found = power.cases_for_drop(
            inputs["within_var"],
            inputs["runs_per_case"],
            drop=drop,
            alpha=inputs["alpha"],
            power=inputs["power"],
            fall=(inputs["churn_var"] + drop**2) / drop,
        )
        assert found == pytest.approx(expected["k_raw"], abs=TOLERANCE)


def test_variance_within_cases_is_unbiased() -> None:
    """By hand: 4/3 * 1/2 * 1/2 and 0; the case with one run cannot tell."""
    assert power.within_variance([2, 3, 1], [4, 3, 1]) == pytest.approx((1 / 3 + 0) / 2)


def test_without_repeats_the_variance_is_the_most_it_can_be() -> None:
    assert power.within_variance([1, 1, 1, 0], [1, 1, 1, 1]) == pytest.approx(0.75 * 0.25)


def test_a_plan_for_an_agent_benchmark(airline: Callable[..., Any]) -> None:
    """By hand from w = 0.14667: 7.8489 * 2 w / 0.0025 runs, 7.8489 * (0.0225 + w / 2) / 0.0025 cases."""
    found = power.plan(*airline(0, 1, 2, 3), drop=0.05)

    assert found == power.Plan(runs_per_arm=921, runs_per_case=19, cases=301, buy_cases=False)


def test_where_runs_of_a_case_are_alike_cases_are_to_be_bought() -> None:
    found = power.plan([5, 5, 5, 5, 5, 0, 4], [5] * 7, drop=0.2)

    assert found.buy_cases
    assert found.runs_per_case == math.ceil(found.runs_per_arm / 7)


def test_a_plan_asks_at_least_one_run_a_case() -> None:
    assert power.plan([3, 3], [3, 3], drop=0.1)[:2] == (2, 1)


def test_a_plan_for_a_drop_beyond_measure_says_so() -> None:
    assert power.plan([1, 2], [2, 2], drop=1e-200)[:3] == (power.MOST_RUNS,) * 3


@pytest.mark.parametrize(
    "bad", [{"drop": 0.0}, {"drop": 1.0}, {"alpha": 0.0}, {"power": NAN}, {"fall": 0.0}, {"fall": 1.1}]
)
def test_a_plan_refuses_what_is_no_share(bad: dict[str, float]) -> None:
    with pytest.raises(OutOfRange, match=next(iter(bad))):
        power.plan([1, 2], [2, 2], **{"drop": 0.05, **bad})


@pytest.mark.parametrize(("passes", "scored"), [([], []), ([0], [0]), ([2], [1])])
def test_a_plan_needs_a_baseline(passes: list[int], scored: list[int]) -> None:
    with pytest.raises(OutOfRange):
        power.plan(passes, scored, drop=0.05)


def test_a_variance_that_cannot_be_is_refused() -> None:
    with pytest.raises(OutOfRange, match="variance within"):
        power.runs_for_drop(0.6, drop=0.05)


SMALLEST = pytest.mark.parametrize(
    "smallest", [power.smallest_drop_of_these_cases, power.smallest_drop_of_cases_like_these]
)


def same(passes: list[int], runs: int, cases: int = 1) -> PairedCounts:
    return paired.counts(passes * cases, [runs] * len(passes) * cases, passes * cases, [runs] * len(passes) * cases)


@SMALLEST
@pytest.mark.parametrize("counts", [same([], 1), same([0, 0], 5), same([1, 1, 1], 1)])
def test_what_could_have_shown_no_drop_says_so(smallest: Any, counts: PairedCounts) -> None:
    assert smallest(counts) is None


@SMALLEST
def test_more_evidence_shows_smaller_drops(smallest: Any) -> None:
    few, more = smallest(same([4, 5, 3, 2], 5, cases=5)), smallest(same([4, 5, 3, 2], 5, cases=50))

    assert 0 < more < few <= 1


@SMALLEST
@pytest.mark.parametrize("bad", [{"alpha": 0.0}, {"power": 1.0}])
def test_no_level_and_no_power_are_refused(smallest: Any, bad: dict[str, float]) -> None:
    with pytest.raises(OutOfRange, match="must be in the interval"):
        smallest(same([1], 2), **bad)


def test_no_fall_is_refused() -> None:
    with pytest.raises(OutOfRange, match="fall"):
        power.smallest_drop_of_cases_like_these(same([1], 2), fall=0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("cases", "runs"), [(12, 3), (50, 5), (40, 1), (10, 20)])
@pytest.mark.parametrize("rate", [0.75, 0.97])
def test_the_smallest_drop_of_these_cases_is_seen_about_that_often(cases: int, runs: int, rate: float) -> None:
    """Independent of the normal approximation: simulated runs at the drop it names, tested exactly."""
    random = np.random.default_rng(42)
    rates = random.beta(4 * rate, 4 * (1 - rate), cases)
    n = np.full(cases, runs)
    typical = [paired.counts(random.binomial(n, rates), n, random.binomial(n, rates), n) for _ in range(40)]
    drops = [power.smallest_drop_of_these_cases(counts) for counts in typical]
    drop = float(np.median([1.0 if drop is None else drop for drop in drops]))
    fallen = rates * (1 - drop / rates.mean())

    seen = [
        stratified.cmh(paired.counts(random.binomial(n, rates), n, random.binomial(n, fallen), n)).p_value < 0.05
        for _ in range(400)
    ]

    assert 0.7 < np.mean(seen) < 0.92


@pytest.mark.slow
@pytest.mark.parametrize(("cases", "runs", "rate"), [(50, 5, 0.8), (200, 1, 0.8), (30, 10, 0.95)])
def test_the_smallest_drop_of_cases_like_these_is_seen_about_that_often(cases: int, runs: int, rate: float) -> None:
    """A share drop / 0.5 of the cases falls by half of all runs, as the plan supposes."""
    random = np.random.default_rng(42)
    n = np.full(cases, runs)
    rates = np.full(cases, rate)
    drop = power.smallest_drop_of_cases_like_these(
        paired.counts(random.binomial(n, rates), n, random.binomial(n, rates), n)
    )
    assert drop is not None

    def alarm() -> bool:
        fallen = rates - 0.5 * (random.random(cases) < drop / 0.5)
        counts = paired.counts(random.binomial(n, rates), n, random.binomial(n, fallen), n)
        return signflip.sign_flip(counts).p_value < 0.05

    assert 0.65 < np.mean([alarm() for _ in range(300)]) < 0.95
