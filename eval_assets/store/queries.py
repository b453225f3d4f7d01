"""The SQL files by name, and how values go in and rows come out; no query and no connection of its own."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from eval_assets.model import gojson

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

Row = dict[str, Any]


@cache
def text(name: str) -> str:
    """The query in `sql/<name>.sql`."""
    return resources.files("eval_assets.store").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")


def run(connection: Connection, name: str, /, **parameters: Any) -> None:
    """Run a query for its effect."""
    connection.execute(text(name), parameters)


def rows(connection: Connection, name: str, /, **parameters: Any) -> list[Row]:
    """Every row of a query, by column name; times are in UTC."""
    cursor = connection.execute(text(name), parameters)
    columns = [column[0] for column in cursor.description or ()]
    found = [dict(zip(columns, values, strict=True)) for values in cursor.fetchall()]
    for row in found:
        for column in columns:
            # Because duckdb 1 answers in pytz's zones and duckdb 2 in zoneinfo's; equal reports print equal bytes.
            if isinstance(row[column], datetime):
                row[column] = row[column].astimezone(UTC)
    return found


def first(connection: Connection, name: str, /, **parameters: Any) -> Row | None:
    """The first row of a query, None where there is none."""
    return next(iter(rows(connection, name, **parameters)), None)


def to_json(value: Any) -> str:
    """
    A JSON value as text that DuckDB takes.

    Half a surrogate pair, which Python's strings can hold and UTF-8 cannot, becomes U+FFFD, as it does in case hashes.
    """
    return gojson.utf8(json.dumps(value, ensure_ascii=False, separators=(",", ":"))).decode()


def from_json(value: str | None) -> Any:
    """What a JSON column holds; SQL's null and JSON's null are both None."""
    return None if value is None else json.loads(value)
