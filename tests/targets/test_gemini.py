"""Gemini generateContent over a loopback server: what is sent, and what is read of a reply, whole or streamed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eval_assets.model.cases import Case
from eval_assets.model.runs import Usage
from eval_assets.targets.specs import Gemini

if TYPE_CHECKING:
    from tests.targets.conftest import Ask, FaultServer

LOOK_UP = {
    "type": "function",
    "function": {"name": "look_up", "description": "Finds.", "parameters": {"type": "object"}},
}


def spec(server: FaultServer, **settings: Any) -> Gemini:
    return Gemini(base_url=server.base_url.removesuffix("/v1"), model="gemini-x", **settings)


def reply(*parts: dict[str, Any], **candidate: Any) -> dict[str, Any]:
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 3, "thoughtsTokenCount": 50, "totalTokenCount": 60}
    found = {"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP", **candidate}
    return {"candidates": [found], "usageMetadata": usage, "responseId": "r1"}


def test_asks_with_everything_the_spec_says(server: FaultServer, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "AIza0123456789")
    server.says(reply({"text": "fine"}))
    settings: dict[str, Any] = {"system": "Be brief.", "temperature": 0.5, "seed": 3, "max_tokens": 9}
    extra = {"generationConfig": {"topP": 0.9}, "safetySettings": []}

    ask(spec(server, api_key_env="SOME_KEY", tools=(LOOK_UP,), extra=extra, **settings))

    [request] = server.requests
    assert request.path == "/v1beta/models/gemini-x:generateContent"
    assert request.headers["x-goog-api-key"] == "AIza0123456789"
    assert request.body == {
        "contents": [{"role": "user", "parts": [{"text": "What is 2 + 2?"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {"temperature": 0.5, "seed": 3, "maxOutputTokens": 9, "topP": 0.9},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "look_up", "description": "Finds.", "parametersJsonSchema": {"type": "object"}}
                ]
            }
        ],
        "safetySettings": [],
    }


def test_a_conversation_is_sent_in_parts(server: FaultServer, ask: Ask) -> None:
    server.says(reply({"text": "fine"}))
    signed = {"extra_content": {"google": {"thought_signature": "s"}}}
    call = {"id": "t1", "type": "function", "function": {"name": "look_up", "arguments": '{"id": 1}'}, **signed}
    messages = (
        {"role": "user", "content": "See"},
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "one"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
    )

    ask(spec(server), Case(name="a", messages=messages))

    assert server.requests[0].body["contents"] == [
        {"role": "user", "parts": [{"text": "See"}]},
        {
            "role": "model",
            "parts": [
                {"text": "I look."},
                {"functionCall": {"name": "look_up", "args": {"id": 1}}, "thoughtSignature": "s"},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "look_up", "response": {"result": "one"}}},
                {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            ],
        },
    ]


def test_parts_are_read_as_a_chat_message(server: FaultServer, ask: Ask) -> None:
    call = {"functionCall": {"name": "look_up", "args": {"id": 1}}, "thoughtSignature": "s"}
    server.says(reply({"text": "hm", "thought": True}, {"text": "I "}, {"text": "see."}, call))

    [output] = ask(spec(server))

    assert output.final == "I see."
    assert output.usage == Usage(input_tokens=7, output_tokens=3)
    assert (output.finish_reason, output.response_id) == ("STOP", "r1")
    assert output.messages[-1]["tool_calls"] == [
        {
            "id": "call_0",
            "type": "function",
            "function": {"name": "look_up", "arguments": '{"id": 1}'},
            "extra_content": {"google": {"thought_signature": "s"}},
        }
    ]


def test_a_stream_is_put_together(server: FaultServer, ask: Ask) -> None:
    first, last = reply({"text": "I "}, finishReason=None), reply({"text": "see."})
    first["usageMetadata"] = {"promptTokenCount": 7}
    text = "".join(f"data: {json.dumps(document)}\r\n\r\n" for document in (first, last))
    server.script(server.answer(200, text, "text/event-stream"))

    [output] = ask(spec(server, stream=True))

    assert server.requests[0].path == "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
    assert (output.final, output.finish_reason) == ("I see.", "STOP")
    assert output.usage == Usage(input_tokens=7, output_tokens=3)


def test_a_stream_that_was_cut_is_unavailable(server: FaultServer, ask: Ask) -> None:
    text = f"data: {json.dumps(reply({'text': 'I '}, finishReason=None))}\n\n"
    server.script(server.answer(200, text, "text/event-stream"))

    [output] = ask(spec(server, stream=True, max_attempts=2))

    assert output.unavailable
    assert output.attempts == 2


@pytest.mark.parametrize("stream", [False, True])
def test_a_blocked_prompt_is_the_models_own_error(server: FaultServer, ask: Ask, *, stream: bool) -> None:
    document = json.dumps({"promptFeedback": {"blockReason": "SAFETY"}})
    body, kind = (f"data: {document}\n\n", "text/event-stream") if stream else (document, "application/json")
    server.script(server.answer(200, body, kind))

    [output] = ask(spec(server, stream=stream))

    assert (output.unavailable, output.error) == (False, "refused: the prompt was blocked (SAFETY)")


@pytest.mark.parametrize(("reason", "error"), [("MAX_TOKENS", "truncated: "), ("SAFETY", "refused: "), ("STOP", None)])
def test_an_empty_reply_says_why(server: FaultServer, ask: Ask, reason: str, error: str | None) -> None:
    server.says(reply(finishReason=reason))

    [output] = ask(spec(server))

    assert output.finish_reason == reason
    assert not output.unavailable
    assert output.error is None if error is None else str(output.error).startswith(error)
