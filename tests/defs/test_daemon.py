"""The real daemon and real new processes, over the project's own workspace.yaml and dagster.yaml."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pytest

from eval_assets.cli.main import run
from eval_assets.pipeline import Workspace
from tests.defs.conftest import gate_status, measure

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 60.0


@pytest.fixture
def instance(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    """The instance that `eval-assets ui` would use in the suite's home."""
    home = workspace.home / "dagster"
    home.mkdir(parents=True)
    shutil.copy(ROOT / "dagster.yaml", home)
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    with dg.DagsterInstance.get() as opened:
        yield opened


@pytest.fixture
def measured(workspace: Workspace) -> Workspace:
    """Baseline and both candidates measured from the command line, so that the daemon has no reason to."""
    for target in ("prod", "same", "worse"):
        measure(workspace, target)
    return workspace


@pytest.fixture
def daemon(instance: dg.DagsterInstance, tmp_path: Path) -> Iterator[Path]:
    """The daemon, started; its log. Stopped at the end, whatever happened."""
    log = tmp_path / "daemon.log"
    command = [str(Path(sys.executable).with_name("dagster-daemon")), "run", "-w", str(ROOT / "workspace.yaml")]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output, cwd=tmp_path) as started:
        yield log
        started.terminate()
        try:
            started.wait(timeout=20)
        except subprocess.TimeoutExpired:
            started.kill()


@pytest.mark.slow
def test_a_failing_verdict_of_the_command_line_becomes_a_failed_check(
    measured: Workspace, instance: dg.DagsterInstance, daemon: Path
) -> None:
    """Nothing is materialized in Dagster: whoever decided, its graph shows that the candidate must not pass."""
    codes = [run(["gate", str(measured.suite.path), candidate]) for candidate in ("same", "worse")]

    wait_until(lambda: gate_status(instance, "greetings", "worse") is not None, daemon)
    wait_until(lambda: "worse" in instance.get_dynamic_partitions("greetings_candidates"), daemon)

    assert codes == [0, 1]
    assert gate_status(instance, "greetings", "worse") == ("FAILED", True)
    assert gate_status(instance, "greetings", "same") == ("SUCCEEDED", True)
    assert instance.get_runs() == []


@pytest.mark.slow
def test_the_daemon_measures_and_judges_new_candidates_and_promotes_none(
    workspace: Workspace, instance: dg.DagsterInstance, daemon: Path
) -> None:
    measure(workspace, "prod")

    wait_until(
        lambda: [gate_status(instance, "greetings", name) for name in ("same", "worse")].count(None) == 0, daemon
    )
    wait_until(lambda: all(r.is_finished for r in instance.get_runs()), daemon)

    assert gate_status(instance, "greetings", "worse") == ("FAILED", True)
    assert gate_status(instance, "greetings", "same") == ("SUCCEEDED", True)
    assert len(instance.get_runs()) == 2
    assert workspace.store.latest_promotion("greetings") is None


@pytest.mark.slow
def test_promotion_alone_in_a_new_process_is_refused_after_a_failed_gate(
    measured: Workspace, instance: dg.DagsterInstance
) -> None:
    run(["gate", str(measured.suite.path), "worse"])
    instance.add_dynamic_partitions("greetings_candidates", ["worse"])
    command = ["asset", "materialize", "-m", "eval_assets.definitions", "--select", "greetings/promotion"]

    finished = subprocess.run(
        [sys.executable, "-m", "dagster", *command, "--partition", "worse"],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert finished.returncode != 0
    assert "'worse' is not promoted: the verdict is regression" in finished.stderr
    assert measured.store.latest_promotion("greetings") is None


def wait_until(happened: Callable[[], bool], log: Path) -> None:
    """Look until it happened; the daemon's log says why it did not."""
    deadline = time.monotonic() + DEADLINE_S
    while not happened():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
