"""SQL that a user wrote: answered where it only asks, refused where it would change or reach anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eval_assets.errors import ConfigError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def select(connection: Connection, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """
    Column names and rows of one select; the connection must be a sealed reading one.

    Raises:
        ConfigError: The statement is not one select, or DuckDB does not understand it; in DuckDB's words.
    """
    import duckdb

    try:
        _refuse_all_but_one_select(connection, sql)
        cursor = connection.execute(sql)
        return [column[0] for column in cursor.description or ()], cursor.fetchall()
    except (duckdb.FatalException, duckdb.InternalException):
        raise
    except duckdb.Error as error:
        raise ConfigError(f"the SQL cannot be answered: {error}") from error


def _refuse_all_but_one_select(connection: Connection, sql: str) -> None:
    import duckdb

    statements = connection.extract_statements(sql)
    asked = [statement.type.name for statement in statements]
    if len(statements) != 1:
        raise ConfigError(
            f"wanted one select, found {len(statements)} statements{': ' if asked else ''}{', '.join(asked)}"
        )
    if statements[0].type not in {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}:
        raise ConfigError(f"wanted a select, found {asked[0]}; the store is read-only here")
