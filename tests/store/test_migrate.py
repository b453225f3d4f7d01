"""The schema's history is applied once, whole, and never backwards."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from eval_assets.errors import StoreUnreadable
from eval_assets.store import migrate
from eval_assets.store.store import Store
from tests.store.made import made_promotion


def test_migrations_are_numbered_without_gaps() -> None:
    versions = [migration.version for migration in migrate.migrations()]

    assert versions == list(range(1, len(versions) + 1))


def test_each_migration_is_recorded_once(store: Store) -> None:
    for number in range(2):
        store.append_promotion(made_promotion(number))

    _, rows = store.select("select version, name from schema_migrations order by version")

    assert rows == [(migration.version, migration.name) for migration in migrate.migrations()]


def test_a_store_of_a_newer_version_is_refused(store: Store) -> None:
    store.append_promotion(made_promotion(1))
    with duckdb.connect(str(store.path)) as newer:
        newer.execute("insert into schema_migrations values (99, '0099_from_the_future', now())")

    with pytest.raises(StoreUnreadable, match=r"newer version .* schema is 99 \(0099_from_the_future\).*Upgrade"):
        store.latest_promotion("support")
    with pytest.raises(StoreUnreadable, match="newer version"):
        store.append_promotion(made_promotion(2))


def test_a_schema_that_is_behind_is_migrated_by_a_read(path: Path) -> None:
    """An empty database is a store before its first migration."""
    path.parent.mkdir()
    duckdb.connect(str(path)).close()

    assert Store(path).latest_promotion("support") is None
    assert Store(path).select("select max(version) from schema_migrations")[1] == [(migrate.migrations()[-1].version,)]


def test_a_step_is_added_to_an_older_store(store: Store) -> None:
    store.append_promotion(made_promotion(1))
    step = migrate.Migration(migrate.migrations()[-1].version + 1, "more", "create table more (a integer)")

    with duckdb.connect(str(store.path)) as database:
        migrate.migrate(database, store.path, [*migrate.migrations(), step])

        assert database.execute("select count(*) from more").fetchone() == (0,)
        assert database.execute("select count(*) from promotions").fetchone() == (1,)


def test_a_migration_that_fails_changes_nothing() -> None:
    steps = [migrate.Migration(1, "good", "create table good (a integer)"), migrate.Migration(2, "bad", "create tabel")]

    with duckdb.connect() as database:
        with pytest.raises(duckdb.ParserException):
            migrate.migrate(database, Path("memory"), steps)

        assert database.execute("show tables").fetchall() == []


@pytest.mark.parametrize(
    "definition",
    ["select '20240101' as version", "select '1' as version, 'a' as name", "select 1 as version, 'a' as name"],
)
def test_the_migrations_of_another_program_are_not_ours(path: Path, definition: str) -> None:
    path.parent.mkdir()
    with duckdb.connect(str(path)) as other:
        other.execute("create table schema_migrations as " + definition)

    with pytest.raises(StoreUnreadable, match="not a store of eval_assets"):
        Store(path).latest_promotion("support")
