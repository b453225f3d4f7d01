from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eval_assets.stats import paired, stratified
from eval_assets.stats.paired import PairedCounts

TOLERANCE = 1e-9  # the sourced numbers have twelve digits

arms = st.integers(1, 4).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
cases = st.lists(st.tuples(arms, arms), max_size=5)
Cases = list[tuple[tuple[int, int], tuple[int, int]]]


def counted(cases: Cases) -> PairedCounts:
    numbers = np.array([(*old, *new) for old, new in cases], dtype=int).reshape(-1, 4)
    return paired.counts(*numbers.T)


def enumerated(cases: Cases) -> tuple[float, float]:
    """By definition, with rationals: every way in which the passes of every case can have been dealt out."""
    ways = []
    for (old, old_n), (new, new_n) in cases:
        m, runs = old + new, old_n + new_n
        values = range(max(0, m - new_n), min(m, old_n) + 1)
        ways.append([(x, Fraction(comb(old_n, x) * comb(new_n, m - x), comb(runs, m))) for x in values])
    sums: dict[int, Fraction] = {}
    for dealt in itertools.product(*ways):
        chance = Fraction(1)
        for _, share in dealt:
            chance *= share
        sums[sum(x for x, _ in dealt)] = sums.get(sum(x for x, _ in dealt), Fraction(0)) + chance

    def p_of(t: int) -> Fraction:
        lower = sum((p for x, p in sums.items() if x <= t), Fraction(0)) - sums[t] / 2
        upper = sum((p for x, p in sums.items() if x >= t), Fraction(0)) - sums[t] / 2
        return min(Fraction(1), 2 * min(lower, upper))

    return float(p_of(sum(old for (old, _), _ in cases))), float(min(p_of(t) for t in sums))


def test_agrees_with_sourced_numbers(sourced: Callable[[str], Any], sourced_counts: Callable[..., Any]) -> None:
    for inputs, expected in sourced("cmh"):
        found = stratified.cmh(sourced_counts(inputs))

        assert found.p_value == pytest.approx(expected["p_midp_doubled"], abs=TOLERANCE)


def test_above_the_largest_support_it_is_the_sourced_chi_square(
    sourced: Callable[[str], Any], sourced_counts: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stratified, "_LARGEST_SUPPORT", 1)

    for inputs, expected in sourced("cmh"):
        found = stratified.cmh(sourced_counts(inputs))

        assert found.p_value == pytest.approx(expected["p_no_cc"], abs=TOLERANCE)
        assert found.smallest_p <= found.p_value


def test_with_one_run_it_is_mcnemar(sourced: Callable[[str], Any]) -> None:
    for inputs, expected in sourced("mcnemar_exact"):
        worse, better = inputs["pass_to_fail"], inputs["fail_to_pass"]
        found = stratified.cmh(counted([((1, 1), (0, 1))] * worse + [((0, 1), (1, 1))] * better + [((1, 1), (1, 1))]))

        assert found.p_value == pytest.approx(expected["p_mid"], abs=TOLERANCE)
        assert found.smallest_p == pytest.approx(0.5 ** (worse + better))


@given(st.tuples(arms, arms))
def test_with_one_case_it_is_fisher_read_as_a_mid_p(case: tuple[tuple[int, int], tuple[int, int]]) -> None:
    (old, old_n), (new, new_n) = case
    null = stats.hypergeom(old_n + new_n, old + new, old_n)
    expected = min(1.0, 2 * min(null.cdf(old), null.sf(old - 1)) - null.pmf(old))

    assert stratified.cmh(counted([case])).p_value == pytest.approx(expected, abs=TOLERANCE)


@given(cases)
def test_agrees_with_full_enumeration(cases: Cases) -> None:
    assert stratified.cmh(counted(cases)) == pytest.approx(enumerated(cases), abs=TOLERANCE)


@pytest.mark.parametrize(("broken", "p"), [(False, 0.7162206086), (True, 0.0228506073)])
def test_agrees_on_an_agent_benchmark(airline: Callable[..., Any], broken: bool, p: float) -> None:
    found = stratified.cmh(paired.counts(*airline(0, 1), *airline(2, 3, broken=broken)))

    assert found.p_value == pytest.approx(p, abs=1e-10)  # the issue gives ten digits


def test_agrees_on_a_language_model(smollm2: PairedCounts) -> None:
    assert stratified.cmh(smollm2).p_value == pytest.approx(0.0171371859, abs=1e-10)


@given(cases, st.randoms(use_true_random=False))
def test_order_of_cases_does_not_matter(cases: Cases, random: Any) -> None:
    shuffled = random.sample(cases, len(cases))

    assert stratified.cmh(counted(shuffled)) == stratified.cmh(counted(cases))


@given(cases)
def test_swapping_arms_or_passes_and_failures_changes_nothing(cases: Cases) -> None:
    found = stratified.cmh(counted(cases))
    failures = [((old_n - old, old_n), (new_n - new, new_n)) for (old, old_n), (new, new_n) in cases]

    assert 0 < found.smallest_p <= found.p_value <= 1
    assert stratified.cmh(counted([(new, old) for old, new in cases])) == pytest.approx(found, abs=TOLERANCE)
    assert stratified.cmh(counted(failures)) == pytest.approx(found, abs=TOLERANCE)


@given(cases)
def test_cases_that_never_vary_say_nothing(cases: Cases) -> None:
    dull: Cases = [((3, 3), (2, 2)), ((0, 1), (0, 4))]

    assert stratified.cmh(counted(cases + dull)) == stratified.cmh(counted(cases))


@pytest.mark.parametrize("cases", [[], [((2, 2), (2, 2))], [((0, 2), (0, 2)), ((2, 2), (2, 2))]])
def test_nothing_that_varies_is_no_evidence(cases: Cases) -> None:
    assert stratified.cmh(counted(cases)) == (1.0, 1.0)


def test_a_thousand_cases_that_all_broke_are_beyond_chance() -> None:
    found = stratified.cmh(counted([((5, 5), (0, 5))] * 1000))

    assert 0 <= found.smallest_p <= found.p_value < 1e-300


def test_exact_and_chi_square_agree_where_they_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a support of 20,000 the normal approximation is good to three digits, thousands of runs of few cases too."""
    random = np.random.default_rng(7)
    counts = paired.counts(random.binomial(5000, 0.7, 4), [5000] * 4, random.binomial(5000, 0.69, 4), [5000] * 4)
    exact = stratified.cmh(counts)
    monkeypatch.setattr(stratified, "_LARGEST_SUPPORT", 1)

    assert stratified.cmh(counts).p_value == pytest.approx(exact.p_value, rel=2e-3)
