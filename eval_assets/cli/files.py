"""The files a command is asked to write: checked before any work, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

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


def write(name: str | None, text: str) -> None:
    """Write a text where it was asked for: nowhere, to stdout, or to a file that is replaced in one step."""
    if name is None:
        return
    if name == STDOUT:
        click.echo(text, nl=False)
        return
    path = Path(name)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as scratch:
        scratch.write(text)
    Path(scratch.name).chmod(0o644)
    Path(scratch.name).replace(path)
