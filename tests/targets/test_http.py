"""The door to the network: nothing of httpx, aiohttp or a key gets past it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import aiohttp
import httpx
import pytest
import stamina

from eval_assets.targets.http import RETRIED_STATUSES, HttpClient, Reply, open_client
from eval_assets.targets.target import Unavailable

URL = "http://127.0.0.1:9/v1"


def post(handler: Any, *, max_attempts: int = 2, secrets: tuple[str, ...] = ()) -> Reply:
    async def run() -> Reply:
        async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as client:
            door = HttpClient(client, timeout_s=5, max_attempts=max_attempts, secrets=secrets)
            return await door.post(URL, body=b"{}", headers={})

    return asyncio.run(run())


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


def test_a_server_may_say_when_to_come_back() -> None:
    """`Retry-After: 0` is obeyed with real backoff on: the wait of the first retry would be 0.2 s or more."""
    replies = iter([httpx.Response(429, headers={"retry-after": "0"}), httpx.Response(200)])
    stamina.set_testing(False)
    stamina.instrumentation.set_on_retry_hooks([lambda details: waits.append(details.wait_for)])
    waits: list[float] = []
    try:
        post(lambda _: next(replies))
    finally:
        stamina.instrumentation.set_on_retry_hooks([])

    assert waits == [0.0]


def test_retries_are_not_announced(capsys: pytest.CaptureFixture[str]) -> None:
    """Stamina's default hook prints where structlog is installed, into the middle of a report."""

    async def run() -> None:
        stamina.instrumentation.set_on_retry_hooks(None)
        async with open_client(concurrency=1, timeout_s=1, max_attempts=2) as client:
            with pytest.raises(Unavailable):
                await client.post("http://127.0.0.1:1/v1", body=b"", headers={})

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
            door = HttpClient(client, timeout_s=60, max_attempts=3, secrets=())
            task = asyncio.create_task(door.post(URL, body=b"", headers={}))
            await asked.wait()
            task.cancel()
            await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())


def test_an_excerpt_is_one_short_line_without_secrets() -> None:
    client = HttpClient(httpx.AsyncClient(), timeout_s=1, max_attempts=1, secrets=["sk-1", "sk-123"])

    assert client.excerpt("a\n  b sk-123 sk-1") == "a b *** ***"
    assert client.excerpt("x" * 201) == "x" * 200 + "…"
