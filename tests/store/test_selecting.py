"""A user's select is answered; what would write or reach out is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval_assets.errors import ConfigError, NothingMeasured
from eval_assets.store.store import Store
from tests.store.made import made_promotion


@pytest.fixture
def kept(store: Store) -> Store:
    store.append_promotion(made_promotion(1))
    return store


def test_a_select_gives_columns_and_rows(kept: Store) -> None:
    assert kept.select("select suite, 1 as one from promotions;") == (["suite", "one"], [("support", 1)])


@pytest.mark.parametrize(
    "sql", ["from promotions", "show tables", "describe promotions", "explain select 1", "values (1)"]
)
def test_what_only_asks_is_answered(kept: Store, sql: str) -> None:
    columns, rows = kept.select(sql)

    assert columns
    assert rows


@pytest.mark.parametrize(
    "sql",
    [
        "delete from promotions",
        "insert into promotions (suite) values ('x')",
        "create table more (a integer)",
        "create temp table more as select 1",
        "explain analyze delete from promotions",
        "copy promotions to '{folder}/out.csv'",
        "export database '{folder}/out'",
        "attach '{folder}/other.duckdb' as other",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "pragma enable_profiling",
        "call pragma_version()",
        "checkpoint",
        "begin",
        "select * from read_csv('/etc/hostname')",
        "select * from read_text('/etc/hostname')",
        "select * from glob('/etc/*')",
        "from '/etc/hostname'",
        "from 'https://127.0.0.1:1/a.parquet'",
        "select 1; delete from promotions",
        "select 1; select 2",
        "",
        "  -- nothing",
        "selekt 1",
        "select * from nowhere",
        "select cast('a' as integer)",
    ],
)
def test_what_writes_reaches_out_or_is_wrong_is_refused(kept: Store, tmp_path: Path, sql: str) -> None:
    with pytest.raises(ConfigError):
        kept.select(sql.format(folder=tmp_path))

    assert [file.name for file in tmp_path.iterdir()] == ["home"]
    assert kept.select("select count(*) from promotions")[1] == [(1,)]


def test_a_refusal_says_what_is_wanted_in_duckdbs_words_where_it_has_some(kept: Store) -> None:
    with pytest.raises(ConfigError, match="wanted a select, found DELETE; the store is read-only here"):
        kept.select("delete from promotions")
    with pytest.raises(ConfigError, match="Table with name nowhere does not exist"):
        kept.select("select * from nowhere")


def test_a_store_that_does_not_exist_is_nothing_measured(store: Store) -> None:
    with pytest.raises(NothingMeasured, match="run a target of the suite first"):
        store.select("select 1")
