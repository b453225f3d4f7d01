"""`dagster dev` with an instance of this project's own, whose history outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import click

from eval_assets import pipeline

_DEFINITIONS = "eval_assets.definitions"
_PATIENCE_S = 10.0


def serve(host: str, port: int) -> int:
    """Serve the UI until it is stopped; returns dagster's exit code."""
    folder = Path.cwd()
    home = pipeline.home_for(folder)
    environment = {
        **os.environ,
        pipeline.HOME_VARIABLE: str(home),
        "DAGSTER_HOME": str(pipeline.instance_folder(folder, home)),
    }
    command = [sys.executable, "-m", "dagster", "dev", "-m", _DEFINITIONS, "--host", host, "--port", str(port)]
    with ExitStack() as running:
        environment |= running.enter_context(_demo_server(environment, folder))
        click.echo(f"store {home / 'eval.duckdb'}; the UI comes up on http://{host}:{port} (Ctrl-C stops it)", err=True)
        # A group of its own, because `dagster dev` starts servers that outlive it when only it is told to stop.
        dagster = subprocess.Popen(command, env=environment, start_new_session=True)  # noqa: S603  our own interpreter
        try:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            return dagster.wait()
        except KeyboardInterrupt:
            return 0
        finally:
            _stop(dagster)


def _stop(dagster: subprocess.Popen[bytes]) -> None:
    """Stop Dagster and all it started, politely first."""
    for told in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(dagster.pid, told)
        with suppress(subprocess.TimeoutExpired):
            dagster.wait(_PATIENCE_S)


@contextmanager
def _demo_server(environment: dict[str, str], folder: Path) -> Iterator[dict[str, str]]:
    """Where the UI will show the demo suite, give it a server to ask, so that materializing works there."""
    own = environment.get("EVAL_ASSETS_SUITES") or any(folder.glob("suites/*/suite.yaml"))
    from eval_assets import demo

    if own or environment.get(demo.URL_VARIABLE):
        yield {}
        return
    from eval_assets.demo.server import demo_server

    with demo_server() as url:
        click.echo(f"no suite here, so this is the demo; its agent server listens on {url}", err=True)
        yield {demo.URL_VARIABLE: url}
