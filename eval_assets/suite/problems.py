"""What pydantic found wrong, as one sentence each: what was found, what was wanted, at which place."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import BaseModel, ValidationError

from eval_assets.errors import Problem
from eval_assets.suite.document import Place


def explain(
    error: ValidationError, model: type[BaseModel], locate: Callable[[str, Place], Problem]
) -> Iterable[Problem]:
    """One problem per detail; `locate` turns a sentence and a place within the value into a problem with its line."""
    for detail in error.errors():
        place = tuple(detail["loc"])
        yield locate(_sentence(detail, place, model), place)


def unknown_key(key: str, known: Iterable[str]) -> str:
    """Say that a key is not one of ours, which are, and which was probably meant."""
    names = sorted(known)
    near = difflib.get_close_matches(key, names, n=1)
    meant = f"; did you mean `{near[0]}`?" if near else ""
    return f"unknown key `{key}`{meant} (known: {', '.join(names)})"


def _sentence(detail: Any, place: Place, model: type[BaseModel]) -> str:
    name = ".".join(str(part) for part in place)
    if detail["type"] == "extra_forbidden":
        return unknown_key(str(place[-1]), model.model_fields)
    if detail["type"] == "missing":
        return f"`{name}` is missing"
    message = _lower(str(detail["msg"]).removeprefix("Value error, "))
    if not name:
        return message
    is_said = "found" not in message and not _may_hold_a_key(detail["input"], place)
    found = f", found {_short(detail['input'])}" if is_said else ""
    return f"`{name}`: {message}{found}"


def _may_hold_a_key(value: Any, place: Place) -> bool:
    """A header's value, a query, a URL with either, or all of a target at once: never said back."""
    if isinstance(value, dict) or not {"headers", "query"}.isdisjoint(place):
        return True
    return isinstance(value, str) and ("?" in value or "@" in value) and "//" in value


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]


def _short(value: Any, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
