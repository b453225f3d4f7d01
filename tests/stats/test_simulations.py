"""What the tests and intervals promise, in simulated evaluations whose truth is known. Small seeds, all slow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from eval_assets.stats import intervals, noninferiority, paired, pooled, signflip, stratified
from eval_assets.stats.paired import PairedCounts, PairedTest

pytestmark = pytest.mark.slow

Rates = NDArray[np.float64]
CASES, RUNS, ALPHA = 50, 5, 0.05


def case_rates(random: np.random.Generator, *, rate: float, icc: float, cases: int = CASES) -> Rates:
    """Beta case rates: runs of a case are correlated by `icc`."""
    size = 1 / icc - 1
    return random.beta(size * rate, size * (1 - rate), cases)


def asked(random: np.random.Generator, old: Rates, new: Rates, *, runs: int = RUNS) -> PairedCounts:
    n = np.full(old.size, runs)
    return paired.counts(random.binomial(n, old), n, random.binomial(n, new), n)


def alarms(test: Callable[[PairedCounts], PairedTest], draw: Callable[[], PairedCounts], times: int) -> float:
    return float(np.mean([test(draw()).p_value < ALPHA for _ in range(times)]))


@pytest.mark.parametrize("icc", [0.2, 0.5, 0.7])
def test_stratified_is_calm_when_nothing_changed(icc: float) -> None:
    random = np.random.default_rng(1)
    rates = case_rates(random, rate=0.8, icc=icc)

    assert alarms(stratified.cmh, lambda: asked(random, rates, rates), 2000) <= 0.065


def test_sign_flip_is_calm_when_cases_are_redrawn() -> None:
    """Three cases in ten change for better or worse, all of them drawn anew each time, and on average nothing does."""
    random = np.random.default_rng(2)

    def draw() -> PairedCounts:
        old, redrawn = (case_rates(random, rate=0.8, icc=0.5) for _ in range(2))
        return asked(random, old, np.where(random.random(CASES) < 0.3, redrawn, old))

    assert alarms(signflip.sign_flip, draw, 3000) <= 0.07


def test_sign_flip_is_calm_when_runs_are_copies() -> None:
    random = np.random.default_rng(3)

    def draw() -> PairedCounts:
        rates = case_rates(random, rate=0.8, icc=0.5)
        once = asked(random, rates, rates, runs=1)
        return PairedCounts(*(numbers * RUNS for numbers in once))

    assert alarms(signflip.sign_flip, draw, 3000) <= 0.07


def test_stratified_is_calm_when_copies_are_counted_once_and_only_then() -> None:
    random = np.random.default_rng(4)
    rates = case_rates(random, rate=0.8, icc=0.5)

    def once() -> PairedCounts:
        return asked(random, rates, rates, runs=1)

    assert alarms(stratified.cmh, once, 2000) <= 0.065
    assert alarms(stratified.cmh, lambda: PairedCounts(*(n * RUNS for n in once())), 500) > 0.2


@pytest.mark.parametrize(
    ("icc", "ratio", "stratified_runs", "pooled_runs"), [(0.5, 1.4, (11, 14), (17, 20)), (0.7, 1.6, (7, 10), (15, 18))]
)
def test_stratified_needs_fewer_runs_than_pooled(
    icc: float, ratio: float, stratified_runs: tuple[int, int], pooled_runs: tuple[int, int]
) -> None:
    """Runs a case for 80 % power at a drop of five points, interpolated between two numbers that lie on either side."""
    random = np.random.default_rng(5)

    def drop(runs: int) -> PairedCounts:
        old = case_rates(random, rate=0.8, icc=icc)
        return asked(random, old, old * (1 - 0.05 / old.mean()), runs=runs)

    def pooled_test(counts: PairedCounts) -> PairedTest:
        return PairedTest(pooled.two_proportions(*(int(numbers.sum()) for numbers in counts)), 0.0)

    def needed(test: Callable[[PairedCounts], PairedTest], between: tuple[int, int]) -> float:
        few, many = (alarms(test, partial(drop, runs), 2000) for runs in between)
        assert few < 0.8 < many
        return float(np.interp(0.8, (few, many), between))

    assert needed(pooled_test, pooled_runs) >= ratio * needed(stratified.cmh, stratified_runs)


@pytest.mark.parametrize("cases", [10, 50])
@pytest.mark.parametrize(("rate", "icc"), [(0.5, 0.3), (0.8, 0.5), (0.9, 0.7), (0.95, 0.2)])
def test_the_interval_of_cases_like_these_covers(cases: int, rate: float, icc: float) -> None:
    random = np.random.default_rng(6)

    def covers() -> bool:
        passes = random.binomial(RUNS, case_rates(random, rate=rate, icc=icc, cases=cases))
        found = intervals.wilson_over_cases(passes, [RUNS] * cases)
        return found.low <= rate <= found.high

    assert np.mean([covers() for _ in range(1000)]) > 0.9


@pytest.mark.parametrize(("rate", "icc"), [(0.5, 0.3), (0.8, 0.5), (0.95, 0.7)])
@pytest.mark.parametrize("drop", [0.0, 0.1])
def test_the_difference_of_these_cases_is_covered(rate: float, icc: float, drop: float) -> None:
    random = np.random.default_rng(7)
    old = case_rates(random, rate=rate, icc=icc)
    new = old * (1 - drop)

    def covers() -> bool:
        found = intervals.difference_of_these_cases(asked(random, old, new))
        return found.low <= float((new - old).mean()) <= found.high

    assert np.mean([covers() for _ in range(1000)]) > 0.93


@pytest.mark.parametrize("cases", [10, 50])
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_the_difference_of_cases_like_these_is_covered(cases: int, share: float) -> None:
    """A share of all cases there are falls by half of its rate; these are a sample of them."""
    random = np.random.default_rng(8)

    def covers() -> bool:
        old = case_rates(random, rate=0.8, icc=0.5, cases=cases)
        new = np.where(random.random(cases) < share, old / 2, old)
        found = intervals.difference_of_cases_like_these(asked(random, old, new))
        return found.low <= -share * 0.8 / 2 <= found.high

    assert np.mean([covers() for _ in range(1500)]) > 0.92


@pytest.mark.parametrize(("margin", "cases"), [(0.05, 59), (0.05, 100), (0.1, 29), (0.1, 60)])
def test_a_drop_as_large_as_the_margin_is_rarely_ruled_out_for_cases_like_these(margin: float, cases: int) -> None:
    """The hardest truth: a share `margin` of all cases fails outright and the rest is as before."""
    random = np.random.default_rng(9)

    def ruled_out() -> bool:
        old = np.ones(cases)
        counts = asked(random, old, np.where(random.random(cases) < margin, 0.0, old))
        return noninferiority.cases_like_these(counts, margin=margin).holds

    assert np.mean([ruled_out() for _ in range(3000)]) < 0.06


@pytest.mark.parametrize(("rate", "icc"), [(0.8, 0.5), (0.95, 0.7)])
def test_a_drop_as_large_as_the_margin_is_rarely_ruled_out_for_these_cases(rate: float, icc: float) -> None:
    random = np.random.default_rng(10)
    old = case_rates(random, rate=rate, icc=icc)
    new = old * (1 - 0.05 / old.mean())

    def ruled_out() -> bool:
        return noninferiority.these_cases(asked(random, old, new), margin=0.05).holds

    assert np.mean([ruled_out() for _ in range(3000)]) < 0.065
