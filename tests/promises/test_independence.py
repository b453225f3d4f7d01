"""Two evaluations of one target are two samples, and two processes do not stand in each other's way."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

Spawn = Callable[..., "subprocess.Popen[str]"]
Call = Callable[..., "subprocess.CompletedProcess[str]"]


def test_a_second_evaluation_samples_again(server: Any, call: Call) -> None:
    call("run", ".", "old")
    call("run", ".", "old")

    assert len(server.asked) == 80
    said = call("sql", "select count(*) as n, count(distinct run_id) as ids from run_outputs", "--json")
    assert json.loads(said.stdout) == [{"n": 80, "ids": 80}]


def test_two_targets_at_once_into_one_store(server: Any, spawn: Spawn, call: Call) -> None:
    running = [spawn("run", ".", target) for target in ("old", "new")]

    codes = [process.wait(60) for process in running]

    assert codes == [0, 0]
    assert call("gate", ".", "new").returncode == 0
