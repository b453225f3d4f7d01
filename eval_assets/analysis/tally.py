"""
Scores counted in Python, for an evaluation that has no store.

The store counts the same in SQL, for ten million scores that must not become Python objects; tests hold the two equal.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

from eval_assets.model import copies
from eval_assets.model.reports import LatencySummary
from eval_assets.model.runs import Run
from eval_assets.model.scores import CaseCount, GovernanceGap, ScoreRow
from eval_assets.stats import quantiles

_NANOSECONDS = 1_000_000_000


def case_counts(rows: Iterable[ScoreRow], runs: Iterable[Run], *, temperature: float | None) -> list[CaseCount]:
    """Passes, scored and unscored runs and copies per case and metric."""
    first_run = _first_runs(runs, temperature)
    by_case: dict[tuple[str, str], list[ScoreRow]] = {}
    for row in rows:
        by_case.setdefault((row.case_hash, row.metric), []).append(row)
    return [_count(case_hash, metric, found, first_run) for (case_hash, metric), found in by_case.items()]


def governance_gaps(rows: Iterable[ScoreRow], governance: Sequence[str]) -> list[GovernanceGap]:
    """Each judgement metric beside each governance metric, over the runs both scored, ordered by both names."""
    by_run: dict[tuple[str, int], dict[str, bool]] = {}
    for row in rows:
        if row.passed is not None:
            by_run.setdefault((row.case_hash, row.run_index), {})[row.metric] = row.passed
    tallies: dict[tuple[str, str], Counter[tuple[bool, bool]]] = {}
    for passed in by_run.values():
        for metric, held in itertools.product(passed.keys() - set(governance), passed.keys() & set(governance)):
            tallies.setdefault((metric, held), Counter())[passed[metric], passed[held]] += 1
    return [
        GovernanceGap(
            metric,
            held,
            both_scored=tally.total(),
            erred=tally[False, True] + tally[False, False],
            erred_but_held=tally[False, True],
        )
        for (metric, held), tally in sorted(tallies.items())
    ]


def latencies(runs: Sequence[Run]) -> LatencySummary:
    """Nearest-rank percentiles over the runs whose latency is known, in nanoseconds."""
    every = _nanoseconds(runs)
    errored = _nanoseconds([run for run in runs if run.output.error is not None])
    return LatencySummary(
        p50=quantiles.nearest_rank(every, 50),
        p95=quantiles.nearest_rank(every, 95),
        errored_p50=quantiles.nearest_rank(errored, 50),
        errored_p95=quantiles.nearest_rank(errored, 95),
    )


def _nanoseconds(runs: Sequence[Run]) -> list[int]:
    known = (run.output.latency_s for run in runs)
    return sorted(round(latency * _NANOSECONDS) for latency in known if latency is not None)


def _first_runs(runs: Iterable[Run], temperature: float | None) -> dict[tuple[str, int], int]:
    by_case: dict[str, list[Run]] = {}
    for run in runs:
        by_case.setdefault(run.case_hash, []).append(run)
    return {
        (case_hash, index): first
        for case_hash, of_case in by_case.items()
        for index, first in copies.first_of_each(of_case, temperature=temperature).items()
    }


def _count(case_hash: str, metric: str, rows: list[ScoreRow], first_run: dict[tuple[str, int], int]) -> CaseCount:
    tally = Counter(row.passed for row in rows)
    met: set[int] = set()
    copied: list[bool] = []
    for row in sorted((row for row in rows if row.passed is not None), key=lambda row: row.run_index):
        first = first_run[case_hash, row.run_index]
        if first in met:
            copied.append(bool(row.passed))
        met.add(first)
    scored = tally[True] + tally[False]
    return CaseCount(case_hash, metric, tally[True], scored, tally[None], len(copied), sum(copied))
