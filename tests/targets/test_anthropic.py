"""Anthropic Messages over a loopback server: what is sent, and what is read of a reply, whole or streamed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eval_assets.model.cases import Case
from eval_assets.model.runs import Usage
from eval_assets.targets.specs import Anthropic

if TYPE_CHECKING:
    from tests.targets.conftest import Answer, Ask, FaultServer

LOOK_UP = {
    "type": "function",
    "function": {"name": "look_up", "description": "Finds.", "parameters": {"type": "object"}},
}


def spec(server: FaultServer, **settings: Any) -> Anthropic:
    return Anthropic(base_url=server.base_url.removesuffix("/v1"), model="m", **settings)


def reply(*blocks: dict[str, Any], stop_reason: str = "end_turn") -> dict[str, Any]:
    usage = {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 90}
    return {"id": "msg_1", "type": "message", "content": list(blocks), "stop_reason": stop_reason, "usage": usage}


def events(server: FaultServer, *documents: dict[str, Any]) -> Answer:
    text = "".join(f"event: {document['type']}\ndata: {json.dumps(document)}\n\n" for document in documents)
    return server.answer(200, text, "text/event-stream")


def test_asks_with_everything_the_spec_says(server: FaultServer, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-ant-0123456789")
    server.says(reply({"type": "text", "text": "fine"}))
    settings = {"system": "Be brief.", "temperature": 0.5, "max_tokens": 9, "tools": (LOOK_UP,), "extra": {"top_k": 4}}

    ask(spec(server, api_key_env="SOME_KEY", **settings))

    [request] = server.requests
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"] == "sk-ant-0123456789"
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert request.body == {
        "model": "m",
        "max_tokens": 9,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "What is 2 + 2?"}],
        "temperature": 0.5,
        "tools": [{"name": "look_up", "description": "Finds.", "input_schema": {"type": "object"}}],
        "top_k": 4,
    }


def test_a_header_of_the_suites_takes_the_place_of_its_own(server: FaultServer, ask: Ask) -> None:
    server.says(reply({"type": "text", "text": "fine"}))

    ask(spec(server, headers={"Anthropic-Version": "2099-01-01"}))

    assert server.requests[0].headers["anthropic-version"] == "2099-01-01"


def test_a_conversation_is_sent_in_blocks(server: FaultServer, ask: Ask) -> None:
    server.says(reply({"type": "text", "text": "fine"}))
    call = {"id": "t1", "type": "function", "function": {"name": "look_up", "arguments": '{"id": 1}'}}
    bad = {"id": "t2", "type": "function", "function": {"name": "look_up", "arguments": "oops"}}
    messages = (
        {"role": "user", "content": [{"type": "text", "text": "See"}, image("data:image/png;base64,AAAA")]},
        {"role": "assistant", "content": None, "tool_calls": [call, bad]},
        {"role": "tool", "tool_call_id": "t1", "content": "one"},
        {"role": "tool", "tool_call_id": "t2", "content": "two"},
        {"role": "user", "content": "And?"},
    )

    ask(spec(server), Case(name="a", messages=messages))

    assert server.requests[0].body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "See"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "t1", "name": "look_up", "input": {"id": 1}},
                {"type": "tool_use", "id": "t2", "name": "look_up", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
                {"type": "tool_result", "tool_use_id": "t2", "content": "two"},
                {"type": "text", "text": "And?"},
            ],
        },
    ]


def image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def test_blocks_are_read_as_a_chat_message(server: FaultServer, ask: Ask) -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    used = {"type": "tool_use", "id": "t1", "name": "look_up", "input": {"id": 1}}
    server.says(reply(thinking, {"type": "text", "text": "I "}, {"type": "text", "text": "see."}, used))

    [output] = ask(spec(server))

    assert output.final == "I see."
    assert output.usage == Usage(input_tokens=7, output_tokens=3)
    assert (output.finish_reason, output.response_id) == ("end_turn", "msg_1")
    assert output.messages[-1] == {
        "role": "assistant",
        "content": [thinking, {"type": "text", "text": "I "}, {"type": "text", "text": "see."}],
        "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "look_up", "arguments": '{"id": 1}'}}],
    }


def test_a_stream_is_put_together(server: FaultServer, ask: Ask) -> None:
    """Pieces of two blocks, interleaved, one of them empty; the input of a call that takes none never comes."""
    usage = {"input_tokens": 7, "output_tokens": 1}
    used = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
    server.script(
        events(
            server,
            {"type": "message_start", "message": {**reply(), "stop_reason": None, "usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_start", "index": 1, "content_block": used},
            {"type": "ping"},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "See"}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"pa'}},
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": 'th": 1}'},
            },
            {"type": "content_block_start", "index": 2, "content_block": {**used, "id": "t2", "name": "now"}},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 30}},
            {"type": "message_stop"},
        )
    )

    [output] = ask(spec(server, stream=True))

    assert output.final == "See"
    assert [(call.id, call.name, call.arguments) for call in output.trajectory.tool_calls] == [
        ("t1", "read", '{"path": 1}'),
        ("t2", "now", "{}"),
    ]
    assert output.usage == Usage(input_tokens=7, output_tokens=30)
    assert output.finish_reason == "tool_use"


@pytest.mark.parametrize(
    "last",
    [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"pa'}},
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    ],
    ids=lambda document: document["type"],
)
def test_a_broken_stream_is_unavailable(server: FaultServer, ask: Ask, last: dict[str, Any]) -> None:
    used = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
    start = {"type": "content_block_start", "index": 0, "content_block": used}
    server.script(events(server, {"type": "message_start", "message": {**reply(), "stop_reason": None}}, start, last))

    [output] = ask(spec(server, stream=True, max_attempts=2))

    assert output.unavailable
    assert output.attempts == 2


def test_an_error_reply_says_what_to_check(server: FaultServer, ask: Ask) -> None:
    error = {"type": "error", "error": {"type": "not_found_error", "message": "model: m"}}
    server.script(server.answer(404, json.dumps(error)))

    [output] = ask(spec(server))

    assert output.unavailable
    assert "HTTP 404" in str(output.error)
    assert "the host alone" in str(output.error)


def test_output_that_was_filtered_is_the_models_own_error(server: FaultServer, ask: Ask) -> None:
    error = {"type": "invalid_request_error", "message": "Output blocked by content filtering policy"}
    server.script(server.answer(400, json.dumps({"type": "error", "error": error})))

    [output] = ask(spec(server))

    assert (output.unavailable, output.error) == (False, f"content_filter: {error['message']}")
