"""A key is sent to its server and written nowhere, whatever the server does with it."""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dagster as dg
import duckdb
import pytest

from eval_assets.cli import main
from eval_assets.defs import assets, checks, keys, partitions, resources
from eval_assets.suite import load_suite

Call = Callable[..., "subprocess.CompletedProcess[str]"]
Spawn = Callable[..., "subprocess.Popen[str]"]

CANARY = {
    "key": "sk-canary/7f3a9d+k=",
    "header": "hdr-canary-5e1c",
    "basic": "pass-canary-91b0",
    "query": "AIza-canary-44aa",
}
BASIC = base64.b64encode(f"me:{CANARY['basic']}".encode()).decode()
TRACES = sorted(
    {
        form
        for secret in CANARY.values()
        for form in (
            secret,
            quote(secret, safe=""),
            secret[:12],
            base64.b64encode(secret.encode()).decode().rstrip("="),
        )
    }
    | {BASIC}
)
"""What must be found nowhere; the beginnings too, because a key that was cut in two is still half a key."""
WAYS = ("text", "argument", "result", "id", "finish", "unauthorized", "html", "long", "overload", "encoded")


class Echo(BaseHTTPRequestHandler):
    """Sends whatever it was sent back, in the way that the last message names."""

    protocol_version = "HTTP/1.1"
    seen: list[str]
    held: threading.Event
    released: threading.Event

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        told = " ".join([self.path, *(str(value) for value in self.headers.values())])
        self.seen.append(told)
        way = str(body["messages"][-1]["content"])
        if way == "hold":
            self.held.set()
            self.released.wait(60)
        status, kind, answer = self._answer(way, told)
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(answer)

    def _answer(self, way: str, told: str) -> tuple[int, str, bytes]:
        key = CANARY["key"]
        if way in ("unauthorized", "overload"):
            status = 401 if way == "unauthorized" else 503
            return status, "application/json", json.dumps({"error": {"message": f"refused {told}"}}).encode()
        if way == "html":
            return 200, "text/html", f"<html>{told}</html>".encode()
        if way == "long":
            return 500, "text/plain", ("x" * 190 + " " + told).encode()
        texts = {"encoded": f"{quote(key, safe='')} {base64.b64encode(key.encode()).decode()} {key.encode().hex()}"}
        message: dict[str, Any] = {"role": "assistant", "content": texts.get(way, f"I was sent {told}")}
        if way == "argument":
            function = {"name": "look", "arguments": json.dumps({"with": told})}
            message["tool_calls"] = [{"id": key, "type": "function", "function": function}]
        reply = {
            "id": f"reply {told}" if way == "id" else f"r{len(self.seen)}",
            "model": told,
            "choices": [{"finish_reason": told if way == "finish" else "stop", "message": message}],
        }
        return 200, "application/json", json.dumps(reply).encode()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def echo() -> Iterator[ThreadingHTTPServer]:
    """A server that echoes; `RequestHandlerClass.seen` is what it was sent."""
    handler = type("Handler", (Echo,), {"seen": [], "held": threading.Event(), "released": threading.Event()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    handler.released.set()  # type: ignore[attr-defined]  # of the class made above
    server.shutdown()
    server.server_close()


CHAT = """\
{{kind: openai_chat, base_url: "http://127.0.0.1:{port}/v1?key={query}&alt=json", api_key_env: LEAKY_KEY,
    max_attempts: 1, headers: {{X-Api-Token: "{header}", Proxy-Authorization: "Basic {basic}"}}"""
SUITE = """\
name: leaky
cases: cases.jsonl
runs: 1
concurrency: 3
targets:
  old: {chat}, model: m-1}}
  new: {chat}, model: m-2}}
  tool: {{kind: agent, model: old, max_turns: 2, tools: [{{name: look, function: "leaky_tools:look"}}]}}
  code: {{kind: python, function: "leaky_tools:answer"}}
baseline: old
candidates: [new, tool, code]
metrics: [no_error, contains: canary]
gate: {{test: pooled}}
"""
TOOLS = """\
import os

def look(**asked):
    raise ValueError(f"cannot look with {os.environ['LEAKY_KEY']} {asked}")

def answer(text):
    raise RuntimeError(f"no answer with {os.environ['LEAKY_KEY']}")
"""


@pytest.fixture
def leaky(project: Path, echo: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose every target carries canaries, and whose server gives them back in every way."""
    monkeypatch.setenv("LEAKY_KEY", CANARY["key"])
    monkeypatch.syspath_prepend(str(project))
    monkeypatch.setitem(sys.modules, "leaky_tools", None)
    monkeypatch.delitem(sys.modules, "leaky_tools")
    (project / "leaky_tools.py").write_text(TOOLS)
    (project / "cases.jsonl").write_text("".join(json.dumps({"name": way, "input": way}) + "\n" for way in WAYS))
    written = {name: value for name, value in CANARY.items() if name in ("header", "query")}
    chat = CHAT.format(port=echo.server_address[1], basic=BASIC, **written)
    (project / "suite.yaml").write_text(SUITE.format(chat=chat))
    return project


def leaks(text: str) -> list[str]:
    return [trace for trace in TRACES if trace in text]


def leaking_files(project: Path) -> dict[str, list[str]]:
    """What was found where, in every file but the suite itself, which holds what its writer put there."""
    files = [path for path in project.rglob("*") if path.is_file() and path.name != "suite.yaml"]
    assert len(files) > 3
    found = {str(path.relative_to(project)): leaks(path.read_bytes().decode(errors="replace")) for path in files}
    return {path: traces for path, traces in found.items() if traces}


def everything_stored(home: Path) -> str:
    """Every row of every table and view: the file itself is compressed."""
    with duckdb.connect(str(home / "eval.duckdb"), read_only=True) as connection:
        tables = connection.execute("select table_name from information_schema.tables").fetchall()
        return "\n".join(str(connection.execute(f'from "{name}"').fetchall()) for (name,) in tables)


def test_a_key_is_in_no_file_and_no_output(
    leaky: Path, echo: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """By the command line: outputs, journals, store, JSON, Markdown, cassette, and what is printed."""
    monkeypatch.chdir(leaky)
    for target in ("old", "new", "tool", "code"):
        main.run(["run", ".", target, "--json", f"{target}.json", "--record", f"{target}.cassette"])
        main.run(["report", ".", target, "--markdown", f"{target}.md"])
    for candidate in ("new", "tool", "code"):
        main.run(["gate", ".", candidate, "--json", "gate.json", "--markdown", "gate.md"])
    main.run(["sql", "from run_outputs", "--json"])
    said = "".join(capfd.readouterr())

    seen = "".join(echo.RequestHandlerClass.seen)  # type: ignore[attr-defined]  # of the fixture's class
    assert all(secret in seen for secret in (CANARY["key"], CANARY["header"], BASIC, CANARY["query"]))
    stored = everything_stored(leaky / ".eval_assets")
    assert stored.count("***") > 20
    assert leaks(stored) == []
    assert leaking_files(leaky) == {}
    assert leaks(said) == []


def test_a_key_is_in_no_journal_while_it_is_written(leaky: Path, spawn: Spawn, echo: ThreadingHTTPServer) -> None:
    with (leaky / "cases.jsonl").open("a") as cases:
        cases.write(json.dumps({"name": "hold", "input": "hold"}) + "\n")
    running = spawn("run", ".", "old")
    assert echo.RequestHandlerClass.held.wait(60)  # type: ignore[attr-defined]  # of the fixture's class
    running.kill()
    said = "".join(running.communicate())

    (journal,) = (leaky / ".eval_assets" / "journals").glob("*.jsonl")
    assert len(journal.read_text().splitlines()) > len(WAYS) - 3
    assert leaking_files(leaky) == {}
    assert leaks(said) == []


def test_a_key_is_in_nothing_that_dagster_keeps(
    leaky: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    suite = load_suite(leaky)
    (leaky / "instance").mkdir()
    with dg.DagsterInstance.local_temp(str(leaky / "instance")) as instance:
        instance.add_dynamic_partitions(partitions.candidates_of(suite.name).name or "", ["new"])
        baseline = [keys.case_set(suite.name), *(keys.baseline(suite.name, step) for step in keys.STEPS)]
        for selection, partition in ((baseline, None), (keys.candidate_keys(suite.name), "new")):
            dg.materialize(
                [*assets.build_assets(suite), *checks.build_checks(suite.name)],
                selection=dg.AssetSelection.assets(*selection),
                partition_key=partition,
                instance=instance,
                resources={resources.key(suite.name): resources.WorkspaceResource(suite_file=str(suite.path))},
                raise_on_error=False,
            )
    said = "".join(capfd.readouterr()) + caplog.text

    assert leaks(everything_stored(leaky / ".eval_assets")) == []
    assert any("instance" in path.parts and path.suffix == ".db" for path in leaky.rglob("*"))
    assert leaking_files(leaky) == {}
    assert leaks(said) == []


def test_a_suite_that_is_wrong_does_not_say_its_keys(leaky: Path, capfd: pytest.CaptureFixture[str]) -> None:
    suite = (leaky / "suite.yaml").read_text()
    wrong = (
        suite.replace("http://127", "ftp://127"),
        suite.replace("http://127", f"http://me:{CANARY['basic']}@127"),
        suite.replace("model: m-1", "model: []"),
        suite.replace("max_attempts: 1", "max_attempts: 0"),
        suite.replace('X-Api-Token: "', 'X-Api-Token: "\\n'),
        suite.replace("max_attempts: 1", "max_attempts: 1, nonsense: 1"),
    )

    for text in wrong:
        (leaky / "suite.yaml").write_text(text)
        assert main.run(["check", str(leaky)]) == 2

    assert leaks("".join(capfd.readouterr())) == []


def test_a_key_of_an_honest_server_goes_out(server: Any, call: Call, project: Path, key: str) -> None:
    """The other half of the promise: it is sent, with every request."""
    assert call("run", ".", "old").returncode == 0

    assert len(server.headers) == 40
    assert all(key in head for head in server.headers)
