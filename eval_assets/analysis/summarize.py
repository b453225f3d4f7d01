"""Scores, already counted per case and metric, become the report of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from eval_assets.analysis import reliability
from eval_assets.model.cases import CaseSet
from eval_assets.model.reports import REPORT_FORMAT, CaseReport, LatencySummary, MetricStat, Report
from eval_assets.model.runs import Provenance
from eval_assets.model.scores import CaseCount
from eval_assets.stats import intervals

_Counts = Mapping[str, tuple[int, int, int]]
"""(passes, scored, unscored) by metric."""


def summarize(
    case_set: CaseSet,
    counts: Iterable[CaseCount],
    *,
    runs_per_case: int,
    latency: LatencySummary,
    provenance: Provenance,
    extensions: Mapping[str, Any] | None = None,
) -> Report:
    """
    Say how often each metric passed, with an interval: per case, per tag, overall.

    Args:
        case_set: The cases asked, in order.
        counts: One per case and metric that was asked of it.
        runs_per_case: Runs of each case.
        latency: The evaluation's percentiles.
        provenance: The conditions; its case-set hash is set to that of `case_set`.
        extensions: What else to keep with the report.

    Returns:
        A report whose overall is the sum of its cases. A case that repeats a tag counts once in it.
    """
    counts = list(counts)
    by_case: dict[str, dict[str, tuple[int, int, int]]] = {case.hash: {} for case in case_set.cases}
    effective: dict[str, dict[str, tuple[int, int]]] = {}
    for count in counts:
        by_case[count.case_hash][count.metric] = (count.passes, count.scored, count.unscored)
        if count.effective_scored < count.scored:
            once = (count.effective_passes, count.effective_scored)
            effective.setdefault(count.metric, {})[count.case_hash] = once
    tagged = {tag: _sum(by_case[case.hash] for case in case_set.cases if tag in case.tags) for tag in case_set.tags}
    return Report(
        format=REPORT_FORMAT,
        runs_per_case=runs_per_case,
        total_runs=runs_per_case * len(case_set.cases),
        cases=tuple(
            CaseReport(name=case.name, hash=case.hash, metrics=stats)
            for case, stats in zip(case_set.cases, _stats(by_case.values()), strict=True)
        ),
        overall=_stats([_sum(by_case.values())])[0],
        by_tag=dict(zip(tagged, _stats(tagged.values()), strict=True)),
        latency_p50=latency.p50,
        latency_p95=latency.p95,
        provenance=provenance.model_copy(update={"case_set_hash": case_set.hash}),
        extensions={
            "latency_errored_p50": latency.errored_p50,
            "latency_errored_p95": latency.errored_p95,
            "tags": {case.name: list(case.tags) for case in case_set.cases if case.tags},
            "effective_counts": effective,
            "metrics": reliability.by_metric(counts),
            **(extensions or {}),
        },
    )


def stat(passes: int, scored: int, unscored: int) -> MetricStat:
    """One count as a stat: its rate and Wilson interval."""
    return _stats([{"": (passes, scored, unscored)}])[0][""]


def _sum(counts: Iterable[_Counts]) -> dict[str, tuple[int, int, int]]:
    sums: dict[str, tuple[int, int, int]] = {}
    for by_metric in counts:
        for metric, (passes, scored, unscored) in by_metric.items():
            before = sums.get(metric, (0, 0, 0))
            sums[metric] = (before[0] + passes, before[1] + scored, before[2] + unscored)
    return sums


def _stats(groups: Iterable[_Counts]) -> list[dict[str, MetricStat]]:
    """Every interval of every group in one call, because a report has a stat per case and metric."""
    ordered = [dict(sorted(group.items())) for group in groups]
    table = np.array([count for group in ordered for count in group.values()], dtype=np.int64).reshape(-1, 3)
    bounds = intervals.wilson(table[:, 0], table[:, 1])
    stats = map(_stat, table.tolist(), bounds.low.tolist(), bounds.high.tolist())
    return [{metric: next(stats) for metric in group} for group in ordered]


def _stat(counts: list[int], low: float, high: float) -> MetricStat:
    passes, scored, unscored = counts
    rate = passes / scored if scored else 0.0
    return MetricStat(passes=passes, scored=scored, unscored=unscored, rate=rate, ci_low=low, ci_high=high)
