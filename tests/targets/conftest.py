"""One small HTTP server that fails in every way a model's server does, and what asks it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput
from eval_assets.targets import opening, retrying
from eval_assets.targets.specs import AnySpec, OpenAIChat


class Request(NamedTuple):
    headers: dict[str, str]
    body: Any
    path: str = ""


class Answer(NamedTuple):
    status: int
    body: str
    content_type: str
    headers: str
    """Further header lines, each ending in CR LF."""


Script = Answer | bytes | None | Callable[[Request], Awaitable[Answer]]
"""An answer; raw bytes before the connection is closed; None to never answer; or a function that decides."""


class FaultServer:
    """Answers `/v1/chat/completions` as told, in order; the last answer repeats. Lives in a thread of its own."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._script: list[Script] = []
        self._loop = asyncio.new_event_loop()
        self._connections: set[asyncio.Task[None]] = set()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def script(self, *answers: Script) -> None:
        self._script = list(answers)

    @staticmethod
    def answer(status: int, body: str, content_type: str = "application/json", headers: str = "") -> Answer:
        return Answer(status, body, content_type, headers)

    def says(self, *documents: Any) -> None:
        self.script(*(self.answer(200, json.dumps(document)) for document in documents))

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while (head := await reader.readuntil(b"\r\n\r\n")) and await self._answer(head, reader, writer):
                pass
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        first, *lines = head.decode().strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        request = Request(headers, json.loads(body), first.split()[1])
        self.requests.append(request)
        step = self._script[0] if len(self._script) == 1 else self._script.pop(0)
        if step is None:
            await asyncio.Event().wait()
        elif isinstance(step, bytes):
            writer.write(step)
            return False
        else:
            writer.write(_encode(step if isinstance(step, Answer) else await step(request)))
        return True


def _encode(answer: Answer) -> bytes:
    body = answer.body.encode()
    head = f"HTTP/1.1 {answer.status} Told\r\ncontent-type: {answer.content_type}\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + answer.headers.encode() + b"\r\n" + body


@pytest.fixture
def server() -> Iterator[FaultServer]:
    server = FaultServer()
    server.says(says("fine"))
    yield server
    server.close()


@pytest.fixture(autouse=True)
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries happen, and wait only as long as a server tells."""
    monkeypatch.setattr(retrying, "FIRST_BACKOFF_S", 0.0)


def says(text: Any = None, *, calls: list[tuple[str, str]] | None = None, **document: Any) -> dict[str, Any]:
    """A chat completion that says `text`, or calls tools."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(calls)
        ]
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {
        "id": "chatcmpl-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": usage,
        **document,
    }


@pytest.fixture
def chat() -> Callable[..., dict[str, Any]]:
    return says


Ask = Callable[..., list[RunOutput]]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Ask a target, opened as the product opens it, `times` at once."""

    def ask_target(
        spec: AnySpec,
        case: Case | None = None,
        *,
        times: int = 1,
        concurrency: int = 4,
        **others: AnySpec,
    ) -> list[RunOutput]:
        asked = case or Case(name="a", input="What is 2 + 2?")

        async def run() -> list[RunOutput]:
            specs = {"it": spec, **others}
            async with opening.open_target("it", specs, folder=tmp_path, concurrency=concurrency) as target:
                return await asyncio.gather(*(target.ask(asked, index, f"run-{index}") for index in range(times)))

        return asyncio.run(run())

    return ask_target


@pytest.fixture
def model(server: FaultServer) -> Callable[..., OpenAIChat]:
    """The spec of a model behind the fault server."""

    def spec(**settings: Any) -> OpenAIChat:
        return OpenAIChat.model_validate({"base_url": server.base_url, "model": "m", **settings})

    return spec
