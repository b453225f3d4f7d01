"""Gemini generateContent: chat messages to contents and back, whole or streamed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from eval_assets.model.cases import Message
from eval_assets.model.runs import Usage
from eval_assets.targets import wire
from eval_assets.targets.specs import ModelSpec
from eval_assets.targets.sse import Event, StreamBroken
from eval_assets.targets.wire import Document, Tool, Turn, Unreadable

_SYSTEM_ROLES = ("system", "developer")
_VERSIONED = re.compile(r"/v1(beta\d*|alpha)?(/|$)")


class GeminiFormat:
    """`/v1beta/models/{model}:generateContent`."""

    check = "check base_url, which should be the host alone, without /v1beta"

    def url(self, spec: ModelSpec) -> str:
        # Vertex AI has its own path, in which the version stands before the project.
        base = spec.base_url if _VERSIONED.search(spec.base_url) else f"{spec.base_url}/v1beta"
        verb = "streamGenerateContent?alt=sse" if spec.stream else "generateContent"
        return f"{base}/models/{quote(spec.model.removeprefix('models/'), safe='')}:{verb}"

    def key_header(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def fixed_headers(self) -> dict[str, str]:
        return {}

    def body(self, spec: ModelSpec, messages: Sequence[Message], tools: Sequence[Tool]) -> Document:
        system = [wire.text_of(message.get("content")) for message in messages if message.get("role") in _SYSTEM_ROLES]
        settings = {"temperature": spec.temperature, "seed": spec.seed, "maxOutputTokens": spec.max_tokens}
        stated = wire.mapping(spec.extra.get("generationConfig"))
        configured = {**{key: value for key, value in settings.items() if value is not None}, **stated}
        extra = {key: value for key, value in spec.extra.items() if key != "generationConfig"}
        return {
            "contents": _contents(messages),
            **({"systemInstruction": {"parts": [{"text": text} for text in system if text]}} if any(system) else {}),
            **({"generationConfig": configured} if configured else {}),
            **({"tools": [{"functionDeclarations": [_declared(tool) for tool in tools]}]} if tools else {}),
            **extra,
        }

    def read(self, document: Document) -> Turn:
        candidates = wire.objects(document.get("candidates"))
        feedback = wire.mapping(document.get("promptFeedback"))
        if not candidates and not feedback.get("blockReason"):
            raise Unreadable("JSON without candidates")
        usage = wire.mapping(document.get("usageMetadata"))
        candidate = candidates[0] if candidates else {}
        return Turn(
            message=_assistant_message(wire.objects(wire.mapping(candidate.get("content")).get("parts"))),
            finish_reason=wire.text_or_none(candidate.get("finishReason")),
            usage=Usage(
                input_tokens=wire.count(usage.get("promptTokenCount")),
                output_tokens=wire.count(usage.get("candidatesTokenCount")),
            ),
            response_id=wire.identity_or_none(document.get("responseId")),
            error=None if candidates else _blocked(feedback),
        )

    def stream(self) -> _Chunks:
        return _Chunks()


def _declared(tool: Tool) -> Document:
    function = wire.mapping(tool.get("function"))
    parameters = function.get("parameters")
    return {
        "name": function.get("name"),
        "description": str(function.get("description") or ""),
        # `parameters` would take a subset of OpenAPI's schemas, and refuse much that a JSON schema may say.
        **({"parametersJsonSchema": parameters} if parameters else {}),
    }


def _contents(messages: Sequence[Message]) -> list[Document]:
    """The conversation without system messages. Neighbours of one role are one turn: so answer parallel calls."""
    contents: list[Document] = []
    names: dict[str, str] = {}
    for message in messages:
        if message.get("role") in _SYSTEM_ROLES:
            continue
        names.update((identity, name) for identity, name, _ in wire.called(message))
        role = "model" if message.get("role") == "assistant" else "user"
        parts = list(_parts(message, names))
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"].extend(parts)
        elif parts:
            contents.append({"role": role, "parts": parts})
    return contents


def _parts(message: Message, names: dict[str, str]) -> Iterator[Document]:
    if message.get("role") == "tool":
        text = wire.text_of(message.get("content"))
        name = names.get(str(message.get("tool_call_id")), str(message.get("name") or ""))
        yield {"functionResponse": {"name": name, "response": _answer(text)}}
        return
    for part in wire.parts(message.get("content")):
        if part.get("type") == "image_url":
            kind, data = wire.data_url(part)
            yield {"fileData": {"fileUri": data}} if kind is None else {"inlineData": {"mimeType": kind, "data": data}}
        elif text := wire.text_of([part]):
            yield {"text": text}
    calls = message.get("tool_calls") or ()
    for call, (_, name, arguments) in zip(calls, wire.called(message), strict=True):
        google = wire.mapping(wire.mapping(call.get("extra_content")).get("google"))
        signed = {"thoughtSignature": google["thought_signature"]} if google.get("thought_signature") else {}
        yield {"functionCall": {"name": name, "args": wire.object_or_none(arguments) or {}}, **signed}


def _answer(text: str) -> Document:
    """What a tool said, as the object that the API wants."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return {"result": text}
    return said if isinstance(said, dict) else {"result": said}


def _assistant_message(parts: list[dict[str, Any]]) -> Message:
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought")]
    message: Message = {"role": "assistant", "content": "".join(texts) if texts else None}
    calls = [part for part in parts if isinstance(part.get("functionCall"), dict)]
    if calls:
        message["tool_calls"] = [_tool_call(part, position) for position, part in enumerate(calls)]
    return message


def _tool_call(part: dict[str, Any], position: int) -> dict[str, Any]:
    found = part["functionCall"]
    call = wire.tool_call(found.get("id"), found.get("name"), found.get("args"), position)
    if isinstance(part.get("thoughtSignature"), str):
        # Where Google's own OpenAI-compatible API puts it. The next turn is refused without it.
        call["extra_content"] = {"google": {"thought_signature": part["thoughtSignature"]}}
    return call


def _blocked(feedback: dict[str, Any]) -> str:
    said = feedback.get("blockReasonMessage")
    return f"refused: the prompt was blocked ({feedback['blockReason']})" + (f": {said}" if said else "")


class _Chunks:
    """The chunks of one streamed reply, put together."""

    def __init__(self) -> None:
        self._document: dict[str, Any] = {}
        self._parts: list[dict[str, Any]] = []
        self._usage: dict[str, Any] = {}
        self._finish_reason: str | None = None
        self._answered = False

    def take(self, event: Event, data: Any) -> bool:
        if event.data.strip() == "[DONE]":
            return True
        chunk = wire.mapping(data)
        if chunk.get("error"):
            wire.raise_for_error(chunk["error"])
        self._document |= {key: chunk[key] for key in ("responseId", "promptFeedback") if chunk.get(key)}
        self._usage |= wire.mapping(chunk.get("usageMetadata"))
        for candidate in wire.objects(chunk.get("candidates"))[:1]:
            self._answered = True
            self._parts += wire.objects(wire.mapping(candidate.get("content")).get("parts"))
            self._finish_reason = wire.identity_or_none(candidate.get("finishReason")) or self._finish_reason
        return False

    def whole(self) -> Document:
        blocked = wire.mapping(self._document.get("promptFeedback")).get("blockReason")
        if self._finish_reason is None and not blocked:
            raise StreamBroken("it ended without a finish reason")
        candidate = {"content": {"parts": self._parts}, "finishReason": self._finish_reason}
        candidates = [candidate] if self._answered else []
        return {**self._document, "candidates": candidates, "usageMetadata": self._usage}
