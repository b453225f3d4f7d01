"""What holds for every kind of hosted model, streamed or not: an agent's loop, keys, prompts, what is described."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from eval_assets.model.runs import Usage
from eval_assets.targets import opening
from eval_assets.targets.specs import BY_KIND, Agent, AnySpec

if TYPE_CHECKING:
    from tests.targets.conftest import Ask, FaultServer

KEY = "sk-very-secret-0123456789"
AGENT = Agent.model_validate(
    {"model": "m", "tools": [{"name": "look_up", "results": [{"arguments": {"id": 1}, "result": {"found": "one"}}]}]}
)


class Kind(NamedTuple):
    """One kind: a reply that calls `look_up`, one that says `fine`, each as a document or as the events of a stream."""

    name: str
    calls: Any
    answers: Any
    path: str
    """To the text of the tool's result in the second request."""


def _chat(message: dict[str, Any], reason: str) -> dict[str, Any]:
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    return {"id": "1", "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}


def _anthropic(block: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": 7, "output_tokens": 3}
    return {"id": "1", "type": "message", "content": [block], "stop_reason": "end_turn", "usage": usage}


def _gemini(part: dict[str, Any]) -> dict[str, Any]:
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 3}
    return {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}], "usageMetadata": usage}


def _responses(item: dict[str, Any]) -> dict[str, Any]:
    return {"id": "1", "status": "completed", "output": [item], "usage": {"input_tokens": 7, "output_tokens": 3}}


FUNCTION = {"name": "look_up", "arguments": '{"id": 1}'}
KINDS = [
    Kind(
        "openai_chat",
        _chat({"content": None, "tool_calls": [{"id": "t1", "type": "function", "function": FUNCTION}]}, "tool_calls"),
        _chat({"content": "fine"}, "stop"),
        "messages",
    ),
    Kind(
        "openai_responses",
        _responses({"type": "function_call", "call_id": "t1", **FUNCTION}),
        _responses({"type": "message", "content": [{"type": "output_text", "text": "fine"}]}),
        "input",
    ),
    Kind(
        "anthropic",
        _anthropic({"type": "tool_use", "id": "t1", "name": "look_up", "input": {"id": 1}}),
        _anthropic({"type": "text", "text": "fine"}),
        "messages",
    ),
    Kind(
        "gemini",
        _gemini({"functionCall": {"name": "look_up", "args": {"id": 1}}}),
        _gemini({"text": "fine"}),
        "contents",
    ),
]


def events(kind: str, document: dict[str, Any]) -> list[dict[str, Any]]:
    """The document as a stream would bring it."""
    if kind == "openai_chat":
        [choice] = document["choices"]
        return [{**document, "choices": [{**choice, "delta": choice["message"]}]}]
    if kind == "openai_responses":
        return [{"type": "response.completed", "response": document}]
    if kind == "gemini":
        return [document]
    [block] = document["content"]
    start = {**document, "content": [], "stop_reason": None}
    return [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "message_delta", "delta": {"stop_reason": document["stop_reason"]}, "usage": document["usage"]},
        {"type": "message_stop"},
    ]


def script(server: FaultServer, kind: str, *documents: dict[str, Any], stream: bool) -> None:
    if not stream:
        server.says(*documents)
        return
    texts = ["".join(f"data: {json.dumps(event)}\n\n" for event in events(kind, document)) for document in documents]
    server.script(*(server.answer(200, text, "text/event-stream") for text in texts))


def spec(server: FaultServer, kind: str, **settings: Any) -> AnySpec:
    base_url = server.base_url if kind.startswith("openai") else server.base_url.removesuffix("/v1")
    return BY_KIND[kind].model_validate({"kind": kind, "base_url": base_url, "model": "m", **settings})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_an_agent_loops_over_every_kind(server: FaultServer, ask: Ask, kind: Kind, *, stream: bool) -> None:
    script(server, kind.name, kind.calls, kind.answers, stream=stream)

    [output] = ask(AGENT, m=spec(server, kind.name, stream=stream, system="Be brief."))

    assert (output.final, output.error) == ("fine", None)
    assert [message["role"] for message in output.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert output.messages[3]["content"] == '{"found": "one"}'
    assert output.usage == Usage(input_tokens=14, output_tokens=6)
    assert "found" in json.dumps(server.requests[1].body[kind.path])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_key_that_is_echoed_does_not_show(
    server: FaultServer, ask: Ask, monkeypatch: pytest.MonkeyPatch, kind: Kind, *, stream: bool
) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    server.script(server.answer(401, json.dumps({"error": {"type": "authentication_error", "message": KEY}})))

    [output] = ask(spec(server, kind.name, stream=stream, api_key_env="SOME_KEY", max_attempts=1))

    assert KEY in server.requests[0].headers.values() or f"Bearer {KEY}" in server.requests[0].headers.values()
    assert output.unavailable
    assert "***" in str(output.error)
    assert KEY not in output.model_dump_json()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("body", ["", "[]", "{}", "null", '{"choices": [', "<html>hello</html>"])
def test_what_is_no_reply_is_unavailable(server: FaultServer, ask: Ask, kind: Kind, body: str) -> None:
    for stream in (False, True):
        server.script(server.answer(200, body))

        [output] = ask(spec(server, kind.name, stream=stream, max_attempts=1))

        assert output.unavailable
        assert "check base_url" in str(output.error)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_an_empty_stream_is_unavailable(server: FaultServer, ask: Ask, kind: Kind) -> None:
    server.script(server.answer(200, "data: [1]\n\ndata: null\n\n", "text/event-stream"))

    assert ask(spec(server, kind.name, stream=True, max_attempts=1))[0].unavailable


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_streaming_changes_no_fingerprint(server: FaultServer, tmp_path: Path, kind: Kind) -> None:
    one, other = (spec(server, kind.name, stream=stream) for stream in (False, True))

    assert opening.fingerprint("it", {"it": one}, folder=tmp_path) == opening.fingerprint(
        "it", {"it": other}, folder=tmp_path
    )
    assert opening.fingerprint("it", {"it": one}, folder=tmp_path) != opening.fingerprint(
        "it", {"it": spec(server, kind.name, max_tokens=9)}, folder=tmp_path
    )
