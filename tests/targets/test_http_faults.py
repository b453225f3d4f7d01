"""A server that does everything wrong, and counts by its own clock: nothing hangs or crashes, nobody is early."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import math
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from eval_assets.targets import retrying
from eval_assets.targets.http import HttpClient, Reply, Streamed, open_client
from eval_assets.targets.specs import OpenAIChat
from eval_assets.targets.sse import StreamBroken
from eval_assets.targets.target import Unavailable

OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"

BOMB = gzip.compress(b"0" * 5_000_000)


class Faults:
    """Answers each request by a coroutine that may write whatever it likes; notes who came when."""

    def __init__(self, answer: Callable[[Faults, asyncio.StreamWriter], Awaitable[bool | None]]) -> None:
        self.answer = answer
        self.arrivals: list[float] = []
        self.heads: list[str] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.told_until = 0.0
        self.everyone = asyncio.Event()
        self.port = 0

    @contextlib.asynccontextmanager
    async def listening(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield f"http{'s' if tls else ''}://127.0.0.1:{self.port}/v1"
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                await reader.readexactly(int(head.lower().partition("content-length:")[2].split("\r\n")[0]))
                self.arrivals.append(time.time())
                self.heads.append(head)
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                try:
                    stays = await self.answer(self, writer)
                    await writer.drain()
                finally:
                    self.in_flight -= 1
                if not stays:
                    break
        writer.close()


def asked(
    answer: Callable[[Faults, asyncio.StreamWriter], Awaitable[bool | None]],
    *,
    times: int = 1,
    concurrency: int = 8,
    ask: Callable[[HttpClient, str], Awaitable[Any]] | None = None,
    **settings: Any,
) -> tuple[list[Any], Faults]:
    """Ask a server that faults, so many times at once; what came of each, and the server."""

    async def run() -> tuple[list[Any], Faults]:
        faults = Faults(answer)
        async with faults.listening() as url:
            spec = OpenAIChat.model_validate({"base_url": url, "model": "m", "timeout_s": 5, **settings})
            async with open_client(spec, concurrency=concurrency) as client:
                each = (ask or post)(client, f"{url}/chat/completions")
                rest = ((ask or post)(client, f"{url}/chat/completions") for _ in range(times - 1))
                return await asyncio.gather(each, *rest, return_exceptions=True), faults

    return asyncio.run(run())


async def post(client: HttpClient, url: str) -> Reply:
    return await client.post(url, body=b"{}", headers={})


def reason(found: Any) -> str:
    assert isinstance(found, Unavailable)
    return found.reason


async def drop(_: Faults, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-le")


async def hang(_: Faults, writer: asyncio.StreamWriter) -> None:
    await writer.wait_closed()


async def drip(_: Faults, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
    while not writer.transport.is_closing():
        writer.write(b"x")
        await asyncio.sleep(0.02)


async def cut(_: Faults, writer: asyncio.StreamWriter) -> None:
    writer.write(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"choices": [')


async def huge(_: Faults, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 50000000\r\n\r\n")
    with contextlib.suppress(ConnectionError):
        for _piece in range(500):
            writer.write(b"x" * 100_000)
            await writer.drain()


async def bomb(_: Faults, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(BOMB) + BOMB)


async def redirect(faults: Faults, writer: asyncio.StreamWriter) -> bool:
    writer.write(
        b"HTTP/1.1 307 Loop\r\nlocation: http://localhost:%d/v1/chat/completions\r\ncontent-length: 0\r\n\r\n"
        % faults.port
    )
    return True


async def no_http(_: Faults, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\xff\xfe\x00SSH-2.0-OpenSSH\r\n\r\n")


@pytest.mark.parametrize(
    ("fault", "said", "attempts"),
    [
        (drop, "closed the connection without an answer", 2),
        (hang, "within 0.3 s", 2),
        (drip, "within 0.3 s", 2),
        (cut, "", 2),
        (huge, "is larger than max_body_mb (1 MB)", 1),
        (bomb, "is larger than max_body_mb (1 MB)", 1),
        (no_http, "no readable answer", 2),
    ],
)
def test_no_fault_hangs_or_crashes_a_run(fault: Any, said: str, attempts: int) -> None:
    started = time.monotonic()

    timeout_s = 0.3 if "within" in said else 30
    [found], faults = asked(fault, timeout_s=timeout_s, max_attempts=2, max_body_mb=1)

    assert time.monotonic() - started < 10
    assert said in reason(found)
    assert (found.attempts, len(faults.arrivals)) == (attempts, attempts)


def test_the_same_fault_reads_the_same_each_time() -> None:
    """A report counts reasons."""
    for fault in (drop, hang, cut, no_http):
        found, _ = asked(fault, times=4, timeout_s=0.2, max_attempts=1)

        assert len({reason(failure) for failure in found}) == 1


def test_a_redirect_is_not_followed() -> None:
    """A key that is sent along would go to whoever the server names."""
    [reply], faults = asked(redirect)

    assert (reply.status, len(faults.arrivals)) == (307, 1)


async def _storm(faults: Faults, writer: asyncio.StreamWriter, wave: int, tell: Callable[[], bytes]) -> bool:
    """The first `wave` requests are told to come back, all at the same moment; whoever comes later is answered."""
    if len(faults.arrivals) <= wave:
        if len(faults.arrivals) == wave:
            faults.everyone.set()
        await faults.everyone.wait()
        writer.write(b"HTTP/1.1 429 Slow\r\ncontent-length: 0\r\n" + tell() + b"\r\n")
    else:
        writer.write(OK)
    return True


@pytest.mark.parametrize("form", ["seconds", "date", "milliseconds", "reset"])
def test_nobody_comes_back_sooner_than_told(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """24 runs, 8 at a time: the 8 who were told, and the 16 who were not but have the same key."""
    monkeypatch.setattr(retrying, "FIRST_BACKOFF_S", 0.2)
    told: list[float] = []

    def tell() -> bytes:
        now = time.time()
        moment = {"seconds": now + 1, "date": math.ceil(now + 0.2), "milliseconds": now + 0.3, "reset": now + 0.3}[form]
        told.append(moment)
        return {
            "seconds": b"retry-after: 1\r\n",
            "date": b"retry-after: %s\r\n" % formatdate(moment, usegmt=True).encode(),
            "milliseconds": b"retry-after-ms: 300\r\n",
            "reset": b"x-ratelimit-remaining-requests: 0\r\nx-ratelimit-reset-requests: 300ms\r\n",
        }[form]

    async def answer(faults: Faults, writer: asyncio.StreamWriter) -> bool:
        return await _storm(faults, writer, 8, tell)

    found, faults = asked(answer, times=24)

    late = [arrival - max(told) for arrival in faults.arrivals[8:]]
    assert [reply.status for reply in found] == [200] * 24
    assert sorted(reply.attempts for reply in found) == [1] * 16 + [2] * 8
    assert len(late) == 24
    assert min(late) >= -0.001  # the two clocks are read one after the other
    assert max(late) - min(late) > 0.02


def test_a_rate_limit_lowers_how_many_ask_at_once() -> None:
    async def answer(faults: Faults, writer: asyncio.StreamWriter) -> bool:
        if len(faults.arrivals) == 9:
            faults.most_in_flight = 0
        if len(faults.arrivals) > 8:
            await asyncio.sleep(0.01)
        return await _storm(faults, writer, 8, lambda: b"retry-after-ms: 50\r\n")

    found, faults = asked(answer, times=8)

    assert [reply.status for reply in found] == [200] * 8
    assert faults.most_in_flight <= 6


def test_a_told_wait_beyond_the_ceiling_ends_every_run_of_the_key_at_once() -> None:
    async def answer(_: Faults, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 429 Slow\r\ncontent-length: 0\r\nretry-after: 7200\r\n\r\n")
        return True

    started = time.monotonic()
    found, faults = asked(answer, times=40, concurrency=4)

    assert time.monotonic() - started < 1
    assert len(faults.arrivals) <= 4
    assert len({reason(failure) for failure in found}) == 1
    assert reason(found[0]).endswith("/v1/chat/completions: told to wait longer than max_wait_s (60 s)")


def test_a_storm_that_does_not_end_leaves_a_rate_limited_reply() -> None:
    async def answer(_: Faults, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 429 Slow\r\ncontent-length: 0\r\nretry-after-ms: 20\r\n\r\n")
        return True

    found, faults = asked(answer, times=4, max_attempts=3)

    assert [(reply.status, reply.attempts) for reply in found] == [(429, 3)] * 4
    assert len(faults.arrivals) == 12


def test_all_waits_of_one_run_have_a_ceiling() -> None:
    async def answer(_: Faults, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nretry-after-ms: 100\r\n\r\n")
        return True

    [found], faults = asked(answer, max_attempts=100, max_run_wait_s=0.25)

    assert "one run would wait longer than max_run_wait_s (0.25 s)" in reason(found)
    assert len(faults.arrivals) == found.attempts == 3


def test_requests_per_minute_hold_on_the_servers_clock() -> None:
    async def answer(_: Faults, writer: asyncio.StreamWriter) -> bool:
        writer.write(OK)
        return True

    _, faults = asked(answer, times=6, requests_per_minute=1200)

    assert faults.arrivals[-1] - faults.arrivals[0] >= 0.24


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


async def read(chunks: AsyncIterator[bytes]) -> bytes:
    whole = b"".join([chunk async for chunk in chunks])
    if b"overloaded_error" in whole:
        raise StreamBroken("overloaded_error: Overloaded")
    if b"[DONE]" not in whole:
        raise StreamBroken("the stream ended before its end")
    return whole


async def stream(client: HttpClient, url: str) -> Streamed[bytes]:
    return await client.post_streaming(url, body=b"{}", headers={}, read=read)


def test_overload_inside_a_stream_is_tried_again() -> None:
    async def answer(faults: Faults, writer: asyncio.StreamWriter) -> None:
        last = len(faults.arrivals) == 2
        writer.write(STREAM + (b"data: [DONE]\n\n" if last else b'data: {"type": "overloaded_error"}\n\n'))

    [streamed], faults = asked(answer, ask=stream)

    assert (streamed.made, streamed.reply.attempts) == (b"data: [DONE]\n\n", 2)
    assert len(faults.arrivals) == 2


def test_a_stream_that_is_always_cut_is_unavailable() -> None:
    async def answer(_: Faults, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + b'data: {"a"')

    [found], faults = asked(answer, ask=stream, max_attempts=2)

    assert reason(found).endswith("streamed no whole answer: the stream ended before its end")
    assert len(faults.arrivals) == 2


def test_a_stream_that_does_not_end_is_capped() -> None:
    async def answer(_: Faults, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        with contextlib.suppress(ConnectionError):
            for _piece in range(500):
                writer.write(b"data: {}\n\n" * 10_000)
                await writer.drain()

    [found], _ = asked(answer, ask=stream, max_body_mb=1)

    assert "larger than max_body_mb" in reason(found)


def test_a_server_that_nobody_vouches_for_is_not_spoken_to(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*make.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)

    async def answer(_: Faults, writer: asyncio.StreamWriter) -> bool:
        writer.write(OK)
        return True

    async def run() -> tuple[str, int]:
        faults = Faults(answer)
        async with (
            faults.listening(tls) as url,
            open_client(OpenAIChat(base_url=url, model="m"), concurrency=1) as door,
        ):
            with pytest.raises(Unavailable) as caught:
                await post(door, url)
        return f"{caught.value.attempts} {caught.value.reason}", len(faults.heads)

    said, spoken = asyncio.run(run())

    assert said.startswith("1 could not trust https://127.0.0.1")
    assert "self-signed certificate" in said
    assert spoken == 0


def test_a_proxy_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(_: Faults, writer: asyncio.StreamWriter) -> bool:
        writer.write(OK)
        return True

    async def run() -> tuple[int, str]:
        faults = Faults(answer)
        async with faults.listening() as url:
            monkeypatch.setenv("HTTP_PROXY", url.removesuffix("/v1"))
            spec = OpenAIChat(base_url="http://model.invalid/v1", model="m")
            async with open_client(spec, concurrency=1) as client:
                reply = await post(client, "http://model.invalid/v1/chat/completions")
        return reply.status, faults.heads[0].splitlines()[0]

    for name in ("http_proxy", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)

    assert asyncio.run(run()) == (200, "POST http://model.invalid/v1/chat/completions HTTP/1.1")


def test_a_key_in_the_query_is_sent_and_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")

    async def answer(faults: Faults, writer: asyncio.StreamWriter) -> bool:
        line = faults.heads[-1].splitlines()[0].encode()
        writer.write(b"HTTP/1.1 403 No\r\ncontent-length: %d\r\n\r\n" % len(line) + line)
        return True

    async def run() -> tuple[str, str]:
        faults = Faults(answer)
        async with faults.listening() as url:
            spec = OpenAIChat(base_url=f"{url}?key=AIza-canary-1&alt=sse", model="m")
            async with open_client(spec, concurrency=1) as client:
                reply = await post(client, f"{spec.base_url}/chat/completions")
                return faults.heads[0], client.excerpt(reply.text)

    sent, shown = asyncio.run(run())

    assert "POST /v1/chat/completions?key=AIza-canary-1&alt=sse HTTP/1.1" in sent
    assert shown == "POST /v1/chat/completions?key=***&alt=sse HTTP/1.1"
    assert "AIza" not in caplog.text


def test_a_target_on_the_same_key_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second has another model and another client, and was never refused itself."""
    monkeypatch.setenv("ONE_KEY", "sk-canary-1")

    async def answer(faults: Faults, writer: asyncio.StreamWriter) -> bool:
        return await _storm(faults, writer, 1, lambda: b"retry-after-ms: 300\r\n")

    async def run() -> Faults:
        faults = Faults(answer)
        async with faults.listening() as url:
            specs = [OpenAIChat(base_url=url, model=model, api_key_env="ONE_KEY") for model in ("a", "b")]
            async with open_client(specs[0], concurrency=2) as one, open_client(specs[1], concurrency=2) as other:
                first = asyncio.create_task(post(one, url))
                await faults.everyone.wait()
                await asyncio.sleep(0.05)
                await post(other, url)
                await first
        return faults

    faults = asyncio.run(run())

    assert len(faults.arrivals) == 3
    assert min(faults.arrivals[1:]) - faults.arrivals[0] >= 0.299
