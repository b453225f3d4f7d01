"""Case sets in and out of the store."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from eval_assets.errors import NothingMeasured
from eval_assets.model.cases import Case, CaseSet
from eval_assets.store import queries

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def append(connection: Connection, suite: str, case_set: CaseSet) -> None:
    """Keep a case set; the suite's latest one, kept again, changes nothing."""
    content = [_row(position, case) for position, case in enumerate(case_set.cases)]
    # Beside the case set's own hash, because tags and expectations are no part of that and may change under it.
    content_hash = hashlib.sha256(queries.to_json(content).encode()).hexdigest()
    key = {"case_set_hash": case_set.hash, "content_hash": content_hash}
    latest = queries.first(connection, "case_set_content", case_set_hash=case_set.hash, suite=suite)
    if latest is not None and latest["content_hash"] == content_hash:
        return
    if queries.first(connection, "has_cases", **key) is None:
        queries.run(connection, "append_cases", cases=queries.to_json(content), **key)
    queries.run(connection, "append_case_set", suite=suite, case_count=len(content), **key)


def read(connection: Connection, case_set_hash: str) -> CaseSet:
    """
    The case set of a hash, with the tags and expectations it was last kept with.

    Raises:
        NothingMeasured: The store has no such case set.
    """
    cases = queries.rows(connection, "case_set", case_set_hash=case_set_hash)
    if not cases:
        raise NothingMeasured(f"the store holds no case set {case_set_hash}; run the suite that asks it first")
    return CaseSet(cases=tuple(_case(row) for row in cases))


def _row(position: int, case: Case) -> dict[str, Any]:
    return {
        "position": position,
        "case_name": case.name,
        "case_hash": case.hash,
        "input": case.input,
        "messages": None if case.messages is None else queries.to_json(case.messages),
        "want": None if case.want is None else queries.to_json(case.want),
        "tags": case.tags,
        "tools": queries.to_json(case.tools),
        "expect": None if case.expect is None else queries.to_json(case.expect.model_dump(mode="json")),
    }


def _case(row: queries.Row) -> Case:
    return Case.model_validate(
        {
            "name": row["case_name"],
            "input": row["input"],
            "tags": row["tags"] or (),
            **{column: queries.from_json(row[column]) for column in ("messages", "want", "tools", "expect")},
        }
    )
