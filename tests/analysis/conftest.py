"""Reports with given counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eval_assets import Case, CaseSet, Provenance, Report
from eval_assets.analysis import summarize
from eval_assets.model.reports import LatencySummary
from eval_assets.model.scores import CaseCount

Counts = dict[str, list[tuple[int, int, int]]]
"""Metric → (passes, scored, unscored) of each case."""


@pytest.fixture(scope="session")
def make_report() -> Callable[..., Report]:
    """Make a report of cases named c0, c1, … (or `names`) from counts."""
    return _report


def _report(counts: Counts, names: list[str] | None = None, runs: int = 10) -> Report:
    size = max(len(stats) for stats in counts.values()) if counts else 1
    names = names or [f"c{number}" for number in range(size)]
    case_set = CaseSet(cases=tuple(Case(name=name, input=name, tags=("all",)) for name in names))
    rows = [
        CaseCount(case.hash, metric, *stat)
        for metric, stats in counts.items()
        for case, stat in zip(case_set.cases, stats, strict=True)
    ]
    provenance = Provenance(model_id="m")
    return summarize.summarize(case_set, rows, runs_per_case=runs, latency=LatencySummary(), provenance=provenance)
