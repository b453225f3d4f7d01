"""What has finished survives: torn lines, killed processes, second holders."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from eval_assets.errors import EvaluationHeld, JournalCorrupt, NothingMeasured
from eval_assets.execution import journal as journals
from eval_assets.execution.journal import Journal
from eval_assets.model.runs import Evaluation, Run, RunOutput, ToolCall, Trajectory

BEGUN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def evaluation(identity: str = "e1", *, target: str = "prod", hours: int = 0) -> Evaluation:
    return Evaluation(
        evaluation_id=identity,
        suite="triage",
        target=target,
        case_set_hash="c",
        target_fingerprint="f",
        target_spec={"kind": "python"},
        runs_per_case=3,
        total_runs=3,
        nonce="n",
        started_at=BEGUN + timedelta(hours=hours),
    )


def run(index: int = 0, **output: Any) -> Run:
    return Run(
        case_name="a", case_hash="h", run_index=index, run_id=f"n-{index}", started_at=BEGUN,
        output=RunOutput(**output or {"final": "4"}),
    )  # fmt: skip


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal that was begun, holds two runs, and was let go."""
    with Journal.start(tmp_path, evaluation()) as journal:
        journal.append(run(0))
        journal.append(run(1))
    return journal.path


def test_a_journal_is_lines_of_json(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    messages = ({"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "assistant", "content": "4"})

    with Journal.start(tmp_path / "journals", evaluation()) as journal:
        journal.append(run(0, final="4", messages=messages))

    assert journal.path == tmp_path / "journals" / "triage.prod.e1.jsonl"
    header, entry = lines(journal.path)
    assert header == {"format": "eval_assets.journal.v1", "evaluation": evaluation().model_dump(mode="json")}
    assert entry == {
        "run": run(0, final="4", messages=messages).model_dump(mode="json", by_alias=True),
        "steps": 2,
        "tool_calls": ["look_up"],
        "output_digest": hashlib.blake2b(b"4\0look_up\0{}", digest_size=16).hexdigest(),
        "output_characters": 12,
    }


@pytest.mark.parametrize(
    "output",
    [
        {"final": "4"},
        {"messages": ({"role": "assistant"},), "trace_error": "journal lost"},
        {"messages": ({"role": "assistant", "tool_calls": 3},)},
    ],
    ids=["no messages", "trace error", "unreadable"],
)
def test_a_trajectory_that_is_not_known_is_null(tmp_path: Path, output: dict[str, Any]) -> None:
    with Journal.start(tmp_path, evaluation()) as journal:
        journal.append(run(0, **output))

    assert (lines(journal.path)[1]["steps"], lines(journal.path)[1]["tool_calls"]) == (None, None)


def test_a_stated_trajectory_is_journaled(tmp_path: Path) -> None:
    trajectory = Trajectory(steps=2, tool_calls=(ToolCall(name="look_up"),))

    with Journal.start(tmp_path, evaluation()) as journal:
        journal.append(run(0, final="4", trajectory=trajectory))

    entry = lines(journal.path)[1]
    assert (entry["steps"], entry["tool_calls"]) == (2, ["look_up"])
    assert Run.model_validate(entry["run"]).output.trajectory == trajectory


def test_what_is_no_json_does_not_stop_an_evaluation(tmp_path: Path) -> None:
    """A user's function may return anything in its messages; the line must be JSON that DuckDB reads."""
    odd = {"half \ud83d": "pair \ud83d", "nan": float("nan"), "object": object, "set": {1}, "when": BEGUN, 1: b"\xff"}
    messages = ({"role": "user", "content": "x", **{str(key): value for key, value in odd.items()}},)

    with Journal.start(tmp_path, evaluation()) as journal:
        journal.append(run(0, messages=messages))
        journal.append(run(1, messages=({"role": "user", "content": object},)))

    text = journal.path.read_text(encoding="utf-8")
    assert "NaN" not in text
    assert "\\ud83d" not in text
    assert [entry["run"]["run_index"] for entry in lines(journal.path)[1:]] == [0, 1]


def test_resuming_knows_what_has_finished(path: Path) -> None:
    with Journal.resume(path) as journal:
        assert journal.evaluation == evaluation()
        assert journal.finished == {("h", 0), ("h", 1)}
        journal.append(run(2))

    with Journal.resume(path) as journal:
        assert journal.finished == {("h", 0), ("h", 1), ("h", 2)}


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_torn_last_line_is_cut_off(path: Path, cut: int) -> None:
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(
            whole.splitlines(keepends=True)[-1][:-cut].replace(b'"run_index":1', b'"run_index":2')[: -cut or None]
        )

    with Journal.resume(path) as journal:
        assert journal.finished == {("h", 0), ("h", 1)}
        assert path.read_bytes() == whole
        journal.append(run(2))

    assert [entry["run"]["run_index"] for entry in lines(path)[1:]] == [0, 1, 2]


def test_a_last_line_that_only_lacks_its_end_is_kept(path: Path) -> None:
    path.write_bytes(path.read_bytes().rstrip(b"\n"))

    with Journal.resume(path) as journal:
        assert journal.finished == {("h", 0), ("h", 1)}
        journal.append(run(2))

    assert len(lines(path)) == 4


@pytest.mark.parametrize(
    "broken", [b"{", b"", b"\0\0\0\0", b"[]", b'{"run": {"case_hash": "h"}}', b'{"run": 3}', b"\xff"]
)
def test_a_corrupt_line_in_the_middle_is_refused_and_left_alone(path: Path, broken: bytes) -> None:
    header, _, last = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([header, broken, last, b""]))
    before = path.read_bytes()

    with pytest.raises(JournalCorrupt, match=f"{path}:2: "):
        Journal.resume(path)

    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "header", [b"", b"{", b'{"format": "eval_assets.journal.v2"}', b'{"format": "eval_assets.journal.v1"}']
)
def test_an_unreadable_header_is_refused(path: Path, header: bytes) -> None:
    path.write_bytes(header + b"\n")

    with pytest.raises(JournalCorrupt, match=f"{path}:1: "):
        Journal.resume(path)
    with pytest.raises(JournalCorrupt):
        journals.interrupted(path.parent, suite="triage", target="prod")


def test_a_second_holder_is_refused_with_the_first_ones_name(tmp_path: Path) -> None:
    with Journal.start(tmp_path, evaluation()) as journal:
        with pytest.raises(EvaluationHeld) as caught:
            Journal.resume(journal.path)
        with pytest.raises(EvaluationHeld):
            Journal.start(tmp_path, evaluation())
        assert caught.value.holder.startswith(f"process {os.getpid()} (")
        assert Path(sys.orig_argv[0]).name in caught.value.holder
        assert caught.value.holder in str(caught.value)
        journal.append(run(0))

    with Journal.resume(journal.path) as journal:
        assert journal.finished == {("h", 0)}


def test_nothing_is_left_beside_a_journal(path: Path) -> None:
    assert list(path.parent.iterdir()) == [path]


def test_discarding_leaves_nothing(path: Path) -> None:
    Journal.resume(path).discard()

    assert list(path.parent.iterdir()) == []
    with pytest.raises(NothingMeasured, match="has finished it"):
        Journal.resume(path)
    assert list(path.parent.iterdir()) == []


def test_interrupted_finds_the_targets_own_newest_first(tmp_path: Path) -> None:
    for identity, target, hours in (("e1", "prod", 1), ("e2", "prod", 3), ("e3", "prod", 2), ("e4", "prod2", 9)):
        Journal.start(tmp_path, evaluation(identity, target=target, hours=hours)).close()
    Journal.start(tmp_path, evaluation("e5", target="prod.other")).close()

    found = journals.interrupted(tmp_path, suite="triage", target="prod")

    assert [evaluation.evaluation_id for _, evaluation in found] == ["e2", "e3", "e1"]
    assert all(path.name == f"triage.prod.{evaluation.evaluation_id}.jsonl" for path, evaluation in found)


def test_nothing_is_interrupted_where_nothing_began(tmp_path: Path) -> None:
    assert journals.interrupted(tmp_path / "missing", suite="triage", target="prod") == []


def test_an_evaluation_given_up_is_kept_and_not_resumed(path: Path) -> None:
    before = path.read_bytes()

    journals.set_aside(path)

    assert journals.interrupted(path.parent, suite="triage", target="prod") == []
    assert [kept.read_bytes() for kept in path.parent.iterdir()] == [before]


def test_an_evaluation_under_way_cannot_be_given_up(path: Path) -> None:
    with Journal.resume(path), pytest.raises(EvaluationHeld):
        journals.set_aside(path)

    assert path.exists()


WRITER = """
import sys
from pathlib import Path
from eval_assets.execution.journal import Journal
from eval_assets.model.runs import Run

journal = Journal.resume(Path(sys.argv[1]))
run = Run.model_validate_json(sys.stdin.readline())
for index in range(10**9):
    journal.append(run.model_copy(update={"run_index": index}))
    print(index, flush=True)
"""


@pytest.fixture
def writer(path: Path) -> Callable[[], subprocess.Popen[str]]:
    """A process that holds the journal and appends until it is killed, saying each run that has finished."""

    def begin() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdin is not None
        process.stdin.write(run(0, final="x" * 20_000).model_dump_json(by_alias=True) + "\n")
        process.stdin.flush()
        return process

    return begin


def test_kill_9_loses_no_finished_run(path: Path, writer: Callable[[], subprocess.Popen[str]]) -> None:
    with writer() as process:
        assert process.stdout is not None
        said = [int(process.stdout.readline()) for _ in range(200)]

        with pytest.raises(EvaluationHeld, match=f"process {process.pid} \\("):
            Journal.resume(path)
        process.send_signal(signal.SIGKILL)
        said += [int(line) for line in process.stdout if line.endswith("\n")]

    with Journal.resume(path) as journal:
        assert {("h", index) for index in said} <= journal.finished
        journal.append(run(10**9))
    assert all("run" in entry for entry in lines(path)[1:])
