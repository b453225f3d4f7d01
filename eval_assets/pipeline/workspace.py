"""A suite, and the folder that keeps what it measures: the store, the journals, the Dagster instance."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from eval_assets.errors import ConfigError
from eval_assets.store.store import Store
from eval_assets.suite import Suite, load_suite
from eval_assets.targets import cassette
from eval_assets.targets.cassette import Cassette

HOME_VARIABLE = "EVAL_ASSETS_HOME"

_QUIET_INSTANCE = "# No usage statistics leave this machine.\ntelemetry:\n  enabled: false\n"


@dataclass(frozen=True)
class Workspace:
    """A suite at work in a home."""

    suite: Suite
    home: Path
    cassette: Cassette | None = None
    """What records or replays whatever is asked over HTTP."""

    @cached_property
    def store(self) -> Store:
        """The store of this home; opens nothing until it is asked something."""
        return Store(self.home / "eval.duckdb")

    @property
    def journals(self) -> Path:
        """Where evaluations that are not whole yet are kept."""
        return self.home / "journals"


def open_workspace(suite_path: Path, *, home: Path | None = None) -> Workspace:
    """
    Load a suite and find its home.

    Raises:
        ConfigError: Every problem of the suite at once.
    """
    suite = load_suite(suite_path)
    return Workspace(suite=suite, home=home or home_for(suite.folder))


def with_cassette(workspace: Workspace, *, record: Path | None = None, replay: Path | None = None) -> Workspace:
    """
    The workspace with a cassette in it, to record to or to replay from; as it is where neither is named.

    Raises:
        ConfigError: Both are named, or the file cannot be used.
    """
    if record is not None and replay is not None:
        raise ConfigError("found both --record and --replay; a replay holds nothing new to record, so name one")
    if record is not None:
        return replace(workspace, cassette=cassette.recorder(record))
    return workspace if replay is None else replace(workspace, cassette=cassette.player(replay))


def home_for(folder: Path, *, environment: Mapping[str, str] = os.environ) -> Path:
    """
    The folder that keeps what is measured for a suite in `folder`.

    `EVAL_ASSETS_HOME` where it is set; else `.eval_assets` in the nearest folder above that has a dagster.yaml; else
    `.eval_assets` beside the suite.
    """
    if environment.get(HOME_VARIABLE):
        return Path(environment[HOME_VARIABLE]).resolve()
    start = folder.resolve()
    projects = (parent for parent in (start, *start.parents) if (parent / "dagster.yaml").is_file())
    return next(projects, start) / ".eval_assets"


def instance_folder(folder: Path, home: Path) -> Path:
    """The Dagster instance of a home, made where it is missing; the nearest dagster.yaml above `folder` sets it up."""
    instance = home / "dagster"
    instance.mkdir(parents=True, exist_ok=True)
    above = (parent / "dagster.yaml" for parent in (folder, *folder.parents))
    settings = next((file for file in above if file.is_file()), None)
    if settings is not None:
        shutil.copyfile(settings, instance / "dagster.yaml")
    elif not (instance / "dagster.yaml").exists():
        (instance / "dagster.yaml").write_text(_QUIET_INSTANCE)
    return instance
