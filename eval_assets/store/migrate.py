"""The schema's history: numbered files, each applied once and recorded in `schema_migrations`. No data of ours."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from eval_assets.errors import StoreUnreadable
from eval_assets.store import queries

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


class Migration(NamedTuple):
    """One step of the schema."""

    version: int
    name: str
    """The file's name without its ending."""
    sql: str


@cache
def migrations() -> tuple[Migration, ...]:
    """Every migration this version knows, in order."""
    folder = resources.files("eval_assets.store").joinpath("migrations")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return tuple(
        Migration(int(file.name.partition("_")[0]), file.name.removesuffix(".sql"), file.read_text(encoding="utf-8"))
        for file in files
    )


def is_behind(connection: Connection, path: Path) -> bool:
    """
    Whether the store's schema is older than this version's.

    Raises:
        StoreUnreadable: The database is not one of ours, or was written by a newer version.
    """
    return _applied(connection, path) < migrations()[-1].version


def migrate(connection: Connection, path: Path, steps: Sequence[Migration] | None = None) -> None:
    """
    Bring the schema up to date, all of it or nothing of it.

    Raises:
        StoreUnreadable: The database is not one of ours, or was written by a newer version.
    """
    steps = migrations() if steps is None else steps
    applied = _applied(connection, path)
    missing = [step for step in steps if step.version > applied]
    if not missing:
        return
    connection.begin()
    try:
        queries.run(connection, "create_schema_migrations")
        for step in missing:
            connection.execute(step.sql)
            queries.run(connection, "record_migration", version=step.version, name=step.name)
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _applied(connection: Connection, path: Path) -> int:
    """The version of the newest migration applied; 0 in an empty database."""
    applied = {row["version"]: row["name"] for row in _recorded(connection, path)}
    newest, known = max(applied, default=0), migrations()[-1].version
    if newest > known:
        raise StoreUnreadable(
            f"{path} was written by a newer version of eval_assets: its schema is {newest} ({applied[newest]}), "
            f"this version knows up to {known}. Upgrade eval-assets, or point EVAL_ASSETS_HOME elsewhere"
        )
    for step in migrations():
        if step.version in applied and applied[step.version] != step.name:
            raise _foreign(path, f"schema_migrations with {applied[step.version]!r} as number {step.version}")
    return newest


def _recorded(connection: Connection, path: Path) -> list[queries.Row]:
    import duckdb

    try:
        recorded = queries.rows(connection, "applied_migrations")
    except duckdb.CatalogException as error:
        tables = [row["table_name"] for row in queries.rows(connection, "table_names")]
        if tables:
            raise _foreign(path, f"tables {', '.join(tables)} and no schema_migrations") from error
        return []
    except duckdb.BinderException as error:
        raise _foreign(path, "a schema_migrations table of another program") from error
    if not all(isinstance(row["version"], int) for row in recorded):
        raise _foreign(path, "a schema_migrations table of another program")
    return recorded


def _foreign(path: Path, found: str) -> StoreUnreadable:
    return StoreUnreadable(
        f"{path} is a DuckDB database, but not a store of eval_assets: it holds {found}. "
        "Point EVAL_ASSETS_HOME elsewhere, or move the file away"
    )
