"""Documents as a terminal shows them. Colour only repeats what the words say, and is off when piped."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from eval_assets.analysis.document import Document, Heading, Paragraph, Table, Tone

_PIPED_WIDTH = 10_000  # Nobody reads along: a folded cell or a broken sentence only disturbs whatever reads it.
_STYLES: Mapping[Tone, str] = {"plain": "", "good": "green", "bad": "bold red", "unsure": "yellow", "quiet": "dim"}


def show(document: Document) -> None:
    """Print a document on stdout."""
    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False, soft_wrap=False)
    for block in document:
        console.print(_block(block))
    console.print()


def _block(block: Heading | Paragraph | Table) -> RenderableType:
    if isinstance(block, Heading):
        return Text(f"\n{block.text}", style="bold")
    if isinstance(block, Paragraph):
        return Text(block.text, style=_STYLES[block.tone])
    return _table(block)


def _table(table: Table) -> RichTable:
    shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in table.columns:
        shown.add_column(column.name, justify=column.align, overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(cell.text, style=_STYLES[cell.tone]) for cell in row))
    return shown
