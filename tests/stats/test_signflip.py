from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from eval_assets.stats import paired, signflip
from eval_assets.stats.paired import PairedCounts

TOLERANCE = 1e-9  # the sourced numbers have twelve digits

arms = st.integers(1, 7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
cases = st.lists(st.tuples(arms, arms), max_size=9)
Cases = list[tuple[tuple[int, int], tuple[int, int]]]


def counted(cases: Cases) -> PairedCounts:
    numbers = np.array([(*old, *new) for old, new in cases], dtype=int).reshape(-1, 4)
    return paired.counts(*numbers.T)


def enumerated(cases: Cases) -> float:
    """By definition, with rationals: every choice of signs."""
    changes = [Fraction(new, new_n) - Fraction(old, old_n) for (old, old_n), (new, new_n) in cases]
    sums = [
        sum((sign * d for sign, d in zip(signs, changes, strict=True)), Fraction(0))
        for signs in itertools.product((1, -1), repeat=len(changes))
    ]
    observed = abs(sum(changes, Fraction(0)))
    beyond = sum(1 for total in sums if total > observed)
    return min(1.0, (2 * beyond + sums.count(observed)) / len(sums))


def moved(sizes: list[int], of: int) -> PairedCounts:
    """A case per size whose passes went up by it, or down where negative, in `of` runs."""
    changes = np.array(sizes)
    return paired.counts(np.maximum(-changes, 0), [of] * len(sizes), np.maximum(changes, 0), [of] * len(sizes))


def test_agrees_with_sourced_numbers(sourced: Callable[[str], Any]) -> None:
    for inputs, expected in sourced("signflip_exact"):
        found = signflip.sign_flip(moved(inputs["case_diff_passes"], of=5))

        assert found.p_value == pytest.approx(expected["mid"], abs=TOLERANCE)


def test_with_one_run_it_is_mcnemar(sourced: Callable[[str], Any]) -> None:
    for inputs, expected in sourced("mcnemar_exact"):
        found = signflip.sign_flip(moved([-1] * inputs["pass_to_fail"] + [1] * inputs["fail_to_pass"] + [0], of=1))

        assert found.p_value == pytest.approx(expected["p_mid"], abs=TOLERANCE)


@given(cases)
def test_agrees_with_full_enumeration(cases: Cases) -> None:
    found = signflip.sign_flip(counted(cases))

    assert found.p_value == pytest.approx(enumerated(cases), abs=TOLERANCE)
    assert found.smallest_p == 0.5 ** sum(old[0] * new[1] != new[0] * old[1] for old, new in cases)


@pytest.mark.parametrize("broken", [False, True])
def test_agrees_on_an_agent_benchmark(airline: Callable[..., Any], broken: bool) -> None:
    found = signflip.sign_flip(paired.counts(*airline(0, 1), *airline(2, 3, broken=broken)))

    expected = 0.0346781015 if broken else 0.6661529542
    assert found.p_value == pytest.approx(expected, abs=1e-10)  # the issue gives ten digits


def test_agrees_on_a_language_model(smollm2: PairedCounts) -> None:
    assert signflip.sign_flip(smollm2).p_value == pytest.approx(0.0351928654, abs=1e-10)


@given(cases, st.randoms(use_true_random=False))
def test_order_of_cases_does_not_matter(cases: Cases, random: Any) -> None:
    shuffled = random.sample(cases, len(cases))

    assert signflip.sign_flip(counted(shuffled)) == pytest.approx(signflip.sign_flip(counted(cases)), abs=TOLERANCE)


@given(cases)
def test_swapping_arms_changes_nothing(cases: Cases) -> None:
    found = signflip.sign_flip(counted(cases))

    assert 0 < found.smallest_p <= found.p_value <= 1
    assert signflip.sign_flip(counted([(new, old) for old, new in cases])) == pytest.approx(found, abs=TOLERANCE)


@given(cases, st.integers(2, 5))
def test_copies_of_runs_change_nothing(cases: Cases, copies: int) -> None:
    """A case is one piece of evidence however often its runs are repeated."""
    counts = counted(cases)
    copied = PairedCounts(*(numbers * copies for numbers in counts))

    assert signflip.sign_flip(copied) == signflip.sign_flip(counts)


@pytest.mark.parametrize("cases", [[], [((2, 4), (1, 2))]])
def test_no_change_is_no_evidence(cases: Cases) -> None:
    assert signflip.sign_flip(counted(cases)) == (1.0, 1.0)


def test_few_cases_are_enumerated_however_fine_their_lattice() -> None:
    """Ten cases with runs that share no factor have a lattice of 10**19 steps but only 1,024 sums."""
    primes = [97, 101, 103, 107, 109, 113, 127, 131, 137, 139]
    cases: Cases = [((n // 2 + i, n), (n // 3, n)) for i, n in enumerate(primes)]
    cases[0], cases[1] = ((0, 97), (40, 97)), ((3, 101), (60, 101))

    assert signflip.sign_flip(counted(cases)).p_value == pytest.approx(enumerated(cases), abs=TOLERANCE)


def test_beyond_the_largest_support_rounding_moves_p_by_less_than_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the exact lattice of the same cases, which the limit is raised to allow."""
    random = np.random.default_rng(42)
    for count in (20, 40, 200):
        old_n, new_n = random.choice([7, 8, 9, 10, 11], (2, count))
        counts = paired.counts(random.binomial(old_n, 0.8), old_n, random.binomial(new_n, 0.75), new_n)
        rounded = signflip.sign_flip(counts)
        with monkeypatch.context() as raised:
            raised.setattr(signflip, "_LARGEST_SUPPORT", 10_000_000)
            exact = signflip.sign_flip(counts)

        assert rounded.p_value == pytest.approx(exact.p_value, abs=1e-3)
        assert rounded.smallest_p == exact.smallest_p


def test_many_cases_with_all_sorts_of_runs_agree_with_the_normal_limit() -> None:
    random = np.random.default_rng(5)
    old_n, new_n = random.integers(1, 30, (2, 3000))
    counts = paired.counts(random.binomial(old_n, 0.8), old_n, random.binomial(new_n, 0.79), new_n)
    changes = paired.differences(counts)
    z = changes.sum() / np.sqrt(np.sum(changes**2))

    assert signflip.sign_flip(counts).p_value == pytest.approx(2 * special.ndtr(-abs(z)), abs=2e-3)


def test_a_thousand_cases_that_all_broke_are_beyond_chance() -> None:
    found = signflip.sign_flip(moved([-5] * 1000, of=5))

    assert found.p_value == found.smallest_p == 0.5**1000
