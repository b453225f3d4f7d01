"""A person's own agent behind a URL: a body filled in, and an answer found wherever it stands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from eval_assets.errors import ConfigError
from eval_assets.model.cases import Case
from eval_assets.model.runs import Usage
from eval_assets.targets.specs import Http

if TYPE_CHECKING:
    from tests.targets.conftest import Ask, FaultServer

TOOL = {"type": "function", "function": {"name": "look_up"}}


def spec(server: FaultServer, **settings: Any) -> Http:
    url = server.base_url.replace("/v1", "/agent")
    return Http.model_validate({"url": url, "read": {"final": "answer"}, **settings})


def test_places_are_filled_as_values_and_within_texts(server: FaultServer, ask: Ask) -> None:
    server.says({"answer": "fine"})
    body = {
        "q": "{{input}}",
        "prompt": "Say: {{ input }} ({{case}}, {{run}})",
        "chat": {"messages": "{{messages}}", "tools": "{{tools}}"},
        "ids": ["{{run_id}}", "{{run}}", "{{other}}", 3],
    }

    [output] = ask(spec(server, body=body), Case(name="a", input='two "2"', tools=(TOOL,)))

    assert output.final == "fine"
    [request] = server.requests
    assert request.path == "/agent"
    assert request.headers["x-eval-run-id"] == "run-0"
    assert request.body == {
        "q": 'two "2"',
        "prompt": 'Say: two "2" (a, 0)',
        "chat": {"messages": [{"role": "user", "content": 'two "2"'}], "tools": [TOOL]},
        "ids": ["run-0", 0, "{{other}}", 3],
    }


def test_a_body_may_be_json_as_text(server: FaultServer, ask: Ask) -> None:
    server.says({"answer": "fine"})

    ask(spec(server, body='{"q": ["{{input}}"]}'))

    assert server.requests[0].body == {"q": ["What is 2 + 2?"]}


def test_an_answer_is_found_by_its_expressions(server: FaultServer, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "k-0123456789")
    server.says(
        {
            "result": {"texts": ["no", "four"]},
            "trace": [{"tool": "add", "args": {"a": 2}}, {"tool": "check", "args": "{}"}],
            "tokens": {"in": 7, "out": 3},
            "id": "r1",
            "why": "stop",
        }
    )
    read = {
        "final": "result.texts[-1]",
        "tool_calls": "trace[].{name: tool, arguments: args}",
        "usage": "tokens.{input_tokens: in, output_tokens: out}",
        "finish_reason": "why",
        "response_id": "id",
    }

    [output] = ask(spec(server, read=read, api_key_env="SOME_KEY"))

    assert server.requests[0].headers["authorization"] == "Bearer k-0123456789"
    assert (output.final, output.error, output.finish_reason, output.response_id) == ("four", None, "stop", "r1")
    assert output.usage == Usage(input_tokens=7, output_tokens=3)
    assert [(call.name, call.arguments) for call in output.trajectory.tool_calls] == [
        ("add", '{"a": 2}'),
        ("check", "{}"),
    ]
    assert output.latency_s is not None


def test_messages_are_the_trajectory_and_hold_the_answer(server: FaultServer, ask: Ask) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "4"},
        {"role": "assistant", "content": "four"},
    ]
    server.says({"messages": messages})

    [output] = ask(spec(server, read={"messages": "messages"}))

    assert output.final == "four"
    assert output.messages == tuple(messages)
    assert (output.trajectory.steps, output.trajectory.tool_names) == (2, ("add",))


@pytest.mark.parametrize(
    ("answer", "final"), [({"n": 4}, '{"n": 4}'), (4, "4"), ("", ""), ("half \ud83d pair", "half \ufffd pair")]
)
def test_what_is_no_text_is_taken_as_its_json(server: FaultServer, ask: Ask, answer: Any, final: str) -> None:
    server.says({"answer": answer})

    assert ask(spec(server))[0].final == final


def test_an_answer_that_is_not_there_is_the_agents_own_error(server: FaultServer, ask: Ask) -> None:
    server.says({"reply": "fine"})

    [output] = ask(spec(server))

    assert not output.unavailable
    assert output.error == 'the reply holds no answer at read.final (answer): {"reply": "fine"}'


def test_the_agents_own_error_is_read(server: FaultServer, ask: Ask) -> None:
    server.says({"answer": "so far", "error": {"code": 7}})

    [output] = ask(spec(server, read={"final": "answer", "error": "error"}))

    assert (output.final, output.error, output.unavailable) == ("so far", '{"code": 7}', False)


@pytest.mark.parametrize("found", [7, [7], [{"role": "assistant", "tool_calls": 3}]])
def test_messages_that_cannot_be_read_are_a_trace_error(server: FaultServer, ask: Ask, found: Any) -> None:
    server.says({"answer": "fine", "messages": found})

    [output] = ask(spec(server, read={"final": "answer", "messages": "messages"}))

    assert output.final == "fine"
    assert output.trace_error


def test_calls_that_cannot_be_read_are_a_trace_error(server: FaultServer, ask: Ask) -> None:
    server.says({"answer": "fine", "calls": 3})

    [output] = ask(spec(server, read={"final": "answer", "tool_calls": "calls"}))

    assert "read.tool_calls found int" in str(output.trace_error)


@pytest.mark.parametrize(
    ("status", "body", "found"), [(503, "oops", "HTTP 503"), (404, "{}", "HTTP 404"), (200, "oops", "no JSON")]
)
def test_no_answer_is_unavailable(server: FaultServer, ask: Ask, status: int, body: str, found: str) -> None:
    server.script(server.answer(status, body))

    [output] = ask(spec(server, max_attempts=2))

    assert output.unavailable
    assert found in str(output.error)
    assert len(server.requests) == (2 if status == 503 else 1)


def test_a_missing_key_is_refused_before_asking(server: FaultServer, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)

    with pytest.raises(ConfigError, match="SOME_KEY"):
        ask(spec(server, api_key_env="SOME_KEY"))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"url": "agent.example"}, "wanted a URL"),
        ({"read": {}}, "wanted `final` or `messages`"),
        ({"read": {"final": "a..b"}}, "is no JMESPath expression"),
        ({"read": {"finale": "a"}}, "Extra inputs"),
        ({"body": '{"messages": {{messages}}}'}, "the text is not JSON"),
    ],
)
def test_what_cannot_be_meant_is_refused(change: dict[str, Any], found: str) -> None:
    with pytest.raises(ValidationError, match=found):
        Http.model_validate({"url": "http://127.0.0.1/agent", "read": {"final": "answer"}, **change})


def test_a_default_body_is_the_input(server: FaultServer, ask: Ask) -> None:
    server.says({"answer": json.dumps({"a": 1})})

    ask(spec(server))

    assert server.requests[0].body == {"input": "What is 2 + 2?"}
