"""Chat completions over a real loopback server: what is sent, how replies are read, how bad servers are told apart."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from eval_assets.errors import ConfigError
from eval_assets.model.cases import Case
from eval_assets.model.runs import Usage
from eval_assets.targets.specs import OpenAIChat

if TYPE_CHECKING:
    from tests.targets.conftest import Answer, Ask, FaultServer, Request

Model = Callable[..., OpenAIChat]
Chat = Callable[..., dict[str, Any]]

KEY = "sk-very-secret-0123456789"
HTML = "<!DOCTYPE html><html><body>Welcome to nginx</body></html>"


def test_asks_with_everything_the_spec_says(server: FaultServer, model: Model, ask: Ask) -> None:
    tool = {"type": "function", "function": {"name": "look_up", "parameters": {}}}
    spec = model(system="Be brief.", temperature=0.7, seed=3, max_tokens=9, tools=[tool], extra={"top_p": 0.9})

    ask(spec)

    assert server.requests[0].body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 2 + 2?"}],
        "temperature": 0.7,
        "seed": 3,
        "max_tokens": 9,
        "tools": [tool],
        "top_p": 0.9,
    }


def test_settings_that_are_not_given_are_not_sent(server: FaultServer, model: Model, ask: Ask) -> None:
    ask(model())

    assert set(server.requests[0].body) == {"model", "messages"}


def test_the_case_offers_its_own_tools(server: FaultServer, model: Model, ask: Ask) -> None:
    tool = {"name": "look_up", "parameters": {"type": "object"}}

    ask(model(), Case(name="a", input="x", tools=(tool,)))

    assert server.requests[0].body["tools"] == [{"type": "function", "function": tool}]


def test_key_and_headers_are_sent_and_runs_are_named(
    server: FaultServer, model: Model, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)

    ask(model(api_key_env="SOME_KEY", headers={"X-Tenant": "blue"}), times=2)

    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert {request.headers["x-tenant"] for request in server.requests} == {"blue"}
    assert {request.headers["x-eval-run-id"] for request in server.requests} == {"run-0", "run-1"}


def test_an_answer_is_read_whole(server: FaultServer, model: Model, ask: Ask, chat: Chat) -> None:
    server.says(chat("4"))

    [output] = ask(model())

    assert (output.final, output.error, output.unavailable) == ("4", None, False)
    assert output.messages[-1] == {"role": "assistant", "content": "4"}
    assert output.usage == Usage(input_tokens=10, output_tokens=5)
    assert (output.finish_reason, output.response_id, output.attempts) == ("stop", "chatcmpl-1", 1)
    assert output.latency_s is not None


def test_tool_calls_are_kept_as_the_trajectory(server: FaultServer, model: Model, ask: Ask, chat: Chat) -> None:
    server.says(chat(None, calls=[("look_up", '{"id": 1}')]))

    [output] = ask(model())

    assert output.final is None
    assert (output.trajectory.steps, output.trajectory.tool_names) == (1, ("look_up",))


@pytest.mark.parametrize(
    ("content", "final"),
    [
        (None, None),
        ("", ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "b"}], "b"),
        ([], None),
        ("half \ud83d pair", "half \ufffd pair"),
    ],
)
def test_content_comes_in_several_shapes(
    server: FaultServer, model: Model, ask: Ask, chat: Chat, content: Any, final: str | None
) -> None:
    server.says(chat(content))

    [output] = ask(model())

    assert (output.final, output.unavailable) == (final, False)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({}, Usage()),
        ({"prompt_tokens": None, "completion_tokens": 3}, Usage(output_tokens=3)),
        ({"prompt_tokens": -1, "completion_tokens": "7"}, Usage()),
        ([], Usage()),
    ],
)
def test_usage_that_is_not_said_is_unknown(
    server: FaultServer, model: Model, ask: Ask, chat: Chat, usage: Any, expected: Usage
) -> None:
    server.says(chat("4", usage=usage))

    assert ask(model())[0].usage == expected


def test_a_refusal_is_an_answer(server: FaultServer, model: Model, ask: Ask, chat: Chat) -> None:
    document = chat(None)
    document["choices"][0]["message"]["refusal"] = "I cannot help with that."
    server.says(document)

    [output] = ask(model())

    assert (output.final, output.error) == ("I cannot help with that.", None)


def test_tool_calls_of_lax_servers_are_mended(server: FaultServer, model: Model, ask: Ask, chat: Chat) -> None:
    document = chat(None)
    document["choices"][0]["message"]["tool_calls"] = [{"function": {"name": "look_up", "arguments": {"id": 1}}}]
    server.says(document)

    [output] = ask(model())

    assert output.messages[-1]["tool_calls"] == [
        {"id": "call_0", "type": "function", "function": {"name": "look_up", "arguments": {"id": 1}}}
    ]
    assert output.trajectory.tool_calls[0].arguments == '{"id": 1}'


def test_a_refused_connection_is_unavailable(ask: Ask) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"

        [output] = ask(OpenAIChat(base_url=url, model="m", max_attempts=2))

    assert output.unavailable
    assert output.attempts == 2
    assert output.error is not None
    assert output.error.startswith(f"could not connect to {url}/chat/completions")
    assert "Is the server running" in output.error
    assert output.latency_s is None


def test_html_is_unavailable_and_says_what_to_check(server: FaultServer, model: Model, ask: Ask) -> None:
    server.script(server.answer(200, HTML, "text/html"))

    [output] = ask(model())

    assert output.unavailable
    assert output.error is not None
    assert "answered HTML: <!DOCTYPE html><html><body>Welcome to nginx" in output.error
    assert "should end in /v1" in output.error


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("{}", "JSON without choices: {}"),
        ('{"choices": []}', "JSON without choices"),
        ('{"choices": null, "error": {"message": "overloaded"}}', "overloaded"),
        ('{"choices": [{"text": "4"}]}', "JSON without choices"),
        ('{"choices": [{"message": {"content": 4}}]}', "content is int"),
        ('{"choices": [{"message": {"content": "4", "tool_calls": "none"}}]}', "tool_calls are not a list"),
        ("[]", "no JSON"),
        ("", "an empty body"),
        ('{"choices": [', "no JSON"),
    ],
)
def test_json_without_an_answer_is_unavailable(
    server: FaultServer, model: Model, ask: Ask, body: str, found: str
) -> None:
    server.script(server.answer(200, body))

    [output] = ask(model())

    assert output.unavailable
    assert found in str(output.error)


def test_a_500_is_tried_again(server: FaultServer, model: Model, ask: Ask, chat: Chat) -> None:
    server.script(
        server.answer(500, "oops"), server.answer(429, "slow down"), server.answer(200, json.dumps(chat("4")))
    )

    [output] = ask(model())

    assert (output.final, output.unavailable, output.attempts) == ("4", False, 3)
    assert len({request.headers["x-eval-run-id"] for request in server.requests}) == 1


def test_a_server_that_stays_broken_is_unavailable(server: FaultServer, model: Model, ask: Ask) -> None:
    server.script(server.answer(503, "x" * 1000))

    [output] = ask(model(max_attempts=3))

    assert output.unavailable
    assert output.attempts == len(server.requests) == 3
    assert output.error == f"HTTP 503 from {server.base_url}/chat/completions: {'x' * 200}…"


@pytest.mark.parametrize("status", [400, 401, 404, 422, 307])
def test_what_cannot_succeed_next_time_is_asked_once(server: FaultServer, model: Model, ask: Ask, status: int) -> None:
    server.script(server.answer(status, '{"error": {"message": "no"}}', headers="location: /elsewhere\r\n"))

    [output] = ask(model())

    assert output.unavailable
    assert len(server.requests) == 1
    assert f"HTTP {status}" in str(output.error)


def test_a_timeout_is_unavailable(server: FaultServer, model: Model, ask: Ask) -> None:
    server.script(None)

    [output] = ask(model(timeout_s=0.05, max_attempts=2))

    assert output.unavailable
    assert output.error is not None
    assert output.error.startswith(f"no answer from {server.base_url}/chat/completions within 0.05 s")
    assert output.attempts == 2


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b"", "closed the connection without an answer"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "no readable answer"),
        (b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 100\r\n\r\n{", "no readable answer"),
        (
            b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nabcd",
            "no readable answer",
        ),
    ],
)
def test_a_broken_connection_is_unavailable(
    server: FaultServer, model: Model, ask: Ask, raw: bytes, found: str
) -> None:
    server.script(raw)

    [output] = ask(model(max_attempts=2))

    assert output.unavailable
    assert output.attempts == len(server.requests) == 2
    assert found in str(output.error)


@pytest.mark.parametrize("code", ["content_filter", "content_policy_violation"])
@pytest.mark.parametrize("status", [200, 400])
def test_the_content_filter_is_the_targets_own_error(
    server: FaultServer, model: Model, ask: Ask, code: str, status: int
) -> None:
    server.script(server.answer(status, json.dumps({"error": {"code": code, "message": "The prompt was filtered."}})))

    [output] = ask(model())

    assert (output.error, output.unavailable) == (f"{code}: The prompt was filtered.", False)


def test_secrets_never_show(server: FaultServer, model: Model, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that echoes what it was sent does not bring the key into a report, even cut in half by the excerpt."""
    monkeypatch.setenv("SOME_KEY", KEY)
    echoed = f"{'x' * 190}{KEY} and hunter2-token"
    spec = model(api_key_env="SOME_KEY", headers={"X-Auth": "Basic hunter2-token"}, max_attempts=1)
    for body in (echoed, json.dumps({"error": {"code": "content_filter", "message": echoed}}), f"{KEY} hunter2-token"):
        server.script(server.answer(400, body))

        [output] = ask(spec)

        assert output.error is not None
        assert "sk-very" not in output.error
        assert "hunter2" not in output.error
        assert "***" in output.error


