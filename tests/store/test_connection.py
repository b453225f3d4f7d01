"""Threads and processes take turns at one file, and whoever cannot have it is told why."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from eval_assets.errors import EvalError, StoreError, StoreLocked, StoreUnreadable
from eval_assets.model.cases import CaseSet
from eval_assets.store import connection
from eval_assets.store.store import Store
from tests.store.made import made_promotion

HOLD = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"

APPEND = """
import sys
from pathlib import Path
from eval_assets.store.store import Store
from tests.store.made import made_promotion

store, first = Store(Path(sys.argv[1])), int(sys.argv[2])
print('ready', flush=True)
sys.stdin.readline()
for number in range(first, first + 20):
    store.append_promotion(made_promotion(number))
"""


def started(*arguments: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


@pytest.fixture
def holder(store: Store, case_set: CaseSet) -> Iterator[subprocess.Popen[str]]:
    store.append_case_set("support", case_set)
    process = started(HOLD, str(store.path))
    yield process
    process.communicate(timeout=20)


def test_a_held_store_names_its_holder_after_a_wait(holder: subprocess.Popen[str], path: Path) -> None:
    store = Store(path, wait_s=0.3)

    for ask in (store.latest_promotion, lambda _: store.append_promotion(made_promotion(1))):
        with pytest.raises(StoreLocked, match=rf"held for longer than the 0\.3 s we wait.*PID {holder.pid}") as raised:
            ask("support")
        assert raised.value.holder.startswith(f"{sys.executable} -c import duckdb")
        assert raised.value.holder.endswith(f"(PID {holder.pid})")


def test_a_store_that_is_let_go_in_time_is_written(holder: subprocess.Popen[str], path: Path) -> None:
    letting_go = threading.Timer(0.2, lambda: holder.stdin and holder.stdin.close())
    letting_go.start()

    Store(path, wait_s=20).append_promotion(made_promotion(1))

    letting_go.join()
    holder.wait(timeout=20)
    holder.stdin = None
    assert Store(path).latest_promotion("support") == made_promotion(1)


def test_a_connection_of_this_process_is_named_as_such(store: Store, case_set: CaseSet) -> None:
    store.append_case_set("support", case_set)

    with duckdb.connect(str(store.path)), pytest.raises(StoreLocked, match="another duckdb connection of this process"):
        Store(store.path, wait_s=0.05).latest_promotion("support")


def test_two_processes_that_write_at_once_both_succeed(path: Path) -> None:
    """From the very first write on, when neither has made the file yet."""
    processes = [started(APPEND, str(path), first) for first in ("100", "200")]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)

    assert [process.returncode for process in processes] == [0, 0]
    assert Store(path).select("select count(distinct promotion_id) from promotions")[1] == [(40,)]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_threads_that_write_and_read_at_once_queue(store: Store) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            store.append_promotion(made_promotion(number))
            store.latest_promotion("support")
            store.select("select 1")
        except BaseException as error:  # noqa: BLE001 - handed to the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert store.select("select count(*) from promotions")[1] == [(8,)]


def test_a_read_store_is_free_between_two_batches(store: Store) -> None:
    for number in range(3):
        store.append_promotion(made_promotion(number))

    with duckdb.connect(str(store.path)) as other:
        assert other.execute("select count(*) from promotions").fetchone() == (3,)


@pytest.mark.parametrize("content", [b"", b"not a database\n" * 1000, b"SQLite format 3\x00" + bytes(5000)])
def test_a_file_that_is_no_database_is_unreadable(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)

    with pytest.raises(StoreUnreadable, match=r"cannot be opened .* bytes of something else.*EVAL_ASSETS_HOME"):
        Store(path).latest_promotion("support")
    with pytest.raises(StoreUnreadable, match="cannot be opened as a store"):
        Store(path).append_promotion(made_promotion(1))
    assert path.read_bytes() == content


@pytest.mark.parametrize("kept", [100, 5000, 20_000])
def test_a_cut_off_file_is_unreadable(store: Store, kept: int) -> None:
    store.append_promotion(made_promotion(1))
    content = store.path.read_bytes()
    store.path.write_bytes(content[:kept])

    with pytest.raises(StoreUnreadable):
        store.latest_promotion("support")


def test_damaged_blocks_are_unreadable(store: Store) -> None:
    store.append_promotion(made_promotion(1))
    content = bytearray(store.path.read_bytes())
    for place in range(3 * 4096, len(content), 512):
        content[place] ^= 0xFF
    store.path.write_bytes(content)

    with pytest.raises(StoreUnreadable):
        store.latest_promotion("support")


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreadable, match="directory"):
        Store(tmp_path).latest_promotion("support")


def test_a_database_of_someone_else_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with duckdb.connect(str(path)) as other:
        other.execute("create table sales as select 1 as price")

    with pytest.raises(StoreUnreadable, match="not a store of eval_assets: it holds tables sales"):
        Store(path).append_promotion(made_promotion(1))
    with duckdb.connect(str(path)) as other:
        assert other.execute("show tables").fetchall() == [("sales",)]


def test_a_file_is_of_the_layout_that_both_majors_read(store: Store) -> None:
    store.append_promotion(made_promotion(1))

    _, rows = store.select("select tags['storage_version'] from duckdb_databases() where database_name = 'eval'")

    assert str(rows[0][0]).startswith("v1.0.0")


def test_every_error_of_duckdb_has_a_name_of_ours(path: Path) -> None:
    kinds = [kind for kind in vars(duckdb).values() if isinstance(kind, type) and issubclass(kind, duckdb.Error)]

    assert len(kinds) > 20
    for kind in kinds:
        with pytest.raises(EvalError) as raised, connection.translated(path):
            raise kind("words of DuckDB")
        assert isinstance(raised.value, StoreError)
        assert "words of DuckDB" in str(raised.value)


def test_an_error_in_a_transaction_undoes_it(store: Store) -> None:
    store.append_promotion(made_promotion(1))

    with pytest.raises(StoreError, match="nowhere"), connection.writing(store.path, wait_s=1) as door:
        door.execute("delete from promotions; insert into nowhere values (1)")

    assert store.latest_promotion("support") == made_promotion(1)
