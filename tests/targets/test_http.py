"""The door to the network: nothing of httpx, aiohttp or a key gets past it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

import aiohttp
import httpx
import pytest

from eval_assets.targets.http import HttpClient, Reply, open_client
from eval_assets.targets.limits import Limiter
from eval_assets.targets.retrying import RETRIED_STATUSES, Patience
from eval_assets.targets.specs import OpenAIChat
from eval_assets.targets.target import Unavailable

URL = "http://127.0.0.1:9/v1"


def post(handler: Any, *, max_attempts: int = 2, secrets: tuple[str, ...] = ()) -> Reply:
    async def run() -> Reply:
        async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as client:
            door = door_of(client, max_attempts=max_attempts, secrets=secrets)
            return await door.post(URL, body=b"{}", headers={})

    return asyncio.run(run())


def door_of(client: httpx.AsyncClient, *, max_attempts: int = 1, secrets: Iterable[str] = ()) -> HttpClient:
    limiter = Limiter()
    limiter.open(concurrency=4, requests_per_minute=None, tokens_per_minute=None)
    patience = Patience(max_attempts, max_wait_s=1, max_run_wait_s=5)
    return HttpClient(client, timeout_s=5, patience=patience, limiter=limiter, secrets=secrets)


def subclasses(kind: type[Exception]) -> Iterator[type[Exception]]:
    for child in kind.__subclasses__():
        yield child
        yield from subclasses(child)


def raised(kind: type[Exception]) -> Exception:
    """One of that kind, whatever arguments its constructor takes: only the kind matters."""
    said = {"__init__": lambda _: None, "__str__": lambda _: "sent with sk-secret"}
    error = type(kind.__name__, (kind,), said)()
    assert isinstance(error, Exception)
    return error


HTTPX = [value for name in httpx.__all__ if isinstance(value := getattr(httpx, name), type)]
HTTPX_ERRORS = [kind for kind in HTTPX if issubclass(kind, Exception)]
AIOHTTP_ERRORS = sorted(set(subclasses(aiohttp.ClientError)), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", HTTPX_ERRORS, ids=lambda kind: kind.__name__)
def test_every_httpx_error_becomes_unavailable(kind: type[Exception]) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise raised(kind)

    with pytest.raises(Unavailable) as caught:
        post(fail, secrets=("sk-secret",))

    assert URL in caught.value.reason
    assert "sk-secret" not in caught.value.reason


@pytest.mark.parametrize("kind", AIOHTTP_ERRORS, ids=lambda kind: kind.__name__)
def test_every_aiohttp_error_that_the_transport_lets_through_becomes_unavailable(kind: type[Exception]) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise raised(kind)

    with pytest.raises(Unavailable) as caught:
        post(fail, secrets=("sk-secret",))

    assert "sk-secret" not in caught.value.reason


@pytest.mark.parametrize("status", sorted(RETRIED_STATUSES & {408, 409, 425, 429, 500, 502, 503, 504, 529}))
def test_a_status_that_may_pass_is_tried_again(status: int) -> None:
    replies = iter([httpx.Response(status), httpx.Response(200, content=b"ok")])

    reply = post(lambda _: next(replies))

    assert (reply.status, reply.body, reply.attempts) == (200, b"ok", 2)


@pytest.mark.parametrize("status", [200, 302, 400, 401, 403, 404, 413, 422])
def test_any_other_status_is_final(status: int) -> None:
    reply = post(lambda _: httpx.Response(status))

    assert (reply.status, reply.attempts) == (status, 1)


def test_the_last_reply_is_handed_over_when_attempts_run_out() -> None:
    reply = post(lambda _: httpx.Response(503, content=b"down"), max_attempts=3)

    assert (reply.status, reply.text, reply.attempts) == (503, "down", 3)


def test_retries_are_not_announced(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is printed into the middle of a report; attempts are kept in the run's output instead."""

    async def run() -> None:
        spec = OpenAIChat(base_url="http://127.0.0.1:1/v1", model="m", max_attempts=2)
        async with open_client(spec, concurrency=1) as client:
            with pytest.raises(Unavailable) as caught:
                await client.post("http://127.0.0.1:1/v1", body=b"", headers={})
            assert caught.value.attempts == 2

    asyncio.run(run())

    assert capsys.readouterr() == ("", "")


def test_cancellation_is_no_failure_of_the_target() -> None:
    asked = asyncio.Event()

    async def wait(_: httpx.Request) -> httpx.Response:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async def run() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(wait)) as client:
            door = door_of(client, max_attempts=3)
            task = asyncio.create_task(door.post(URL, body=b"", headers={}))
            await asked.wait()
            task.cancel()
            await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())


def test_an_excerpt_is_one_short_line_without_secrets() -> None:
    client = door_of(httpx.AsyncClient(), secrets=["sk-1", "sk-123"])

    assert client.excerpt("a\n  b sk-123 sk-1") == "a b *** ***"
    assert client.excerpt("x" * 201) == "x" * 200 + "…"


def test_a_secret_is_blacked_out_before_an_excerpt_is_cut() -> None:
    client = door_of(httpx.AsyncClient(), secrets=["sk-canary-7f3a9d"])

    assert "sk-" not in client.excerpt("x" * 190 + " sk-canary-7f3a9d and more")


def test_an_excerpt_leaves_out_what_differs_from_reply_to_reply() -> None:
    """A report counts reasons; a request id in them would make each its own."""
    client = door_of(httpx.AsyncClient())
    said = "Rate limit for m: Limit 40000, Used 39{0}. Try again in 1.{0}s. (id: req_0a9f{0}, 2026-05-01T10:00:{0}Z)"

    assert client.excerpt(said.format(12)) == client.excerpt(said.format(57))
    assert client.excerpt(said.format(12)).startswith("Rate limit for m: Limit 40000, Used ")
