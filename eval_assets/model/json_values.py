"""When two JSON values are the same: numbers by value, objects whatever their order, and true is not 1."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any


def equal(one: Any, other: Any) -> bool:
    """Compare two decoded JSON values as JSON does, where Python would call True and 1 equal."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    return bool(one == other)


def identity(value: Any) -> Hashable:
    """What a decoded JSON value can be counted and looked up by: two identities are equal where the values are."""
    if isinstance(value, dict):
        return "object", frozenset((key, identity(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return "array", tuple(identity(item) for item in value)
    kind = "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__
    return kind, value


def parse(text: str | bytes) -> Any:
    """
    Decode a JSON text.

    Raises:
        ValueError: It is not JSON, or nested deeper than can be read; NaN and Infinity are not JSON either.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("it is nested too deeply to be read") from error


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON value")


def text(value: Any) -> str:
    """A JSON value on one line."""
    return json.dumps(value, ensure_ascii=False)
