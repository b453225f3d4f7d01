"""Who may send when: places that shrink and come back, a pace a minute, and nobody before the told moment."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from eval_assets.targets import credentials, limits, retrying
from eval_assets.targets.limits import Limiter, Pace, Turn, WaitTooLong
from eval_assets.targets.retrying import Patience, Waits
from eval_assets.targets.specs import Gemini, Http, HttpRead, OpenAIChat

PATIENCE = Patience(max_attempts=3, max_wait_s=10, max_run_wait_s=20)
T = TypeVar("T")


def limiter_of(concurrency: int = 8, *, requests: float | None = None, tokens: float | None = None) -> Limiter:
    limiter = Limiter()
    limiter.open(concurrency=concurrency, requests_per_minute=requests, tokens_per_minute=tokens)
    return limiter


def in_loop(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


class Crowd:
    """Takes turns until told to leave, and counts how many are in at once."""

    def __init__(self, limiter: Limiter) -> None:
        self.limiter = limiter
        self.inside = 0
        self.turns: list[Turn] = []
        self.leave = asyncio.Event()

    async def one(self) -> None:
        async with self.limiter.turn(Waits(), PATIENCE, guess=0) as turn:
            self.inside += 1
            self.turns.append(turn)
            await self.leave.wait()
            self.inside -= 1


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_no_more_are_in_flight_than_there_are_places() -> None:
    async def run() -> tuple[int, int]:
        crowd = Crowd(limiter_of(3))
        tasks = [asyncio.create_task(crowd.one()) for _ in range(10)]
        await settled()
        most = crowd.inside
        crowd.leave.set()
        await asyncio.gather(*tasks)
        return most, len(crowd.turns)

    assert in_loop(run()) == (3, 10)


def test_a_rate_limit_halves_the_places_once_for_all_that_were_under_way() -> None:
    async def run() -> list[float]:
        limiter = limiter_of(8)
        crowd = Crowd(limiter)
        tasks = [asyncio.create_task(crowd.one()) for _ in range(8)]
        await settled()
        for turn in crowd.turns:
            limiter.lower(turn)
        places = [limiter.places]
        crowd.leave.set()
        await asyncio.gather(*tasks)
        limiter.lower(Turn(asyncio.get_running_loop().time() + 1, 0))
        return [*places, limiter.places]

    assert in_loop(run()) == [4.0, 2.0]


def test_places_come_back_step_by_step_and_never_beyond_what_was_wished() -> None:
    async def run() -> list[int]:
        limiter = limiter_of(4)
        for _ in range(3):
            limiter.lower(Turn(asyncio.get_running_loop().time() + 1, 0))
        seen = [int(limiter.places)]
        for _ in range(30):
            limiter.rise()
            seen.append(int(limiter.places))
        return seen

    seen = in_loop(run())

    assert seen[0] == 1
    assert seen[:4] == [1, 2, 2, 2]
    assert all(after - before in (0, 1) for before, after in itertools.pairwise(seen))
    assert seen[-1] == 4


def test_places_that_come_back_let_in_who_waits() -> None:
    async def run() -> list[int]:
        limiter = limiter_of(2)
        limiter.lower(Turn(asyncio.get_running_loop().time() + 1, 0))
        crowd = Crowd(limiter)
        tasks = [asyncio.create_task(crowd.one()) for _ in range(3)]
        await settled()
        seen = [crowd.inside]
        limiter.rise()
        await settled()
        seen.append(crowd.inside)
        crowd.leave.set()
        await asyncio.gather(*tasks)
        return seen

    assert in_loop(run()) == [1, 2]


def test_who_is_cancelled_while_waiting_leaves_no_hole() -> None:
    async def run() -> int:
        crowd = Crowd(limiter_of(1))
        first, second, third = (asyncio.create_task(crowd.one()) for _ in range(3))
        await settled()
        second.cancel()
        crowd.leave.set()
        await asyncio.gather(first, third)
        with contextlib.suppress(asyncio.CancelledError):
            await second
        return len(crowd.turns)

    assert in_loop(run()) == 2


def test_who_is_cancelled_just_as_a_place_is_free_passes_it_on() -> None:
    async def run() -> int:
        crowd = Crowd(limiter_of(1))
        first, second, third = (asyncio.create_task(crowd.one()) for _ in range(3))
        await settled()
        first.cancel()
        second.cancel()
        crowd.leave.set()
        await asyncio.wait_for(third, 1)
        return len(crowd.turns)

    assert in_loop(run()) == 2


def test_nobody_is_let_in_before_the_told_moment_and_not_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also not those who waited for a place when the word came."""
    monkeypatch.setattr(retrying, "FIRST_BACKOFF_S", 0.1)

    async def run() -> list[float]:
        limiter = limiter_of(16)
        limiter.pause(0.2, why="HTTP 429")
        told = asyncio.get_running_loop().time() + 0.2
        crowd = Crowd(limiter)
        crowd.leave.set()
        await asyncio.gather(*(crowd.one() for _ in range(16)))
        return [turn.taken_at - told for turn in crowd.turns]

    late = in_loop(run())

    assert min(late) >= 0
    assert max(late) - min(late) > 0.02
    assert len({round(seconds, 3) for seconds in late}) > 8


