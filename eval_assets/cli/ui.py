"""`dagster dev` with an instance of this project's own, whose history outlives it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from eval_assets import pipeline

_DEFINITIONS = "eval_assets.definitions"
_DEMO_VARIABLE = "EVAL_ASSETS_DEMO_URL"


def serve(host: str, port: int) -> int:
    """Serve the UI until it is stopped; returns dagster's exit code."""
    folder = Path.cwd()
    home = pipeline.home_for(folder)
    environment = {**os.environ, pipeline.HOME_VARIABLE: str(home), "DAGSTER_HOME": str(instance_folder(folder, home))}
    command = [sys.executable, "-m", "dagster", "dev", "-m", _DEFINITIONS, "--host", host, "--port", str(port)]
    with ExitStack() as running:
        environment |= running.enter_context(_demo_server(environment, folder))
        click.echo(f"store {home / 'eval.duckdb'}; the UI comes up on http://{host}:{port} (Ctrl-C stops it)", err=True)
        with subprocess.Popen(command, env=environment) as dagster:  # noqa: S603  our own interpreter
            return _wait(dagster)


def instance_folder(folder: Path, home: Path) -> Path:
    """The Dagster instance of a home, set up by the nearest dagster.yaml above `folder`."""
    instance = home / "dagster"
    instance.mkdir(parents=True, exist_ok=True)
    settings = next((file for parent in (folder, *folder.parents) if (file := parent / "dagster.yaml").is_file()), None)
    target = instance / "dagster.yaml"
    if settings is not None:
        shutil.copyfile(settings, target)
    elif not target.exists():
        target.write_text("# No usage statistics leave this machine.\ntelemetry:\n  enabled: false\n")
    return instance


@contextmanager
def _demo_server(environment: dict[str, str], folder: Path) -> Iterator[dict[str, str]]:
    """Where the UI will show the demo suite, give it a server to ask, so that materializing works there."""
    own = environment.get("EVAL_ASSETS_SUITES") or any(folder.glob("suites/*/suite.yaml"))
    if own or environment.get(_DEMO_VARIABLE):
        yield {}
        return
    from eval_assets.demo.server import demo_server

    with demo_server() as url:
        click.echo(f"no suite here, so this is the demo; its agent server listens on {url}", err=True)
        yield {_DEMO_VARIABLE: url}


def _wait(dagster: subprocess.Popen[bytes]) -> int:
    """Dagster gets Ctrl-C from the terminal too and stops by itself; leave it the time."""
    while True:
        try:
            return dagster.wait()
        except KeyboardInterrupt:
            continue
