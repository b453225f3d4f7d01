"""Comparisons, the verdicts on them, and the promotions that follow."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from eval_assets.errors import NothingMeasured
from eval_assets.model.verdicts import Comparison, GatePolicy, Promotion, StoredVerdict, Verdict
from eval_assets.store import queries

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def append_comparison(
    connection: Connection, comparison: Comparison, policy: GatePolicy, *, compared_at: datetime, **key: str
) -> None:
    """Keep a comparison; one that the store already holds changes nothing. `key` are its ids, suite and candidate."""
    if queries.first(connection, "has_comparison", comparison_id=key["comparison_id"]) is not None:
        return
    document = comparison.model_dump(mode="json")
    queries.run(
        connection,
        "append_comparison",
        **key,
        outcome=comparison.outcome,
        policy=queries.to_json(policy.model_dump(mode="json")),
        comparison=queries.to_json(document),
        compared_at=compared_at,
    )
    metrics = queries.to_json(document["metrics"])
    queries.run(connection, "append_metric_comparisons", comparison_id=key["comparison_id"], metrics=metrics)


def comparison(connection: Connection, comparison_id: str) -> Comparison:
    """
    The comparison of an id.

    Raises:
        NothingMeasured: The store has no such comparison.
    """
    row = queries.first(connection, "comparison", comparison_id=comparison_id)
    if row is None:
        raise NothingMeasured(f"the store holds no comparison {comparison_id}; compare the candidate first")
    return Comparison.model_validate_json(row["comparison"])


def append(connection: Connection, stored: StoredVerdict) -> None:
    """Keep a verdict; one that the store already holds changes nothing."""
    columns = stored.model_dump(exclude={"verdict"}) | stored.verdict.model_dump()
    queries.run(connection, "append_verdict", **columns | {"reasons": list(stored.verdict.reasons)})


def latest(connection: Connection, suite: str, candidate: str) -> StoredVerdict | None:
    """The candidate's latest verdict."""
    row = queries.first(connection, "latest_verdict", suite=suite, candidate=candidate)
    return None if row is None else _stored(row)


def on(connection: Connection, **key: str) -> StoredVerdict | None:
    """The latest verdict on exactly two reports. `key` are their ids, suite and candidate."""
    row = queries.first(connection, "verdict_on", **key)
    return None if row is None else _stored(row)


def after(connection: Connection, suite: str, *, decided_at: datetime | None, limit: int) -> list[StoredVerdict]:
    """The suite's verdicts after a moment, in order; more than `limit` where the last moment has several."""
    rows = queries.rows(connection, "verdicts_after", suite=suite, decided_at=decided_at, limit=limit)
    return [_stored(row) for row in rows]


def append_promotion(connection: Connection, promotion: Promotion) -> None:
    """Keep a promotion; one that the store already holds changes nothing."""
    queries.run(connection, "append_promotion", **promotion.model_dump())


def latest_promotion(connection: Connection, suite: str) -> Promotion | None:
    """The suite's latest promotion."""
    row = queries.first(connection, "latest_promotion", suite=suite)
    return None if row is None else Promotion.model_validate(row)


def _stored(row: dict[str, Any]) -> StoredVerdict:
    verdict = Verdict(outcome=row.pop("outcome"), reasons=tuple(row.pop("reasons")))
    return StoredVerdict(**row, verdict=verdict)