def test_a_told_wait_beyond_the_ceiling_is_refused_at_once() -> None:
    async def run() -> str:
        limiter = limiter_of()
        limiter.pause(3600, why="HTTP 429 from http://h/v1")
        with pytest.raises(WaitTooLong) as caught:
            async with limiter.turn(Waits(), PATIENCE, guess=0):
                raise AssertionError("let in")
        return str(caught.value)

    assert in_loop(run()) == "HTTP 429 from http://h/v1: told to wait longer than max_wait_s (10 s)"


def test_what_one_run_waits_in_all_has_a_ceiling() -> None:
    async def run() -> str:
        limiter = limiter_of()
        limiter.pause(5, why="HTTP 429")
        with pytest.raises(WaitTooLong) as caught:
            async with limiter.turn(Waits(patience_s=16), PATIENCE, guess=0):
                raise AssertionError("let in")
        return str(caught.value)

    assert in_loop(run()) == "HTTP 429: one run would wait longer than max_run_wait_s (20 s)"


def test_requests_of_a_minute_are_spread_over_it() -> None:
    pace = Pace(120)

    waits = [pace.take(1, now=100.0) for _ in range(4)]

    assert waits == [0.0, 0.5, 1.0, 1.5]
    assert pace.take(1, now=200.0) == 0.0


def test_tokens_are_counted_as_they_turn_out() -> None:
    pace = Pace(600)
    pace.take(10, now=0.0)

    pace.correct(90)

    assert pace.take(10, now=0.0) == 10.0


def test_the_pace_that_a_suite_asks_for_ends_no_run() -> None:
    """However long the queue: it is no word of a server's."""

    async def run() -> tuple[float, Waits]:
        limiter, waits = limiter_of(requests=1200), Waits()
        started = asyncio.get_running_loop().time()
        for _ in range(4):
            async with limiter.turn(waits, Patience(1, max_wait_s=0.01, max_run_wait_s=0.01), guess=0):
                pass
        return asyncio.get_running_loop().time() - started, waits

    took, waits = in_loop(run())

    assert took >= 0.15
    assert waits.patience_s == 0
    assert waits.all_s >= 0.14


def test_what_others_cost_is_the_guess_for_the_next() -> None:
    async def run() -> float:
        limiter = limiter_of(tokens=60_000)
        async with limiter.turn(Waits(), PATIENCE, guess=1) as turn:
            limiter.settle(turn, 50)
        async with limiter.turn(Waits(), PATIENCE, guess=1) as turn:
            return turn.tokens

    assert in_loop(run()) == 50


def test_two_targets_on_one_key_share_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE_KEY", "sk-one-111")
    monkeypatch.setenv("OTHER_KEY", "sk-other-222")
    one = OpenAIChat(base_url="https://h/v1", model="a", api_key_env="ONE_KEY")
    same = one.model_copy(update={"model": "b", "base_url": "https://h/v2", "requests_per_minute": 10.0})
    other = one.model_copy(update={"api_key_env": "OTHER_KEY"})
    elsewhere = one.model_copy(update={"base_url": "https://g/v1"})

    assert credentials.identity(one) == credentials.identity(same)
    assert len({credentials.identity(spec) for spec in (one, other, elsewhere)}) == 3

    async def run() -> bool:
        return limits.limiter_of(credentials.identity(one)) is limits.limiter_of(credentials.identity(same))

    assert in_loop(run())


def test_a_key_in_a_header_or_a_query_tells_accounts_apart() -> None:
    gemini = [Gemini(base_url=f"https://h?key=AIza-{n}-canary", model="m") for n in range(2)]
    agents = [
        Http(url="https://h/ask", headers={"x-api-key": f"canary-{n}"}, read=HttpRead(final="text")) for n in range(2)
    ]

    assert len({credentials.identity(spec) for spec in (*gemini, *agents)}) == 4
