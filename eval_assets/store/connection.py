"""
The DuckDB file as a door: opening, waiting for others, one transaction, and DuckDB's errors in our words.

What is read or written behind the door belongs to the modules named for their nouns.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval_assets.errors import EvalError, StoreError, StoreLocked, StoreUnreadable
from eval_assets.store import migrate

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from duckdb import Error as DuckDBError

_FIRST_DELAY_S = 0.005
_LONGEST_DELAY_S = 0.25
_MAGIC, _MAGIC_START, _MAGIC_END = b"DUCK", 8, 12
_CONFLICTING_LOCK = re.compile(r"Conflicting lock is held in (?P<program>.*?) ?\(PID (?P<pid>\d+)\)")
_IN_THIS_PROCESS = ("different configuration than existing connections", "already attached", "Unique file handle")
_DAMAGED = ("corrupt", "checksum", "not a valid DuckDB", "Could not read enough bytes", "Failed to load metadata")

# One thread at a time per file, because DuckDB refuses a second way of opening a file that this process has open.
_queues: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)
_queues_guard = threading.Lock()


@contextlib.contextmanager
def reading(path: Path, *, wait_s: float, sealed: bool = False) -> Iterator[Connection]:
    """
    One read-only transaction. A store of an older schema is migrated first.

    Args:
        path: The DuckDB file; it must exist.
        wait_s: How long to wait for whoever holds the file.
        sealed: Refuse files, network and extensions too: for SQL that is not ours.

    Raises:
        StoreLocked: Another process held the file for longer than `wait_s`.
        StoreUnreadable: Damaged, not a DuckDB file, not one of ours, or written by a newer version.
    """
    with _queued(path), translated(path), _opened_up_to_date(path, wait_s=wait_s, sealed=sealed) as connection:
        connection.begin()
        yield connection


@contextlib.contextmanager
def writing(path: Path, *, wait_s: float) -> Iterator[Connection]:
    """
    One read-write transaction: committed when the block ends, never happened when it raises or the process dies.

    The file is made where there is none, and migrated where its schema is older.

    Raises:
        StoreLocked: Another process held the file for longer than `wait_s`.
        StoreUnreadable: Damaged, not a DuckDB file, not one of ours, or written by a newer version.
        StoreError: DuckDB could not write, for example on a full disk.
    """
    with _queued(path), translated(path):
        if not path.exists():
            _create(path, wait_s=wait_s)
        with _opened(path, wait_s=wait_s) as connection:
            migrate.migrate(connection, path)
            connection.begin()
            yield connection
            connection.commit()


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Give DuckDB's errors our names."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise _translation(path, error) from error


def _translation(path: Path, error: DuckDBError) -> EvalError:
    import duckdb

    words = str(error)
    broken = isinstance(error, duckdb.FatalException | duckdb.InternalException | duckdb.SerializationException)
    if broken or any(word.lower() in words.lower() for word in _DAMAGED):
        return StoreUnreadable(
            f"{path} cannot be read as a store: {words}. Restore it from a copy, or move it away to begin a new one"
        )
    return StoreError(f"{path}: DuckDB could not do its work: {words}")


@contextlib.contextmanager
def _queued(path: Path) -> Iterator[None]:
    with _queues_guard:
        queue = _queues[path.resolve()]
    with queue:
        yield


@contextlib.contextmanager
def _opened_up_to_date(path: Path, *, wait_s: float, sealed: bool) -> Iterator[Connection]:
    with _opened(path, wait_s=wait_s, read_only=True, sealed=sealed) as connection:
        if not migrate.is_behind(connection, path):
            yield connection
            return
    with _opened(path, wait_s=wait_s) as connection:
        migrate.migrate(connection, path)
    with _opened(path, wait_s=wait_s, read_only=True, sealed=sealed) as connection:
        yield connection


@contextlib.contextmanager
def _opened(path: Path, *, wait_s: float, read_only: bool = False, sealed: bool = False) -> Iterator[Connection]:
    connection = _open(path, wait_s=wait_s, read_only=read_only, sealed=sealed)
    try:
        connection.execute("set TimeZone = 'UTC'")
        yield connection
    finally:
        connection.close()


def _open(path: Path, *, wait_s: float, read_only: bool, sealed: bool) -> Connection:
    import duckdb

    deadline, delay = time.monotonic() + wait_s, _FIRST_DELAY_S
    config = _config(read_only=read_only, sealed=sealed)
    while True:
        try:
            return duckdb.connect(str(path), read_only=read_only, config=config)
        except duckdb.Error as error:
            remaining = deadline - time.monotonic()
            if not _is_held(error):
                raise _not_opened(path, error) from error
            if remaining <= 0:
                raise _locked(path, error, wait_s) from error
        # Jitter, so that processes that failed together do not try again together.
        time.sleep(min(remaining, delay * random.uniform(0.5, 1.5)))  # noqa: S311 - nothing to guess here
        delay = min(delay * 1.5, _LONGEST_DELAY_S)


def _config(*, read_only: bool, sealed: bool) -> dict[str, Any]:
    # No extensions, because DuckDB would otherwise download one when it is handed, say, an SQLite file.
    config: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    if sealed:
        return config | {"enable_external_access": "false"}
    # One thread, because a load then costs a third less CPU and the everyday store is small.
    config["threads"] = 1
    if not read_only:
        # v1.0.0 is the layout that duckdb 1 and 2 both read; a checkpoint at each commit spares the write-ahead log.
        config |= {"storage_compatibility_version": "v1.0.0", "checkpoint_threshold": "1KB"}
    return config


def _create(path: Path, *, wait_s: float) -> None:
    """
    Put a whole, migrated store in place at once.

    DuckDB makes a file first and its header later: a process that dies between, or one that opens it then, would find
    something that is no database. So it is made under another name and linked, which fails where someone was faster.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{uuid.uuid4().hex}.new")
    try:
        with _opened(fresh, wait_s=wait_s) as connection:
            migrate.migrate(connection, fresh)
        # Suppressed, because some file systems have no links; then DuckDB makes the file in place.
        with contextlib.suppress(OSError):
            path.hardlink_to(fresh)
    finally:
        fresh.unlink(missing_ok=True)


