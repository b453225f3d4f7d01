"""How far an evaluation is: a bar in a terminal, a line now and then in a log. Always on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from eval_assets.pipeline import Progress

_SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def shown(title: str) -> Iterator[Callable[[Progress], None]]:
    """Hand out what to call with each step of progress."""
    if sys.stderr.isatty():
        with _bar(title) as watch:
            yield watch
    else:
        yield _lines(title)


@contextmanager
def _bar(title: str) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn(title),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[trouble]}"),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=None, trouble="")

        def watch(progress: Progress) -> None:
            bar.update(task, total=progress.expected, completed=progress.finished, trouble=_trouble(progress))

        yield watch


def _lines(title: str) -> Callable[[Progress], None]:
    last = time.monotonic()

    def watch(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            click.echo(
                f"{title}: {progress.finished} of {progress.expected} runs {_trouble(progress)}".rstrip(), err=True
            )

    return watch


def _trouble(progress: Progress) -> str:
    parts = [
        f"{progress.errored} errored" if progress.errored else "",
        f"{progress.unavailable} unanswered" if progress.unavailable else "",
    ]
    return ", ".join(part for part in parts if part)
