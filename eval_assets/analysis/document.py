"""What a person reads, before anyone decides how it looks: headings, paragraphs and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tone = Literal["plain", "good", "bad", "unsure", "quiet"]
"""How a text is meant. Never carried by colour alone: the words say it too."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The name of what follows."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One or more sentences."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Column:
    """A table's column; numbers stand to the right."""

    name: str
    align: Literal["left", "right"] = "left"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under named columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


Document = tuple[Heading | Paragraph | Table, ...]