def _is_held(error: DuckDBError) -> bool:
    words = str(error)
    return "Could not set lock" in words or any(phrase in words for phrase in _IN_THIS_PROCESS)


def _locked(path: Path, error: DuckDBError, wait_s: float) -> StoreLocked:
    holder = _holder(str(error))
    return StoreLocked(
        f"{path} was held for longer than the {wait_s:g} s we wait, by {holder}. "
        "Try again when that process is done, or close it; a DuckDB shell or a notebook holds a file while it is open",
        holder=holder,
    )


def _holder(words: str) -> str:
    match = _CONFLICTING_LOCK.search(words)
    if match is None:
        in_this_process = any(phrase in words for phrase in _IN_THIS_PROCESS)
        return "another duckdb connection of this process" if in_this_process else f"another process ({words})"
    pid = int(match["pid"])
    return f"{_command(pid) or match['program'] or 'a process'} (PID {pid})"


def _command(pid: int) -> str | None:
    import psutil

    try:
        return " ".join(psutil.Process(pid).cmdline()) or None
    except psutil.Error:
        return None


def _not_opened(path: Path, error: DuckDBError) -> StoreUnreadable:
    return StoreUnreadable(
        f"{path} cannot be opened as a store: wanted a DuckDB file of eval_assets, found {_found(path, error)}. "
        "Point EVAL_ASSETS_HOME elsewhere, restore the file from a copy, or move it away to begin a new one"
    )


def _found(path: Path, error: DuckDBError) -> str:
    # Looked at here, because of a file in another database's format DuckDB only says which extension it lacks.
    if path.is_file() and os.access(path, os.R_OK):
        with path.open("rb") as file:
            if file.read(_MAGIC_END)[_MAGIC_START:] != _MAGIC:
                return f"{path.stat().st_size} bytes of something else"
    return str(error).strip().rstrip(".")
