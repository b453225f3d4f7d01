"""
Who may send now: how many at once, how many a minute, and nobody before the moment a server told.

A limiter belongs to a key, not to a target: two targets on one key share what the provider allows. What a server told,
and what is worth another attempt, is read in `retrying`.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import weakref
from collections import deque
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass

from eval_assets.targets import retrying
from eval_assets.targets.retrying import Patience, Waits

_MINUTE_S = 60.0
_NEWEST = 0.2
"""Weight of the newest request in what requests usually cost."""


class WaitTooLong(Exception):  # never leaves targets/: it becomes Unavailable
    """A wait beyond a ceiling. Its text is the same for every run that meets it, so that a report can count it."""


@dataclass(slots=True)
class Turn:
    """Leave to send one request."""

    taken_at: float
    """By the loop's clock."""
    tokens: float
    """Counted against `tokens_per_minute` so far."""


@dataclass(slots=True)
class _Pause:
    """What a server told: nothing before `until`, by the loop's clock."""

    until: float = -math.inf
    told_s: float = 0.0
    why: str = ""


class Pace:
    """
    So much a minute, evenly: a token bucket that holds one request.

    In any minute there is at most what is allowed, and one request more.
    """

    def __init__(self, per_minute: float) -> None:
        self.per_minute = per_minute
        self._next_at = -math.inf

    def take(self, amount: float, *, now: float) -> float:
        """Reserve an amount; returns the seconds until it may be used."""
        at = max(now, self._next_at)
        self._next_at = at + _MINUTE_S * amount / self.per_minute
        return at - now

    def correct(self, amount: float) -> None:
        """Add to what was taken, or give back where negative."""
        self._next_at += _MINUTE_S * amount / self.per_minute


class Limiter:
    """
    The places of one key: halved at once when the provider says it is too much, won back step by step.

    Source:
        Chiu and Jain (1989), additive increase and multiplicative decrease: keys shared with others find a fair share.
    """

    def __init__(self) -> None:
        self.places = 1.0
        """Requests in flight at most, its whole part."""
        self.requests: Pace | None = None
        self.tokens: Pace | None = None
        self._most = 0
        self._in_flight = 0
        self._lowered_at = -math.inf
        self._usual_tokens = 0.0
        self._pause = _Pause()
        self._waiting: deque[asyncio.Future[None]] = deque()

    def open(self, *, concurrency: int, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        """Take in a target's wishes. The most places that one wants, and the least pace."""
        if concurrency > self._most:
            self._most, self.places = concurrency, float(concurrency)
        self.requests = _slower(self.requests, requests_per_minute)
        self.tokens = _slower(self.tokens, tokens_per_minute)

    @contextlib.asynccontextmanager
    async def turn(self, waits: Waits, patience: Patience, *, guess: float) -> AsyncIterator[Turn]:
        """
        Wait for leave to send one request, and hold a place while it is under way.

        Args:
            waits: What this run has waited; added to.
            patience: Its ceilings.
            guess: Tokens the request costs at least; what others of this key cost counts where that is more.

        Raises:
            WaitTooLong: The server told to wait longer than a ceiling allows.
        """
        tokens = max(guess, self._usual_tokens)
        await self._enter(waits, patience, tokens)
        try:
            yield Turn(_now(), tokens)
        finally:
            self._leave()

    def pause(self, seconds: float, *, why: str) -> None:
        """Let nobody send for so many seconds, because a server told so."""
        until = _now() + seconds
        if until > self._pause.until:
            self._pause = _Pause(until, seconds, why)

    def lower(self, turn: Turn) -> None:
        """A rate limit: half the places, at once. Those that were under way when it struck lower no further."""
        if turn.taken_at >= self._lowered_at:
            self.places = max(1.0, self.places / 2)
            self._lowered_at = _now()

    def rise(self) -> None:
        """A request went through: one place more for each round of them."""
        self.places = min(float(self._most), self.places + 1 / self.places)
        self._let_in()

    def settle(self, turn: Turn, tokens: float) -> None:
        """Count what a request really cost instead of what was guessed."""
        if self.tokens is not None:
            self.tokens.correct(tokens - turn.tokens)
        turn.tokens = tokens
        self._usual_tokens += (tokens - self._usual_tokens) * (_NEWEST if self._usual_tokens else 1)

    async def _enter(self, waits: Waits, patience: Patience, tokens: float) -> None:
        while True:
            await self._wait_as_told(waits, patience)
            await _timed(waits, self._take_place())
            try:
                await _timed(waits, self._keep_pace(tokens))
            except BaseException:
                self._leave()
                raise
            # Whoever waited for a place or for its minute may have been overtaken by a server's word.
            if self._pause.until <= _now():
                return
            self._leave()

    async def _wait_as_told(self, waits: Waits, patience: Patience) -> None:
        while (left := self._pause.until - _now()) > 0:
            check_told(left, waits, patience, why=self._pause.why)
            await sleep(left + retrying.jitter_s(self._pause.told_s), waits)

    async def _take_place(self) -> None:
        if self._in_flight < int(self.places):
            self._in_flight += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave()
            raise

    async def _keep_pace(self, tokens: float) -> None:
        now = _now()
        delays = [pace.take(amount, now=now) for pace, amount in ((self.requests, 1.0), (self.tokens, tokens)) if pace]
        if (delay := max(delays, default=0.0)) > 0:
            await asyncio.sleep(delay)

    def _leave(self) -> None:
        self._in_flight -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._in_flight < int(self.places):
            place = self._waiting.popleft()
            if not place.done():
                self._in_flight += 1
                place.set_result(None)


async def sleep(seconds: float, waits: Waits) -> None:
    """Wait, and count it against the run's ceiling."""
    waits.patience_s += seconds
    waits.all_s += seconds
    await asyncio.sleep(seconds)


def check_told(seconds: float, waits: Waits, patience: Patience, *, why: str) -> None:
    """
    Refuse to wait as a server told where that is beyond a ceiling.

    Raises:
        WaitTooLong: `why`, and which ceiling.
    """
    if seconds > patience.max_wait_s:
        raise WaitTooLong(f"{why}: told to wait longer than max_wait_s ({patience.max_wait_s:g} s)")
    check_run(seconds, waits, patience, why=why)


def check_run(seconds: float, waits: Waits, patience: Patience, *, why: str) -> None:
    """
    Refuse a wait that one run has no patience left for.

    Raises:
        WaitTooLong: `why`, and the ceiling.
    """
    if waits.patience_s + seconds > patience.max_run_wait_s:
        raise WaitTooLong(f"{why}: one run would wait longer than max_run_wait_s ({patience.max_run_wait_s:g} s)")


_of_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Limiter]] = weakref.WeakKeyDictionary()


def limiter_of(identity: str) -> Limiter:
    """The limiter of a key at a host (`credentials.identity`), one for all who use it in this event loop."""
    return _of_loop.setdefault(asyncio.get_running_loop(), {}).setdefault(identity, Limiter())


async def _timed(waits: Waits, waiting: Awaitable[None]) -> None:
    started = _now()
    try:
        await waiting
    finally:
        waits.all_s += _now() - started


def _slower(pace: Pace | None, per_minute: float | None) -> Pace | None:
    if per_minute is None:
        return pace
    if pace is None:
        return Pace(per_minute)
    pace.per_minute = min(pace.per_minute, per_minute)
    return pace


def _now() -> float:
    return asyncio.get_running_loop().time()
