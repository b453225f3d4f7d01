"""Files of JSON lines on their way into DuckDB: what read_json must be told of them, and what it cannot take."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from eval_assets.model import gojson

_SMALLEST_OBJECT_SIZE = 1 << 20
_ESCAPES = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)", re.DOTALL)
_REPLACEMENT = b"\\ufffd"


class Lines(NamedTuple):
    """A file that read_json can take, and the size it needs for the longest line."""

    path: Path
    longest_line: int


@contextlib.contextmanager
def readable(path: Path) -> Iterator[Lines]:
    """
    The file itself, or a repaired copy of it for as long as the block runs.

    DuckDB refuses half a surrogate pair, which models do write and JSON allows; the copy has U+FFFD in its place.
    """
    longest, broken = _measure(path)
    if not broken:
        yield Lines(path, longest)
        return
    with path.open("rb") as lines, _temporary(path.parent) as copy:
        with copy.open("wb") as repaired:
            repaired.writelines(_whole(line) for line in lines)
        yield Lines(copy, longest)


@contextlib.contextmanager
def written(folder: Path, rows: Iterable[Any]) -> Iterator[tuple[Lines, int]]:
    """The rows as a temporary file of JSON lines, one object a row, and how many there were."""
    longest, count = _SMALLEST_OBJECT_SIZE, 0
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    # In the store's folder, because millions of rows fit where the store fits and perhaps not in /tmp.
    folder.mkdir(parents=True, exist_ok=True)
    with _temporary(folder) as path:
        with path.open("wb") as lines:
            for row in rows:
                line = gojson.utf8(encode(row._asdict())) + b"\n"
                longest, count = max(longest, len(line) + 1), count + 1
                lines.write(line)
        yield Lines(path, longest), count


@contextlib.contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".loading-", suffix=".jsonl") as file:
        yield Path(file.name)


def _measure(path: Path) -> tuple[int, bool]:
    longest, broken = _SMALLEST_OBJECT_SIZE, False
    with path.open("rb") as lines:
        for line in lines:
            longest = max(longest, len(line) + 1)
            broken = broken or ((b"\\ud" in line or b"\\uD" in line) and _whole(line) != line)
    return longest, broken


def _whole(line: bytes) -> bytes:
    return _ESCAPES.sub(lambda match: _REPLACEMENT if match[1] else match[0], line)
