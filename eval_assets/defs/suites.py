"""
Which suites a code location holds, and what becomes of one that cannot be read.

A broken suite stands in the graph as an asset that carries its problems, and leaves the others working.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import dagster as dg

from eval_assets.errors import ConfigError
from eval_assets.suite import Suite, load_suite

SUITES_VARIABLE = "EVAL_ASSETS_SUITES"

_DEMO = Path(__file__).parents[1] / "demo" / "suite.yaml"


class Found(NamedTuple):
    """The suites that could be loaded, and the problems of those that could not, by file."""

    suites: list[Suite]
    broken: dict[Path, str]


def suite_files(folder: Path, *, environment: Mapping[str, str] = os.environ) -> list[Path]:
    """
    The suite files of a code location.

    Those `EVAL_ASSETS_SUITES` names, separated by the OS's path separator; else `suites/*/suite.yaml` in `folder`; else
    the demo's.
    """
    named = [Path(part) for part in environment.get(SUITES_VARIABLE, "").split(os.pathsep) if part]
    found = named or sorted(folder.glob("suites/*/suite.yaml"))
    return found or [_DEMO]


def load_suites(files: Iterable[Path]) -> Found:
    """
    Load every suite that can be.

    Raises:
        ConfigError: None of them can be; every problem of every file at once.
    """
    suites: dict[str, Suite] = {}
    errors: dict[Path, ConfigError] = {}
    for file in files:
        try:
            suite = load_suite(file)
            _check_name_is_free(suite, suites)
            suites[suite.name] = suite
        except ConfigError as error:
            errors[file] = error
    if not suites:
        raise ConfigError(problem for error in errors.values() for problem in error.problems)
    return Found(list(suites.values()), {file: str(error) for file, error in errors.items()})


def broken_assets(broken: Mapping[Path, str]) -> list[dg.AssetSpec]:
    """An asset that cannot be materialized for each suite that cannot be loaded, so that the graph says so."""
    return [
        dg.AssetSpec(
            key=["broken_suites", f"{_key_part(file)}_{number}"],
            group_name="broken_suites",
            description=f"This suite cannot be loaded:\n\n{problems}",
            metadata={"suite_file": dg.MetadataValue.path(str(file.resolve())), "problems": problems},
        )
        for number, (file, problems) in enumerate(broken.items(), start=1)
    ]


def _check_name_is_free(suite: Suite, suites: Mapping[str, Suite]) -> None:
    if suite.name in suites:
        raise ConfigError(f"{suite.path}: the name {suite.name!r} is already that of {suites[suite.name].path}")


def _key_part(file: Path) -> str:
    folder = file if file.suffix == "" else file.parent
    return re.sub(r"\W", "_", folder.resolve().name, flags=re.ASCII) or "suite"
