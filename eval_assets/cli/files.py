"""The files a command is asked to write: checked before any work, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from eval_assets.analysis.plots import FigureFormat

STDOUT = "-"


def writable(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """A click callback: refuse a file that cannot be written, before anything is run for it."""
    if name is None or name == STDOUT:
        return name
    path = Path(name)
    if path.is_dir():
        raise click.BadParameter(f"{path} is a folder; name a file", context, parameter)
    if not path.parent.is_dir():
        raise click.BadParameter(f"the folder {path.parent} does not exist; make it first", context, parameter)
    if not os.access(path.parent, os.W_OK):
        raise click.BadParameter(f"the folder {path.parent} cannot be written to", context, parameter)
    return name


def drawable(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """A click callback: refuse a picture of a kind that is not drawn, or that cannot be written."""
    if name is not None and not name.lower().endswith((".svg", ".png")):
        raise click.BadParameter(f"{name} is no picture; end it in .svg or .png", context, parameter)
    return writable(context, parameter, name)


def figure_format(name: str) -> FigureFormat:
    """The kind of picture that a file `drawable` let pass asks for."""
    return "svg" if name.lower().endswith(".svg") else "png"


def write(name: str | None, content: str | bytes) -> None:
    """Write a text or a picture where it was asked for: nowhere, to stdout, or to a file replaced in one step."""
    if name is None:
        return
    if name == STDOUT:
        click.echo(content, nl=False)
        return
    path = Path(name)
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.name}.", delete=False) as scratch:
        scratch.write(content.encode() if isinstance(content, str) else content)
    Path(scratch.name).chmod(0o644)
    Path(scratch.name).replace(path)
