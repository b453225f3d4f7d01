from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_assets.errors import OutOfRange
from eval_assets.stats import floors, intervals


@given(st.floats(0.01, 1), st.floats(0.01, 0.99))
def test_it_is_the_least_number_that_clears(rate: float, floor: float) -> None:
    runs = floors.runs_to_clear(rate, floor)

    if runs is not None:
        assert intervals.wilson(rate * runs, runs).low >= floor
        assert runs == 1 or intervals.wilson(rate * (runs - 1), runs - 1).low < floor
    else:
        assert rate - floor < 1e-3


def test_a_known_number() -> None:
    """All of n pass: Wilson's lower bound is n / (n + z²), so n is floor · z² / (1 - floor), rounded up."""
    assert floors.runs_to_clear(1.0, 0.85) == 22


@pytest.mark.parametrize(("rate", "floor"), [(1.1, 0.5), (-0.1, 0.5), (0.5, 0.0), (0.5, 1.0)])
def test_what_is_no_rate_is_refused(rate: float, floor: float) -> None:
    with pytest.raises(OutOfRange):
        floors.runs_to_clear(rate, floor)
