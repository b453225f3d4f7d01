"""
JSON to the letter as Go's `encoding/json` writes it, because case hashes are shared with a Go package.

Differences from Python's `json`: sorted keys, no spaces, `<`, `>`, `&`, U+2028 and U+2029 escaped, floats without
a trailing `.0`, exponents only from 1e21 up and below 1e-6.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

_ESCAPED = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029\ud800-\udfff]')
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SHORT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
# Go decodes JSON numbers to float64, whose `f` form ends where exponents begin; a Python int below that is exact.
_EXPONENT_FROM = 10**21
_EXPONENT_BELOW = 1e-6


def dumps(value: Any) -> str:
    """
    Encode a JSON value as Go would.

    Raises:
        ValueError: A float is NaN or infinite; JSON has no such number.
        TypeError: The value, or something in it, is no JSON value.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        return str(value) if abs(value) < _EXPONENT_FROM else _float(float(value))
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_string(key)}:{dumps(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(dumps(item) for item in value) + "]"
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def utf8(text: str) -> bytes:
    """The bytes Go holds for a text it decoded from JSON: half a surrogate pair is U+FFFD there."""
    return _LONE_SURROGATE.sub("\ufffd", text).encode()


def _string(text: str) -> str:
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    if "\ud800" <= character <= "\udfff":
        return "\\ufffd"
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def _float(number: float) -> str:
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a JSON number")
    if number == 0:
        return "-0" if math.copysign(1, number) < 0 else "0"
    if _EXPONENT_BELOW <= abs(number) < _EXPONENT_FROM:
        return format(Decimal(repr(number)).normalize(), "f")
    mantissa, _, exponent = format(Decimal(repr(number)).normalize(), "e").partition("e")
    sign, digits = exponent[0], exponent[1:].lstrip("0")
    return f"{mantissa}e{sign}{digits}"
