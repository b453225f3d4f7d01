"""System prompts: text in the suite, or a file beside it."""

from __future__ import annotations

import re
from pathlib import Path

from eval_assets.model.cases import Message

_FILE_NAME = re.compile(r"\S+\.(txt|md|markdown|prompt|jinja2?|j2)")
_LONGEST_PATH = 1024


def read(system: str | None, *, folder: Path) -> str | None:
    """The text of a system prompt; what names a file is read."""
    path = _file(system, folder)
    return system if path is None else path.read_text(encoding="utf-8")


def problems(system: str | None, *, folder: Path) -> list[str]:
    """What is wrong with a system prompt: a file that is named and missing, or not text."""
    path = _file(system, folder)
    if path is None:
        if system is not None and _FILE_NAME.fullmatch(system):
            return [f"system names the file {folder / system}, which does not exist"]
        return []
    try:
        path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return [f"system names the file {path}, which cannot be read as UTF-8 text: {error}"]
    return []


def system_messages(text: str | None) -> list[Message]:
    """The system prompt as messages: one, or none."""
    return [] if text is None else [{"role": "system", "content": text}]


def _file(system: str | None, folder: Path) -> Path | None:
    if not system or "\n" in system or len(system) > _LONGEST_PATH:
        return None
    path = folder / system
    try:
        return path if path.is_file() else None
    except (OSError, ValueError):
        return None
