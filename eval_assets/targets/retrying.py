"""
When to ask again, and how long to wait before: what deserves another attempt, what a server told, what a run may wait.

Nothing here sends or sleeps; that is `http`. Who may send at all is `limits`.
"""

from __future__ import annotations

import contextlib
import contextvars
import email.utils
import random
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

RETRIED_STATUSES = frozenset({408, 409, 425, 429, *range(500, 600)})
"""What may well be answered next time."""
RATE_LIMITED = frozenset({429, 529})
"""What says that this key asks too much; 529 is Anthropic's and others' word for overloaded."""

FIRST_BACKOFF_S = 0.5
"""The ceiling of the first wait where the server told none; it doubles with each attempt."""
_RATE_LIMIT_FACTOR = 4
"""A rate limit passes more slowly than a hiccup."""
_SPREAD = 0.1
"""Share of a told wait over which those who were told spread out after it."""

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_DURATION_UNITS_S = (86400.0, 3600.0, 60.0, 1.0, 0.001)
_NUMBER = re.compile(r"\d+(?:\.\d*)?")
_RESET = re.compile(r"(?:x-|anthropic-)?ratelimit-(?:(?P<of>[a-z-]+)-)?reset(?:-(?P<what>[a-z-]+))?")
_RETRY_INFO = re.compile(rb'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')
_A_MOMENT = 1_000_000_000
"""A number this large counts seconds since 1970, not from now."""


class Patience(NamedTuple):
    """How often and how long a run may be asked again."""

    max_attempts: int
    """Tries of one request, the first included."""
    max_wait_s: float
    """Ceiling of one wait. A server that tells a longer one gets no further request of this run."""
    max_run_wait_s: float
    """Ceiling of all waits of one run."""


@dataclass(slots=True)
class Waits:
    """What one run has waited so far."""

    patience_s: float = 0.0
    """As servers told, and before further attempts: counts against `Patience.max_run_wait_s`."""
    all_s: float = 0.0
    """Those, and the waits for a place and a pace that the suite itself asks for, which no ceiling ends."""


_of_this_run: contextvars.ContextVar[Waits | None] = contextvars.ContextVar("waits_of_this_run", default=None)


@contextlib.contextmanager
def one_run() -> Iterator[Waits]:
    """Count every wait inside as one run's; an agent asks many times in one."""
    waits = Waits()
    token = _of_this_run.set(waits)
    try:
        yield waits
    finally:
        _of_this_run.reset(token)


def waits_of_this_run() -> Waits:
    """The waits of the run that is being asked; of this request alone where nobody opened `one_run`."""
    return _of_this_run.get() or Waits()


def told_wait_s(status: int, headers: Mapping[str, str], body: bytes = b"") -> float | None:
    """
    Seconds a server told to wait, by whichever of its ways; the longest where it used several, None where none.

    `retry-after-ms`, `retry-after` in seconds or as an HTTP date, and gemini's `retryDelay` always count; of the
    `ratelimit-reset` family, only those of a rate limit that has nothing remaining, and only where nothing else told.

    Args:
        status: Of the reply.
        headers: Its headers, names in lower case.
        body: Its body.
    """
    direct = [_milliseconds(headers.get("retry-after-ms")), _retry_after(headers)]
    if found := _RETRY_INFO.search(body):
        direct.append(float(found[1]))
    told = [seconds for seconds in direct if seconds is not None]
    if not told and status in RATE_LIMITED:
        told = list(_resets(headers))
    return max(told, default=None)


def backoff_s(attempt: int, *, rate_limited: bool, ceiling_s: float) -> float:
    """
    Seconds to wait after the `attempt`-th try where the server told nothing.

    Full jitter, so that many who failed at once do not return at once.

    Source:
        Brooker (2015), "Exponential Backoff And Jitter", AWS Architecture Blog: uniform on [0, min(cap, base * 2^n)].
    """
    base = FIRST_BACKOFF_S * (_RATE_LIMIT_FACTOR if rate_limited else 1)
    return random.uniform(0, min(ceiling_s, base * 2.0 ** min(attempt - 1, 16)))  # noqa: S311  # no secret


def jitter_s(told_s: float) -> float:
    """Seconds to stay away beyond the told moment, so that all who were told do not return at once."""
    return random.uniform(0, max(FIRST_BACKOFF_S, _SPREAD * told_s))  # noqa: S311  # no secret


def _milliseconds(text: str | None) -> float | None:
    return float(text) / 1000 if text and _NUMBER.fullmatch(text.strip()) else None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    moment = _http_date(text)
    if moment is None:
        return None
    # The server's own clock where it shows it: ours may be wrong by minutes.
    now = _http_date(headers.get("date", ""))
    return max(0.0, moment - (time.time() if now is None else now))


def _http_date(text: str) -> float | None:
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _resets(headers: Mapping[str, str]) -> Iterator[float]:
    for name, text in headers.items():
        found = _RESET.fullmatch(name)
        if found and _is_used_up(name, headers):
            seconds = _reset_s(text.strip())
            if seconds is not None:
                yield seconds


def _is_used_up(name: str, headers: Mapping[str, str]) -> bool:
    remaining = headers.get(name.replace("reset", "remaining"), "0").strip()
    return not _NUMBER.fullmatch(remaining) or float(remaining) <= 0


def _reset_s(text: str) -> float | None:
    """Seconds from now, of `12`, `1.5s`, `6m0s`, a moment in seconds since 1970, or an RFC 3339 one."""
    if _NUMBER.fullmatch(text):
        number = float(text)
        return max(0.0, number - time.time()) if number >= _A_MOMENT else number
    duration = _DURATION.fullmatch(text)
    if text and duration:
        parts = zip(duration.groups(), _DURATION_UNITS_S, strict=True)
        return sum(float(amount) * unit for amount, unit in parts if amount)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - time.time())
