"""What crosses modules: a server that counts what it is asked, projects, and the command line as a process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


class CountingServer:
    """
    Speaks chat completions on a free loopback port, echoes the last message, and counts.

    `content_of` says what to answer a body instead; None is HTTP 503. `usage_of` says what the n-th reply reports.
    `hold_after` answers that many requests and then keeps every further one waiting, so that a test can act in the
    middle of an evaluation without guessing when that is.
    """

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[str] = []
        self.answered = 0
        self.hold_after: int | None = None
        self.content_of: Callable[[dict[str, Any]], str | None] = lambda body: body["messages"][-1]["content"]
        self.usage_of: Callable[[int], Any] = lambda _: {"prompt_tokens": 3, "completion_tokens": 2}
        self.held = threading.Event()
        self.idle = threading.Event()
        self._connections = 0
        self._loop = asyncio.new_event_loop()
        self._release = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._ready = threading.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(10)

    def stop(self) -> None:
        """Close the port; a test may have done so before its fixture does."""
        if not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def release(self) -> None:
        """Answer whoever waits, and hold no one any more."""
        self.hold_after = None
        self._loop.call_soon_threadsafe(self._release.set)

    def hold(self, *, after: int) -> None:
        """Answer so many requests in all, and keep every further one waiting."""
        self.hold_after = after
        self.held.clear()
        self._loop.call_soon_threadsafe(self._release.clear)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._connection, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        server.close()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        self.idle.clear()
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await self._exchange(head.decode(), reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except asyncio.CancelledError:
            pass
        finally:
            writer.close()
            self._connections -= 1
            if not self._connections:
                self.idle.set()

    async def _exchange(self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        length = next(
            int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length")
        )
        body = json.loads(await reader.readexactly(length))
        self.asked.append(body)
        self.headers.append(head)
        if self.hold_after is not None and self.answered >= self.hold_after:
            self.held.set()
            await self._release.wait()
        content = self.content_of(body)
        reply = {
            "id": f"reply-{len(self.asked)}",
            "model": body["model"],
            "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
            "usage": self.usage_of(len(self.asked)),
        }
        sent = json.dumps(reply).encode() if content is not None else b"down"
        status = b"200 OK" if content is not None else b"503 Service Unavailable"
        kind = b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(sent)
        writer.write(b"HTTP/1.1 " + status + b"\r\n" + kind + sent)
        await writer.drain()
        self.answered += 1


@pytest.fixture
def server() -> Iterator[CountingServer]:
    """A counting server, running."""
    running = CountingServer()
    running.start()
    yield running
    running.stop()


SUITE = """\
name: echo
cases: cases.jsonl
runs: 5
concurrency: 4
targets:
  old: {{kind: openai_chat, base_url: "{url}", model: m-1, api_key_env: ECHO_KEY}}
  new: {{kind: openai_chat, base_url: "{url}", model: m-2, api_key_env: ECHO_KEY}}
baseline: old
candidates: [new]
metrics: [no_error, contains_want]
gate: {{test: pooled}}
"""
KEY = "sk-canary-7f3a9d"


@pytest.fixture(scope="session")
def key() -> str:
    """The key that the project's targets send."""
    return KEY


@pytest.fixture
def project(tmp_path: Path, server: CountingServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight cases that an echo answers rightly, five runs each: forty runs a target."""
    monkeypatch.setenv("ECHO_KEY", KEY)
    monkeypatch.delenv("EVAL_ASSETS_HOME", raising=False)
    cases = [{"name": f"c{n}", "input": f"word{n}", "want": f"word{n}"} for n in range(8)]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (tmp_path / "suite.yaml").write_text(SUITE.format(url=server.url))
    return tmp_path


# A shell starts what it puts into the background with Ctrl-C ignored, and CI may be such a shell.
COMMAND = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from eval_assets.cli.main import main; main()"
)


@pytest.fixture
def spawn(project: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start `eval-assets …` in the project as a process of its own; killed at the end if it still runs."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *arguments],
            cwd=project,
            env=os.environ | {"ECHO_KEY": KEY},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def call(spawn: Callable[..., subprocess.Popen[str]]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `eval-assets …` in the project to its end."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        process = spawn(*arguments)
        out, err = process.communicate(timeout=100)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    return run
