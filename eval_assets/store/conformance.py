"""Certifications in and out of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eval_assets.model.conformance import ConformanceReport, StoredConformance
from eval_assets.store import queries

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def append(connection: Connection, stored: StoredConformance) -> None:
    """Keep a certification; one that the store already holds changes nothing."""
    if queries.first(connection, "has_conformance_report", certification_id=stored.certification_id) is not None:
        return
    report = stored.report
    queries.run(
        connection,
        "append_conformance_report",
        **stored.model_dump(exclude={"report"}),
        passed=report.passed,
        score=report.score,
        passing=len(report.passing),
        failing=len(report.failing),
        unmeasured=len(report.unmeasured),
        report=queries.to_json(report.model_dump(mode="json")),
        certified_at=report.certified_at,
    )


def latest(connection: Connection, suite: str, target: str, *, passed_only: bool) -> StoredConformance | None:
    """The last certification of a target; the last that passed, where only those are asked for."""
    row = queries.first(connection, "latest_conformance_report", suite=suite, target=target, passed_only=passed_only)
    if row is None:
        return None
    source = f"conformance report {row['certification_id']} of the store"
    return StoredConformance(**{**row, "report": ConformanceReport.from_json(row["report"], source=source)})
