"""Reports in and out of the store, each as its document and as rows that SQL can ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from eval_assets.errors import NothingMeasured
from eval_assets.model.reports import MetricStat, Report, StoredReport
from eval_assets.store import queries

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def append(connection: Connection, stored: StoredReport, *, scoring_id: str, created_at: datetime) -> None:
    """Keep a report; one that the store already holds changes nothing."""
    if queries.first(connection, "has_report", report_id=stored.report_id) is not None:
        return
    report = stored.report
    queries.run(
        connection,
        "append_report",
        **stored.model_dump(exclude={"report"}),
        scoring_id=scoring_id,
        model_id=report.provenance.model_id,
        case_set_hash=report.provenance.case_set_hash,
        runs_per_case=report.runs_per_case,
        total_runs=report.total_runs,
        latency_p50=report.latency_p50,
        latency_p95=report.latency_p95,
        report=queries.to_json(report.model_dump(mode="json")),
        created_at=created_at,
    )
    stats = queries.to_json(list(_stats(report)))
    queries.run(connection, "append_metric_stats", report_id=stored.report_id, stats=stats)


def read(connection: Connection, report_id: str) -> StoredReport:
    """
    The report of an id.

    Raises:
        NothingMeasured: The store has no such report.
    """
    stored = _stored(queries.first(connection, "report", report_id=report_id))
    if stored is None:
        raise NothingMeasured(f"the store holds no report {report_id}; run its target first")
    return stored


def latest(connection: Connection, suite: str, target: str) -> StoredReport | None:
    """The target's latest report."""
    return _stored(queries.first(connection, "latest_report", suite=suite, target=target))


def before(connection: Connection, report_id: str) -> StoredReport | None:
    """The report of the evaluation before, of the same target as it was described then."""
    return _stored(queries.first(connection, "report_before", report_id=report_id))


def _stored(row: queries.Row | None) -> StoredReport | None:
    if row is None:
        return None
    report = Report.from_json(row["report"], source=f"report {row['report_id']} of the store")
    return StoredReport(**{**row, "report": report})


def _stats(report: Report) -> Iterator[dict[str, Any]]:
    yield from _scoped("overall", "", report.overall)
    for tag, stats in report.by_tag.items():
        yield from _scoped("tag", tag, stats)
    for case in report.cases:
        yield from _scoped("case", case.name, case.metrics)


def _scoped(scope: str, scope_name: str, stats: Mapping[str, MetricStat]) -> Iterator[dict[str, Any]]:
    for metric, stat in stats.items():
        yield {"scope": scope, "scope_name": scope_name, "metric": metric, **stat.model_dump()}
