"""`eval-assets ui` brings up Dagster with this project's instance, and takes it down with itself."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
        return port


def status(address: str) -> int:
    """The status of the first answer: the server says that it serves a little before it does."""
    for _ in range(300):
        with contextlib.suppress(urllib.error.URLError), urllib.request.urlopen(address) as answer:
            found: int = answer.status
            return found
        time.sleep(0.1)
    raise AssertionError(f"{address} was never served")


@pytest.fixture
def ui(project: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "eval_assets", "ui", "--port", str(free_port())]
    environment = os.environ | {"EVAL_ASSETS_HOME": str(project / "home"), "EVAL_ASSETS_SUITES": str(project)}
    with subprocess.Popen(
        command, cwd=project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        yield running
        if running.poll() is None:
            for process in psutil.Process(running.pid).children(recursive=True):
                process.kill()
            running.kill()


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_it_serves_and_leaves_nothing_behind(ui: subprocess.Popen[str], project: Path) -> None:
    assert ui.stdout is not None
    said = next(line for line in ui.stdout if "Serving dagster-webserver on" in line)
    address = re.search(r"http://127\.0\.0\.1:\d+", said)
    assert address is not None
    assert status(f"{address[0]}/server_info") == 200
    family = psutil.Process(ui.pid).children(recursive=True)
    assert (project / "home" / "dagster" / "dagster.yaml").is_file()

    ui.send_signal(signal.SIGTERM)
    for _ in ui.stdout:
        pass

    assert ui.wait(60) is not None
    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []
