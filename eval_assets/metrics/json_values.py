"""When two JSON values are the same: numbers by value, objects whatever their order, and true is not 1."""

from __future__ import annotations

import json
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


def parse(text: str) -> Any:
    """
    Decode a JSON text.

    Raises:
        ValueError: It is not JSON; NaN and Infinity are not either.
    """
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON value")
