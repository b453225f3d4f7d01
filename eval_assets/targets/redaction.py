"""
Blacking out secrets in whatever comes back from a target.

Which texts are secret is for `credentials` to say. What is blacked out here is blacked out before anything is cut short
and before anything is written: half a key is still a leak, and no longer found.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

from eval_assets.model.base import Noun
from eval_assets.model.runs import RunOutput

BLACKED_OUT = "***"

_Noun = TypeVar("_Noun", bound=Noun)

_SHORTEST_CORE = 8
"""A piece of base64 shorter than this is found in innocent text."""


_VARIES = re.compile(
    r"""
    \b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b                   # a UUID
    | \b(?:req|request|chatcmpl|cmpl|msg|resp|run|trace|org|cf-ray)[-_:](?=\w*\d)[\w-]{6,}  # a provider's id
    | \b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,}\b                              # a hex id
    | \b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\s?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?  # a moment
    | (?<=\bin\ )(?:\d+(?:\.\d+)?\s?(?:ms|h|m|s|min|sec|seconds?|minutes?|hours?)(?![a-z])\s?)+      # how long to wait
    | (?<=\bUsed\ )\d+ | (?<=\bRequested\ )\d+ | (?<=\bUsed:\ )\d+ | (?<=\bRequested:\ )\d+
    """,
    re.VERBOSE | re.IGNORECASE,
)


def without_what_varies(text: str) -> str:
    """The text without ids, moments, waits and running counts, so that the same trouble reads the same each time."""
    return _VARIES.sub("…", text)


class Redactor:
    """Blacks out known secrets, as they are and as they travel: in JSON, in a URL, in base64."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if secret for form in _forms(secret)}
        # Of two secrets where one begins the other, the longer must be tried first, or its end would stay.
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        """The text without secrets."""
        return text if self._pattern is None else self._pattern.sub(BLACKED_OUT, text)

    def value(self, value: Any) -> Any:
        """A JSON value without secrets, keys of objects included; the very same value where it holds none."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return _same_or(value, {self.value(key): self.value(inner) for key, inner in value.items()})
        if isinstance(value, (list, tuple)):
            return _same_or(value, type(value)(self.value(inner) for inner in value))
        return self._noun(value) if isinstance(value, Noun) else value

    def output(self, output: RunOutput) -> RunOutput:
        """A run's output without secrets: texts, messages, tool arguments, errors, ids, finish reasons."""
        return self._noun(output) if self._pattern is not None else output

    def _noun(self, noun: _Noun) -> _Noun:
        fields = {name: getattr(noun, name) for name in type(noun).model_fields}
        cleaned = {name: self.value(found) for name, found in fields.items()}
        changed = {name: clean for name, clean in cleaned.items() if clean != fields[name]}
        if not changed:
            return noun
        copy = noun.model_copy(update=changed)
        for name in copy.__dict__.keys() - fields.keys():
            del copy.__dict__[name]  # worked out of what held the secret
        return copy


def _same_or(value: Any, clean: Any) -> Any:
    return value if clean == value else clean


def _forms(secret: str) -> Iterator[str]:
    """A secret as it is, and as it looks in JSON, in a URL and in base64."""
    yield secret
    yield json.dumps(secret)[1:-1]
    unescaped = json.dumps(secret, ensure_ascii=False)[1:-1]
    yield unescaped
    yield unescaped.replace("/", "\\/")
    for quoted in (quote(secret, safe=""), quote(secret), quote_plus(secret)):
        yield quoted
        yield re.sub("%..", lambda escape: escape[0].lower(), quoted)
    yield secret.encode().hex()
    yield from _base64_forms(secret.encode())


def _base64_forms(secret: bytes) -> Iterator[str]:
    """
    What of a secret's base64 does not depend on its neighbours, for each of the three places it can begin at.

    `Basic` authorization, for one, encodes `user:` and the key together.
    """
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + secret).decode()
        core = encoded[-(-8 * before // 6) : 8 * (before + len(secret)) // 6]
        if len(core) >= _SHORTEST_CORE:
            yield core
            yield core.replace("+", "-").replace("/", "_")
