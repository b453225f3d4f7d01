"""
The journal of one evaluation: what has finished survives `kill -9`, and is never asked for twice.

A journal is a file of JSON lines: a header with the evaluation, then a line per finished run. It belongs to one process
at a time. The runs reach the store from here in one transaction; querying them is the store's work.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import math
import os
import shlex
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Self

from eval_assets.errors import EvaluationHeld, JournalCorrupt, NothingMeasured
from eval_assets.model import gojson
from eval_assets.model.runs import Evaluation, Run, RunOutput, Usage

FORMAT = "eval_assets.journal.v1"
_SYNC_EVERY_S = 0.1

RunKey = tuple[str, int]
"""(case_hash, run_index): what a run is asked for once by."""


class Journal:
    """An evaluation's finished runs, held by this process until closed. A context manager."""

    def __init__(
        self, path: Path, evaluation: Evaluation, finished: set[RunKey], *, descriptor: int, lock: _Lock
    ) -> None:
        self.path = path
        self.evaluation = evaluation
        self.finished = finished
        """Keys of the runs the journal holds; `append` adds to them."""
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size
        self._lock = lock
        self._synced_at = time.monotonic()
        self._closed = False

    @classmethod
    def start(cls, folder: Path, evaluation: Evaluation) -> Self:
        """
        Begin the journal of a new evaluation in `folder`, which is made where it is missing.

        Raises:
            EvaluationHeld: Another process executes this very evaluation.
        """
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{evaluation.suite}.{evaluation.target}.{evaluation.evaluation_id}.jsonl"
        with contextlib.ExitStack() as undo:
            lock = _Lock.take(path)
            undo.callback(lock.release)
            _write_header(path, evaluation)
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
            undo.pop_all()
            return cls(path, evaluation, set(), descriptor=descriptor, lock=lock)

    @classmethod
    def resume(cls, path: Path) -> Self:
        """
        Take up an interrupted evaluation: read what has finished, and cut off a last line that was torn in the writing.

        Raises:
            EvaluationHeld: Another process is executing it.
            JournalCorrupt: A line that is not the last cannot be read; nothing was changed.
            NothingMeasured: The journal is gone; whoever held it has finished.
        """
        if not path.exists():
            raise _gone(path)
        with contextlib.ExitStack() as undo:
            lock = _Lock.take(path)
            undo.callback(lock.release)
            evaluation, finished = _read_and_repair(path)
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
            undo.pop_all()
            return cls(path, evaluation, finished, descriptor=descriptor, lock=lock)

    def append(self, run: Run) -> None:
        """Keep a finished run: once this returns, no crash of this process loses it."""
        line = _line(run)
        try:
            _write(self._descriptor, line)
        except OSError:
            # Half a line in the middle would make the whole journal unreadable; half a line cut off costs one run.
            os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(line)
        self.finished.add((run.case_hash, run.run_index))
        self._sync_now_and_then()

    def usages(self) -> Iterator[tuple[Usage, bool]]:
        """What each kept run used, and whether it was answered at all."""
        with self.path.open("rb") as file:
            file.readline()
            for line in file:
                output = json.loads(line)["run"]["output"]
                yield Usage.model_validate(output.get("usage") or {}), not output.get("unavailable")

    def close(self) -> None:
        """Make everything durable and let others have the evaluation. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        try:
            os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)
            self._lock.release()

    def discard(self) -> None:
        """Remove the journal, once the store has the evaluation."""
        self.path.unlink(missing_ok=True)
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sync_now_and_then(self) -> None:
        # The kernel keeps what a killed process has written; syncing guards against a power cut, and is not free.
        if time.monotonic() - self._synced_at >= _SYNC_EVERY_S:
            os.fsync(self._descriptor)
            self._synced_at = time.monotonic()


def interrupted(folder: Path, *, suite: str, target: str) -> list[tuple[Path, Evaluation]]:
    """
    The journals of a target that were begun and not brought to the store, newest first. Reads headers only.

    Raises:
        JournalCorrupt: A header cannot be read.
    """
    pattern = f"{glob.escape(f'{suite}.{target}')}.*.jsonl"
    found = [(path, evaluation) for path in folder.glob(pattern) if (evaluation := _header_of(path)) is not None]
    of_target = [
        (path, evaluation) for path, evaluation in found if (evaluation.suite, evaluation.target) == (suite, target)
    ]
    return sorted(of_target, key=lambda entry: entry[1].started_at, reverse=True)


def set_aside(path: Path) -> None:
    """
    Give an interrupted evaluation up: its journal is kept under another name, where `interrupted` does not look.

    Raises:
        EvaluationHeld: Another process is executing it.
    """
    lock = _Lock.take(path)
    try:
        with contextlib.suppress(FileNotFoundError):
            path.rename(path.with_suffix(".set_aside"))
    finally:
        lock.release()


def _header_of(path: Path) -> Evaluation | None:
    """The evaluation of a journal; None when its holder has just finished and removed it."""
    try:
        with path.open("rb") as file:
            return _evaluation(file.readline(), path)
    except FileNotFoundError:
        return None


def _write_header(path: Path, evaluation: Evaluation) -> None:
    # Written aside and renamed, so that a journal that can be seen always has a whole header.
    header = json.dumps({"format": FORMAT, "evaluation": evaluation.model_dump(mode="json")}, ensure_ascii=False)
    draft = path.with_name(path.name + ".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        _write(descriptor, gojson.utf8(header) + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    draft.rename(path)


def _write(descriptor: int, line: bytes) -> None:
    written = os.write(descriptor, line)
    while written < len(line):
        written += os.write(descriptor, line[written:])


def _line(run: Run) -> bytes:
    try:
        body = run.model_dump_json(by_alias=True, fallback=repr).encode()
    except ValueError:
        body = json.dumps(_plain(run.model_dump(by_alias=True)), ensure_ascii=False).encode()
    tail = json.dumps(_read_off(run.output), ensure_ascii=False)
    return b'{"run":' + body + b"," + gojson.utf8(tail)[1:] + b"\n"


def _read_off(output: RunOutput) -> dict[str, Any]:
    """What the store keeps beside a run and need not work out again: its steps, its tools, and what tells copies."""
    try:
        trajectory = None if output.trace_error else output.trajectory
        said = output.said
    except ValueError:
        trajectory, said = None, None
    known = trajectory is not None and (output.messages or output.stated_trajectory)
    return {
        "steps": trajectory.steps if trajectory and known else None,
        "tool_calls": list(trajectory.tool_names) if trajectory and known else None,
        "output_digest": said.digest if said else None,
        "output_characters": said.characters if said else None,
    }


def _plain(value: Any) -> Any:
    """Any value as JSON that every reader takes: no half surrogate pairs, no NaN, and what is no JSON as its repr."""
    if isinstance(value, str):
        return gojson.utf8(value).decode()
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {_plain(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    return _plain(repr(value))


def _read_and_repair(path: Path) -> tuple[Evaluation, set[RunKey]]:
    try:
        file = path.open("r+b")
    except FileNotFoundError:
        raise _gone(path) from None
    with file:
        evaluation = _evaluation(file.readline(), path)
        finished, whole, problem = _read_runs(file, path)
        if problem is not None:
            file.truncate(whole)
        else:
            _end_last_line(file)
    return evaluation, finished


def _read_runs(file: BinaryIO, path: Path) -> tuple[set[RunKey], int, str | None]:
    """Keys of the readable runs, where they end, and what is wrong with the last line, if anything is."""
    finished: set[RunKey] = set()
    whole = file.tell()
    problem: str | None = None
    for number, line in enumerate(file, start=2):
        if problem is not None:
            raise JournalCorrupt(_corrupt(path, number - 1, problem))
        try:
            finished.add(_key(line))
            whole += len(line)
        except (ValueError, KeyError, TypeError) as error:
            problem = f"{type(error).__name__}: {error}"
    return finished, whole, problem


def _end_last_line(file: BinaryIO) -> None:
    file.seek(-1, os.SEEK_END)
    if file.read(1) != b"\n":
        file.write(b"\n")


def _key(line: bytes) -> RunKey:
    run = json.loads(line)["run"]
    case_hash, run_index = run["case_hash"], run["run_index"]
    if not isinstance(case_hash, str) or not isinstance(run_index, int) or not isinstance(run["output"], dict):
        raise ValueError("no run with case_hash, run_index and output")
    return case_hash, run_index


def _evaluation(line: bytes, path: Path) -> Evaluation:
    try:
        header = json.loads(line)
        found = header.get("format") if isinstance(header, dict) else None
        if found != FORMAT:
            raise ValueError(f"found format {found!r}, wanted {FORMAT!r}")
        return Evaluation.model_validate(header.get("evaluation"))
    except ValueError as error:
        raise JournalCorrupt(_corrupt(path, 1, str(error))) from error


def _corrupt(path: Path, line: int, problem: str) -> str:
    return (
        f"{path}:{line}: this line of the journal cannot be read ({problem}). The file was left as it is; "
        "mend the line to keep its finished runs, or move the file away and run again."
    )


def _gone(path: Path) -> NothingMeasured:
    return NothingMeasured(
        f"{path} is gone: the process that held this evaluation has finished it. Look at its report."
    )


class _Lock:
    """A lock beside a journal that names its holder. The kernel drops it with the process, however that ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def take(cls, journal: Path) -> Self:
        path = journal.with_name(journal.name + ".lock")
        while (descriptor := _lock(path, journal)) is None:
            pass
        signature = f"process {os.getpid()} ({shlex.join(sys.orig_argv)})\n"
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, signature.encode(errors="replace"), 0)
        return cls(path, descriptor)

    def release(self) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


def _lock(path: Path, journal: Path) -> int | None:
    """The descriptor of the locked file; None where its last holder removed it meanwhile, and another try is due."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 4096, 0).decode(errors="replace").strip() or "a process that has just begun"
        os.close(descriptor)
        advice = "Wait for it, or stop it and run again: nothing that has finished is lost."
        raise EvaluationHeld(f"{journal} is being executed by {holder}. {advice}", holder=holder) from None
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    os.close(descriptor)
    return None