def test_a_cookie_does_not_reach_the_next_run(server: FaultServer, model: Model, ask: Ask, chat: Chat) -> None:
    server.script(server.answer(200, json.dumps(chat("4")), headers="set-cookie: session=1; Path=/\r\n"))
    spec = model(base_url=server.base_url.replace("127.0.0.1", "localhost"))

    ask(spec, concurrency=1, times=3)

    assert len(server.requests) == 3
    assert not any("cookie" in request.headers for request in server.requests)


def test_a_proxy_does_not_stand_before_loopback(model: Model, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)

    assert ask(model())[0].final == "fine"


def test_connections_are_bounded_by_concurrency(server: FaultServer, model: Model, ask: Ask, chat: Chat) -> None:
    """Exactly four are in flight: with fewer the barrier would never open, and more are counted."""
    barrier = asyncio.Barrier(4)
    in_flight, most = 0, 0

    async def together(_: Request) -> Answer:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await barrier.wait()
        in_flight -= 1
        return server.answer(200, json.dumps(chat("4")))

    server.script(together)

    outputs = ask(model(), times=20, concurrency=4)

    assert [output.final for output in outputs] == ["4"] * 20
    assert most == 4


@pytest.mark.parametrize("key", [None, "", "two\nlines"])
def test_a_missing_key_is_refused_before_asking(
    server: FaultServer, model: Model, ask: Ask, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("SOME_KEY", key)

    with pytest.raises(ConfigError, match="SOME_KEY"):
        ask(model(api_key_env="SOME_KEY"))

    assert server.requests == []


def test_a_system_prompt_may_be_a_file(server: FaultServer, model: Model, ask: Ask, tmp_path: Any) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "v2.txt").write_text("Be kind.")

    ask(model(system="prompts/v2.txt"))

    assert server.requests[0].body["messages"][0] == {"role": "system", "content": "Be kind."}
