"""OpenAI Responses over a loopback server: what is sent, and what is read of a reply, whole or streamed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eval_assets.model.cases import Case
from eval_assets.model.runs import Usage
from eval_assets.targets.specs import OpenAIResponses

if TYPE_CHECKING:
    from tests.targets.conftest import Answer, Ask, FaultServer

LOOK_UP = {
    "type": "function",
    "function": {"name": "look_up", "description": "Finds.", "parameters": {"type": "object"}},
}
CALL = {"type": "function_call", "call_id": "t1", "name": "look_up", "arguments": '{"id": 1}'}


def spec(server: FaultServer, **settings: Any) -> OpenAIResponses:
    return OpenAIResponses(base_url=server.base_url, model="m", **settings)


def said(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": list(parts)}


def text(value: str) -> dict[str, Any]:
    return {"type": "output_text", "text": value, "annotations": []}


def reply(*output: dict[str, Any], **document: Any) -> dict[str, Any]:
    usage = {"input_tokens": 7, "output_tokens": 3}
    return {"id": "resp_1", "status": "completed", "output": list(output), "usage": usage, "error": None, **document}


def events(server: FaultServer, *documents: dict[str, Any]) -> Answer:
    lines = "".join(f"event: {document['type']}\ndata: {json.dumps(document)}\n\n" for document in documents)
    return server.answer(200, lines, "text/event-stream")


def test_asks_with_everything_the_spec_says(server: FaultServer, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-0123456789")
    server.says(reply(said(text("fine"))))
    settings: dict[str, Any] = {"system": "Be brief.", "temperature": 0.5, "max_tokens": 9, "tools": (LOOK_UP,)}

    ask(spec(server, api_key_env="SOME_KEY", extra={"store": False}, **settings))

    [request] = server.requests
    assert request.path == "/v1/responses"
    assert request.headers["authorization"] == "Bearer sk-0123456789"
    assert request.body == {
        "model": "m",
        "input": [{"role": "user", "content": "What is 2 + 2?"}],
        "instructions": "Be brief.",
        "temperature": 0.5,
        "max_output_tokens": 9,
        "tools": [
            {
                "type": "function",
                "name": "look_up",
                "description": "Finds.",
                "parameters": {"type": "object"},
                "strict": False,
            }
        ],
        "store": False,
    }


def test_a_conversation_is_sent_in_items(server: FaultServer, ask: Ask) -> None:
    server.says(reply(said(text("fine"))))
    call = {"id": "t1", "type": "function", "function": {"name": "look_up", "arguments": '{"id": 1}'}}
    messages = (
        {"role": "user", "content": [{"type": "text", "text": "See"}]},
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "one"},
    )

    ask(spec(server), Case(name="a", messages=messages))

    assert server.requests[0].body["input"] == [
        {"role": "user", "content": [{"type": "input_text", "text": "See"}]},
        {"role": "assistant", "content": "I look."},
        CALL,
        {"type": "function_call_output", "call_id": "t1", "output": "one"},
    ]


def test_items_are_read_as_a_chat_message(server: FaultServer, ask: Ask) -> None:
    server.says(reply({"type": "reasoning", "summary": []}, said(text("I ")), said(text("see.")), CALL))

    [output] = ask(spec(server))

    assert output.messages[-1] == {
        "role": "assistant",
        "content": "I see.",
        "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "look_up", "arguments": '{"id": 1}'}}],
    }
    assert output.usage == Usage(input_tokens=7, output_tokens=3)
    assert (output.finish_reason, output.response_id) == ("completed", "resp_1")


def test_a_refusal_is_an_answer(server: FaultServer, ask: Ask) -> None:
    server.says(reply(said({"type": "refusal", "refusal": "I cannot."})))

    [output] = ask(spec(server))

    assert (output.final, output.error) == ("I cannot.", None)


def test_a_custom_tool_call_is_the_models_own_error(server: FaultServer, ask: Ask) -> None:
    server.says(reply({"type": "custom_tool_call", "call_id": "t1", "name": "grep", "input": "abc"}))

    [output] = ask(spec(server))

    assert not output.unavailable
    assert "custom tool 'grep'" in str(output.error)


@pytest.mark.parametrize(("said_before", "error"), [("", "truncated: "), ("fo", None)])
def test_an_incomplete_reply_keeps_its_reason(
    server: FaultServer, ask: Ask, said_before: str, error: str | None
) -> None:
    details = {"reason": "max_output_tokens"}
    server.says(reply(said(text(said_before)), status="incomplete", incomplete_details=details))

    [output] = ask(spec(server))

    assert output.finish_reason == "max_output_tokens"
    assert output.error is None if error is None else str(output.error).startswith(error)


def test_the_last_event_of_a_stream_holds_the_whole(server: FaultServer, ask: Ask) -> None:
    delta = {"type": "response.output_text.delta", "delta": "I "}
    server.script(events(server, delta, {"type": "response.completed", "response": reply(said(text("I see.")))}))

    assert ask(spec(server, stream=True))[0].final == "I see."


@pytest.mark.parametrize(
    "last",
    [
        {"type": "response.output_text.delta", "delta": "I "},
        {"type": "error", "code": "server_error", "message": "oops"},
        {"type": "response.failed", "response": reply(error={"code": "server_error", "message": "oops"})},
    ],
    ids=lambda document: document["type"],
)
def test_a_broken_stream_is_unavailable(server: FaultServer, ask: Ask, last: dict[str, Any]) -> None:
    server.script(events(server, {"type": "response.created", "response": reply()}, last))

    [output] = ask(spec(server, stream=True, max_attempts=2))

    assert output.unavailable
    assert output.attempts == 2
