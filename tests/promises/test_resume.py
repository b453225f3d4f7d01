"""A run that was paid for is never lost, and never paid for twice."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

Spawn = Callable[..., "subprocess.Popen[str]"]
Call = Callable[..., "subprocess.CompletedProcess[str]"]


def rows(call: Call, statement: str) -> list[dict[str, Any]]:
    said = call("sql", statement, "--json")
    assert said.returncode == 0, said.stderr
    read: list[dict[str, Any]] = json.loads(said.stdout)
    return read


def kill_in_the_middle(server: Any, spawn: Spawn, *, after: int) -> None:
    """Kill an evaluation while the server keeps it waiting, so many answers later."""
    server.hold(after=after)
    running = spawn("run", ".", "old")
    assert server.held.wait(60)
    running.kill()
    running.wait()
    server.release()
    assert server.idle.wait(60)  # else what was sent and not read yet would be counted later


def test_kill_9_loses_nothing_that_finished(server: Any, spawn: Spawn, call: Call) -> None:
    """Killed twice in the middle: each finished run was asked for once; only those in flight are asked again."""
    for after in (11, 23):
        kill_in_the_middle(server, spawn, after=after)
    finished = call("run", ".", "old")

    assert finished.returncode == 0, finished.stderr
    (count,) = rows(call, "select count(*) as n, count(distinct (case_hash, run_index)) as d from run_outputs")
    assert count == {"n": 40, "d": 40}
    times = Counter(body["messages"][-1]["content"] for body in server.asked)
    in_flight = 2 * 4
    assert 40 <= sum(times.values()) <= 40 + in_flight


def test_an_interrupted_evaluation_has_no_report(server: Any, spawn: Spawn, call: Call) -> None:
    kill_in_the_middle(server, spawn, after=7)

    assert call("report", ".", "old").returncode == 3


def test_a_resumed_evaluation_is_one_evaluation(server: Any, spawn: Spawn, call: Call, project: Path) -> None:
    kill_in_the_middle(server, spawn, after=7)
    call("run", ".", "old")

    (evaluation,) = rows(call, "select evaluation_id, nonce from evaluations")
    (runs,) = rows(
        call, "select count(distinct run_id) as n, min(split_part(run_id, '-', 1)) as nonce from run_outputs"
    )
    assert runs == {"n": 40, "nonce": evaluation["nonce"]}
    assert list((project / ".eval_assets" / "journals").glob("*.jsonl")) == []


def test_ctrl_c_keeps_what_finished_and_says_so(server: Any, spawn: Spawn, call: Call) -> None:
    server.hold(after=9)
    running = spawn("run", ".", "old")
    assert server.held.wait(30)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=100)
    server.release()
    assert server.idle.wait(60)

    assert running.returncode == 3
    assert "Traceback" not in said
    kept = re.search(r"(\d+) of 40 runs are kept", said)
    assert kept is not None
    asked = len(server.asked)
    assert call("run", ".", "old").returncode == 0
    assert len(server.asked) - asked == 40 - int(kept[1])


def test_new_begins_again_and_loses_nothing(server: Any, spawn: Spawn, call: Call, project: Path) -> None:
    kill_in_the_middle(server, spawn, after=9)
    asked = len(server.asked)

    assert call("run", ".", "old", "--new").returncode == 0

    assert len(server.asked) - asked == 40
    kept = list((project / ".eval_assets" / "journals").iterdir())
    assert len(kept) == 1
    assert kept[0].name.endswith(".set_aside")


def test_a_second_process_is_told_who_is_at_it(server: Any, spawn: Spawn, call: Call) -> None:
    server.hold(after=3)
    running = spawn("run", ".", "old")
    assert server.held.wait(30)

    second = call("run", ".", "old")
    server.release()

    assert second.returncode == 3
    assert str(running.pid) in second.stderr
    assert running.wait(30) == 0


def test_changed_cases_are_another_evaluation(server: Any, spawn: Spawn, call: Call, project: Path) -> None:
    kill_in_the_middle(server, spawn, after=9)
    with (project / "cases.jsonl").open("a") as cases:
        cases.write(json.dumps({"name": "c8", "input": "word8", "want": "word8"}) + "\n")
    asked = len(server.asked)

    assert call("run", ".", "old").returncode == 0

    assert len(server.asked) - asked == 45
