from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eval_assets.errors import OutOfRange
from eval_assets.stats import multiplicity

p_lists = st.lists(st.floats(0, 1), max_size=40)


def test_agrees_with_sourced_numbers(sourced: Callable[[str], Any]) -> None:
    for inputs, expected in sourced("benjamini_hochberg"):
        found = multiplicity.benjamini_hochberg(inputs["p"])

        assert found.tolist() == pytest.approx(expected["adjusted"], abs=1e-9)


@given(p_lists.filter(bool))
def test_agrees_with_scipy(p_values: list[float]) -> None:
    expected = stats.false_discovery_control(p_values)

    assert multiplicity.benjamini_hochberg(p_values).tolist() == pytest.approx(expected.tolist(), abs=1e-12)


@given(p_lists)
def test_never_below_the_raw_p_and_never_above_one(p_values: list[float]) -> None:
    adjusted = multiplicity.benjamini_hochberg(p_values)

    assert np.all(adjusted >= np.array(p_values))
    assert np.all(adjusted <= 1)


@given(p_lists, st.randoms(use_true_random=False))
def test_order_of_metrics_does_not_matter(p_values: list[float], random: Any) -> None:
    order = list(range(len(p_values)))
    random.shuffle(order)

    shuffled = multiplicity.benjamini_hochberg([p_values[i] for i in order])

    assert shuffled.tolist() == multiplicity.benjamini_hochberg(p_values)[order].tolist()


@pytest.mark.parametrize("bad", [[-0.1], [1.1], [float("nan")]])
def test_what_is_no_p_is_refused(bad: list[float]) -> None:
    with pytest.raises(OutOfRange, match=r"\[0, 1\]"):
        multiplicity.benjamini_hochberg(bad)
