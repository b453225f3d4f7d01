from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from eval_assets.stats import lattice
from eval_assets.stats.lattice import Lattice

COIN = Lattice(0, np.array([0.5, 0.5]))


def test_a_thousand_coins_are_binomial() -> None:
    heads = lattice.repeat(COIN, 1000)

    expected = stats.binom(1000, 0.5).pmf(np.arange(heads.low, heads.low + heads.probabilities.size))
    assert heads.probabilities == pytest.approx(expected, rel=1e-10)


def test_the_ends_that_are_cut_are_beyond_notice() -> None:
    heads = lattice.repeat(COIN, 1000)

    assert heads.low > 200
    assert heads.probabilities.sum() == pytest.approx(1.0, abs=1e-12)


def test_total_adds_offsets() -> None:
    found = lattice.total([Lattice(3, np.ones(1)), COIN, Lattice(-1, np.ones(1)), COIN, COIN])

    assert found.low == 2
    assert found.probabilities.tolist() == pytest.approx([1 / 8, 3 / 8, 3 / 8, 1 / 8])


@pytest.mark.parametrize(("observed", "p"), [(0, 0.125), (1, 0.625), (2, 0.625), (3, 0.125), (-1, 0.0), (9, 0.0)])
def test_mid_p_counts_half_of_what_was_seen(observed: int, p: float) -> None:
    assert lattice.mid_p(lattice.repeat(COIN, 3), observed) == pytest.approx(p)
