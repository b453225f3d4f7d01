from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eval_assets.errors import OutOfRange
from eval_assets.stats import pooled

TOLERANCE = 1e-9  # the sourced numbers have twelve digits


@pytest.mark.parametrize("method", ["two_proportion_z_pooled", "fisher_exact_two_sided"])
def test_agrees_with_sourced_numbers(sourced: Callable[[str], Any], method: str) -> None:
    for inputs, expected in sourced(method):
        found = pooled.two_proportions(inputs["base_pass"], inputs["base_n"], inputs["cand_pass"], inputs["cand_n"])

        assert found == pytest.approx(expected["p"], abs=TOLERANCE)


@pytest.mark.parametrize(
    ("old", "new", "p"), [((43, 100), (41, 100), 0.7744690587), ((279, 400), (252, 400), 0.0433187748)]
)
def test_agrees_on_real_runs(old: tuple[int, int], new: tuple[int, int], p: float) -> None:
    assert pooled.two_proportions(*old, *new) == pytest.approx(p, abs=TOLERANCE)


counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, counts)
def test_fisher_agrees_with_scipy(old: tuple[int, int], new: tuple[int, int]) -> None:
    table = [[old[0], old[1] - old[0]], [new[0], new[1] - new[0]]]

    assert pooled.fisher_exact(*old, *new) == pytest.approx(stats.fisher_exact(table).pvalue, abs=TOLERANCE)


@given(counts, counts)
def test_swapping_sides_or_passes_and_failures_changes_nothing(old: tuple[int, int], new: tuple[int, int]) -> None:
    p = pooled.two_proportions(*old, *new)
    failures = (old[1] - old[0], old[1]), (new[1] - new[0], new[1])

    assert 0 <= p <= 1
    assert pooled.two_proportions(*new, *old) == pytest.approx(p, abs=TOLERANCE)
    assert pooled.two_proportions(*failures[0], *failures[1]) == pytest.approx(p, abs=TOLERANCE)


@given(st.lists(st.tuples(counts, counts), max_size=8))
def test_many_tables_are_as_each_by_itself(tables: list[tuple[tuple[int, int], tuple[int, int]]]) -> None:
    numbers = np.array([(*old, *new) for old, new in tables], dtype=int).reshape(-1, 4).T

    assert pooled.fisher_exact_tables(*numbers).tolist() == pytest.approx(
        [pooled.fisher_exact(*old, *new) for old, new in tables], abs=TOLERANCE
    )


def test_more_tables_than_fit_at_once_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    runs = np.full(50, 9)
    numbers = random.binomial(runs, 0.7), runs, random.binomial(runs, 0.4), runs
    at_once = pooled.fisher_exact_tables(*numbers)
    monkeypatch.setattr(pooled, "_LARGEST_BATCH", 20)

    assert pooled.fisher_exact_tables(*numbers).tolist() == at_once.tolist()


def test_many_tables_refuse_impossible_counts() -> None:
    with pytest.raises(OutOfRange, match=r"\[0, scored\]"):
        pooled.fisher_exact_tables([1, 3], [2, 2], [0, 0], [2, 2])


@pytest.mark.parametrize(("old", "new"), [((0, 0), (5, 10)), ((5, 10), (0, 0)), ((0, 0), (0, 0))])
def test_nothing_scored_says_nothing(old: tuple[int, int], new: tuple[int, int]) -> None:
    assert pooled.two_proportions(*old, *new) == 1


@pytest.mark.parametrize(("old", "new"), [((0, 9), (0, 7)), ((9, 9), (7, 7)), ((900, 900), (700, 700))])
def test_no_variance_and_equal_rates_say_nothing(old: tuple[int, int], new: tuple[int, int]) -> None:
    assert pooled.two_proportions(*old, *new) == 1


def test_a_complete_reversal_is_beyond_chance() -> None:
    assert pooled.two_proportions(1000, 1000, 0, 1000) < 1e-300


@pytest.mark.parametrize(("old", "new"), [((2, 1), (0, 1)), ((-1, 1), (0, 1)), ((0, 1), (5, 4))])
def test_impossible_counts_are_refused(old: tuple[int, int], new: tuple[int, int]) -> None:
    with pytest.raises(OutOfRange, match=r"\[0, scored\]"):
        pooled.two_proportions(*old, *new)


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_promised() -> None:
    """When nothing changed and runs are independent, p < 0.05 in at most about 5 % of comparisons."""
    random = np.random.default_rng(42)
    draws = random.binomial(100, 0.8, size=(4000, 2))

    alarms = np.mean([pooled.two_proportions(int(old), 100, int(new), 100) < 0.05 for old, new in draws])

    assert alarms < 0.06
