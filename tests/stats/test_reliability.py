from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_assets.errors import OutOfRange
from eval_assets.stats import reliability

TOLERANCE = 1e-9  # the sourced numbers have twelve digits

arms = st.integers(1, 7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
cases = st.lists(arms, min_size=1, max_size=12)


def test_pass_curves_agree_with_sourced_numbers(sourced: Callable[[str], Any]) -> None:
    for inputs, expected in sourced("pass_hat_k_and_pass_at_k"):
        found = reliability.pass_curves([inputs["c"]], [inputs["n"]])

        assert found.pass_hat[inputs["k"] - 1] == pytest.approx(expected["pass_hat_k"], abs=TOLERANCE)
        assert found.pass_at[inputs["k"] - 1] == pytest.approx(expected["pass_at_k"], abs=TOLERANCE)


def test_pass_hat_is_the_published_table(airline: Callable[..., Any]) -> None:
    found = reliability.pass_curves(*airline(0, 1, 2, 3))

    assert found.pass_hat.tolist() == pytest.approx([0.420, 0.273, 0.220, 0.200], abs=5e-4)


@given(arms)
def test_pass_curves_agree_with_every_draw(arm: tuple[int, int]) -> None:
    passes, scored = arm
    found = reliability.pass_curves([passes], [scored])

    for k in range(1, scored + 1):
        draws = list(itertools.combinations([1] * passes + [0] * (scored - passes), k))
        assert found.pass_at[k - 1] == pytest.approx(np.mean([any(draw) for draw in draws]), abs=TOLERANCE)
        assert found.pass_hat[k - 1] == pytest.approx(np.mean([all(draw) for draw in draws]), abs=TOLERANCE)


@given(cases)
def test_pass_curves_start_at_the_rate_part_and_end_at_the_fewest_runs(cases: list[tuple[int, int]]) -> None:
    found = reliability.pass_curves(*zip(*cases, strict=True))

    assert found.pass_at.size == found.pass_hat.size == min(n for _, n in cases)
    assert found.pass_at[0] == pytest.approx(found.pass_hat[0]) == pytest.approx(np.mean([x / n for x, n in cases]))
    assert np.all(np.diff(found.pass_at) >= -TOLERANCE)
    assert np.all(np.diff(found.pass_hat) <= TOLERANCE)


def test_pass_curves_stop_where_asked_and_skip_what_was_not_scored() -> None:
    found = reliability.pass_curves([3, 0], [5, 0], longest=2)

    assert found.pass_hat.tolist() == pytest.approx([0.6, 0.3])
    assert reliability.pass_curves([0], [0]).pass_at.size == 0


def test_icc_agrees_with_sourced_numbers(sourced: Callable[[str], Any]) -> None:
    for inputs, expected in sourced("icc_anova"):
        found = reliability.intraclass_correlation(inputs["passes"], [inputs["runs_per_case"]] * len(inputs["passes"]))

        wanted = (expected["msb"], expected["msw"], expected["icc"], expected["design_effect"])
        assert found == pytest.approx(wanted, abs=TOLERANCE)


def test_icc_of_an_agent_benchmark(airline: Callable[..., Any]) -> None:
    found = reliability.intraclass_correlation(*airline(0, 1, 2, 3))

    assert found is not None
    assert (found.icc, found.design_effect) == pytest.approx((0.4046, 2.2138), abs=5e-5)


@given(cases)
def test_icc_agrees_with_an_analysis_of_variance_of_the_runs(cases: list[tuple[int, int]]) -> None:
    """Sums of squares taken from single runs and not from counts; runs per case may differ."""
    found = reliability.intraclass_correlation(*zip(*cases, strict=True))
    runs = [np.repeat([1.0, 0.0], [x, n - x]) for x, n in cases]
    pooled = np.concatenate(runs)
    if found is None:
        assert len(runs) == 1 or pooled.size == len(runs) or np.ptp(pooled) == 0
        return
    between = sum(run.size * (run.mean() - pooled.mean()) ** 2 for run in runs) / (len(runs) - 1)
    within = sum(((run - run.mean()) ** 2).sum() for run in runs) / (pooled.size - len(runs))

    assert found[:2] == pytest.approx((between, within), abs=TOLERANCE)
    assert -1 <= found.icc <= 1 + TOLERANCE


@pytest.mark.parametrize(("passes", "icc", "design_effect"), [([4, 0, 4, 0], 1.0, 4.0), ([2, 2, 2, 2], -1 / 3, 0.0)])
def test_icc_at_its_ends(passes: list[int], icc: float, design_effect: float) -> None:
    found = reliability.intraclass_correlation(passes, [4] * 4)

    assert found is not None
    assert (found.icc, found.design_effect) == pytest.approx((icc, design_effect), abs=TOLERANCE)


@pytest.mark.parametrize(
    ("passes", "scored"), [([], []), ([2], [4]), ([1, 0], [1, 1]), ([3, 3], [3, 3]), ([0, 0], [3, 3])]
)
def test_icc_of_what_cannot_differ_is_none(passes: list[int], scored: list[int]) -> None:
    assert reliability.intraclass_correlation(passes, scored) is None


@pytest.mark.parametrize("ask", [reliability.pass_curves, reliability.intraclass_correlation])
def test_impossible_counts_are_refused(ask: Callable[..., object]) -> None:
    with pytest.raises(OutOfRange, match=r"\[0, scored\]"):
        ask([3], [2])
