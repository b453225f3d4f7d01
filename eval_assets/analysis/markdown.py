"""A document as Markdown that GitHub and the Dagster UI both show."""

from __future__ import annotations

import re

from eval_assets.analysis.document import Document, Heading, Paragraph, Table

_SPECIAL = re.compile(r"([\\|<>*_`\[\]])")


def markdown(document: Document) -> str:
    """Write a document as Markdown; texts from outside cannot break out of their cell."""
    return "\n\n".join(_block(block) for block in document) + "\n"


def _block(block: Heading | Paragraph | Table) -> str:
    if isinstance(block, Heading):
        return f"### {_escape(block.text)}"
    if isinstance(block, Paragraph):
        return f"**{_escape(block.text)}**" if block.tone in {"good", "bad", "unsure"} else _escape(block.text)
    return _table(block)


def _table(table: Table) -> str:
    header = _row([_escape(column.name) for column in table.columns])
    ruler = _row(["---:" if column.align == "right" else "---" for column in table.columns])
    return "\n".join([header, ruler, *(_row([_escape(cell.text) for cell in row]) for row in table.rows)])


def _row(texts: list[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text).replace("\n", " ")
