"""What every target is, and how asking one may fail. The kinds have a file each."""

from __future__ import annotations

from typing import Any, Protocol

from eval_assets.model import gojson
from eval_assets.model.cases import Case, Message
from eval_assets.model.runs import RunOutput


class Target(Protocol):
    """What is evaluated."""

    async def ask(self, case: Case, run_index: int, run_id: str) -> RunOutput:
        """Ask once. A failure of the target is in the output; only cancellation is raised."""


class Unavailable(Exception):  # never leaves targets/: it becomes data
    """No answer was to be had. What the target would have said is unknown."""

    def __init__(self, reason: str, *, attempts: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.attempts = attempts


class OwnError(Exception):
    """The model itself refused with an error; that is its answer, and it fails the run."""

    def __init__(self, reason: str, *, attempts: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.attempts = attempts


def final_text(message: Message) -> str | None:
    """The text of an assistant message: text blocks joined, thinking left out. A refusal is an answer too."""
    content = message.get("content")
    if isinstance(content, list):
        texts = [part["text"] for part in content if is_text(part)]
        content = "".join(texts) if texts else None
    refusal = message.get("refusal")
    if isinstance(content, str) and (content or not refusal):
        return content
    return refusal if isinstance(refusal, str) else None


def is_text(part: Any) -> bool:
    """Whether a part of a message's content is a block of text."""
    return isinstance(part, dict) and part.get("type") in ("text", "output_text") and isinstance(part.get("text"), str)


def clean(value: Any) -> Any:
    """A JSON value without half surrogate pairs, which JSON can escape and UTF-8 cannot hold."""
    if isinstance(value, str):
        return gojson.utf8(value).decode()
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    return value
