"""Scores in, and the counts they shrink to out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from eval_assets.errors import NothingMeasured
from eval_assets.model import copies
from eval_assets.model.scores import CaseCount, GovernanceGap, ScoringTerms
from eval_assets.store import evaluations, loading, queries

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def append(
    connection: Connection,
    evaluation_id: str,
    scoring_id: str,
    terms: ScoringTerms,
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
        connection,
        "append_scoring",
        metrics=list(terms.metrics),
        governance=list(terms.governance),
        judges=queries.to_json(terms.judges),
        unavailable_as=terms.unavailable_as,
        score_count=score_count,
        scored_at=scored_at,
        **key,
    )


def latest(connection: Connection, evaluation_id: str) -> str | None:
    """The id of the evaluation's latest scoring."""
    row = queries.first(connection, "latest_scoring", evaluation_id=evaluation_id)
    return None if row is None else str(row["scoring_id"])


def terms(connection: Connection, scoring_id: str) -> ScoringTerms:
    """
    What a scoring rested on.

    Raises:
        NothingMeasured: The store has no such scoring.
    """
    row = queries.first(connection, "scoring_terms", scoring_id=scoring_id)
    if row is None:
        raise NothingMeasured(f"the store holds no scoring {scoring_id}; score the evaluation first")
    return ScoringTerms(
        tuple(row["metrics"]), tuple(row["governance"]), queries.from_json(row["judges"]), row["unavailable_as"]
    )


def case_counts(connection: Connection, scoring_id: str) -> list[CaseCount]:
    """
    Passes, scored and unscored runs and copies per case and metric, ordered by case hash and metric.

    Raises:
        NothingMeasured: The store has no such scoring.
    """
    terms(connection, scoring_id)
    copied = {
        (row.pop("case_hash"), row.pop("metric")): row
        for row in queries.rows(
            connection, "copied_counts", scoring_id=scoring_id, telling_characters=copies.TELLING_CHARACTERS
        )
    }
    rows = queries.rows(connection, "case_counts", scoring_id=scoring_id)
    return [CaseCount(**row, **copied.get((row["case_hash"], row["metric"]), {})) for row in rows]


def governance_gaps(connection: Connection, scoring_id: str, governance: Sequence[str]) -> list[GovernanceGap]:
    """
    Each judgement metric beside each of these governance metrics, ordered by both names.

    Pairs that no run was scored under are left out.

    Raises:
        NothingMeasured: The store has no such scoring.
    """
    terms(connection, scoring_id)
    found = queries.rows(connection, "governance_gaps", scoring_id=scoring_id, governance=list(governance))
    return [GovernanceGap(**row) for row in found]
