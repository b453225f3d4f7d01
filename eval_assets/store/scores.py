"""Scores in, and the counts they shrink to out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from eval_assets.errors import NothingMeasured
from eval_assets.model.scores import CaseCount
from eval_assets.store import evaluations, loading, queries

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def append(
    connection: Connection,
    evaluation_id: str,
    scoring_id: str,
    metrics: Sequence[str],
    lines: loading.Lines,
    *,
    score_count: int,
    scored_at: datetime,
) -> None:
    """Keep a scoring; one that the store already holds changes nothing."""
    evaluations.read(connection, evaluation_id)
    if queries.first(connection, "has_scoring", scoring_id=scoring_id) is not None:
        return
    key = {"evaluation_id": evaluation_id, "scoring_id": scoring_id}
    queries.run(connection, "load_scores", scores=str(lines.path), longest_line=lines.longest_line, **key)
    queries.run(
        connection, "append_scoring", metrics=list(metrics), score_count=score_count, scored_at=scored_at, **key
    )


def latest(connection: Connection, evaluation_id: str) -> str | None:
    """The id of the evaluation's latest scoring."""
    row = queries.first(connection, "latest_scoring", evaluation_id=evaluation_id)
    return None if row is None else str(row["scoring_id"])


def case_counts(connection: Connection, scoring_id: str) -> list[CaseCount]:
    """
    Passes, scored and unscored runs per case and metric, ordered by case hash and metric.

    Raises:
        NothingMeasured: The store has no such scoring.
    """
    if queries.first(connection, "has_scoring", scoring_id=scoring_id) is None:
        raise NothingMeasured(f"the store holds no scoring {scoring_id}; score the evaluation first")
    return [CaseCount(**row) for row in queries.rows(connection, "case_counts", scoring_id=scoring_id)]
