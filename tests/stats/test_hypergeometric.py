from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eval_assets.stats import hypergeometric

tables = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 40)).flatmap(
        lambda runs: st.tuples(st.just(runs[0]), st.just(runs[1]), st.integers(0, sum(runs)))
    ),
    min_size=1,
    max_size=6,
)


@given(tables)
def test_agrees_with_scipy(margins: list[tuple[int, int, int]]) -> None:
    found = hypergeometric.distributions(*np.array(margins, dtype=np.int64).T)

    for (old, new, passes), low, p in zip(
        margins, found.low, np.split(np.exp(found.log_probabilities), found.starts[1:]), strict=True
    ):
        expected = stats.hypergeom(old + new, passes, old).pmf(np.arange(low, low + p.size))
        assert p.tolist() == pytest.approx(expected.tolist(), abs=1e-12)
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
