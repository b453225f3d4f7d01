"""
How long the statistics of a large comparison take, in processor time so that a busy machine fails nothing.

Each is the best of three, because the first pays for what is loaded once.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from eval_assets.stats import multiplicity, paired, pooled, signflip, stratified
from eval_assets.stats.paired import PairedCounts, PairedTest

METRICS, CASES = 20, 1000


def best_of_three(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(3):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def comparison(runs: int) -> list[PairedCounts]:
    random = np.random.default_rng(42)
    rates = random.beta(1, 0.5, (METRICS, CASES))
    scored = np.full(CASES, runs)
    return [
        paired.counts(random.binomial(runs, rate), scored, random.binomial(runs, 0.98 * rate), scored) for rate in rates
    ]


@pytest.mark.parametrize("runs", [1, 5, 10])
@pytest.mark.parametrize("test", [stratified.cmh, signflip.sign_flip])
def test_twenty_metrics_of_a_thousand_cases(test: Callable[[PairedCounts], PairedTest], runs: int) -> None:
    metrics = comparison(runs)

    assert best_of_three(lambda: [test(counts) for counts in metrics]) < 0.2


def test_twenty_thousand_fisher_tests() -> None:
    random = np.random.default_rng(42)
    scored = np.full(20_000, 5)
    tables = random.binomial(5, 0.8, 20_000), scored, random.binomial(5, 0.7, 20_000), scored

    assert best_of_three(lambda: pooled.fisher_exact_tables(*tables)) < 0.2


def test_correction_over_ten_thousand_metrics() -> None:
    p_values = np.random.default_rng(42).random(10_000)

    assert best_of_three(lambda: multiplicity.benjamini_hochberg(p_values)) < 0.005
