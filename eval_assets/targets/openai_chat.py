"""OpenAI chat completions: the body that is sent and the reply that is read, tolerantly, whole or streamed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from eval_assets.model.cases import Message
from eval_assets.model.runs import Usage
from eval_assets.targets import wire
from eval_assets.targets.specs import ModelSpec
from eval_assets.targets.sse import Event, StreamBroken
from eval_assets.targets.wire import Document, Tool, Turn, Unreadable

_SENT_BACK = ("reasoning_content", "reasoning_details")
"""What some providers want to see again on the next turn of a conversation with tools."""


class OpenAIChatFormat:
    """`/chat/completions`, as OpenAI, vLLM, Ollama, llama.cpp and many others serve it."""

    check = "check base_url, which should end in /v1"

    def url(self, spec: ModelSpec) -> str:
        return f"{spec.base_url}/chat/completions"

    def key_header(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"}

    def fixed_headers(self) -> dict[str, str]:
        return {}

    def body(self, spec: ModelSpec, messages: Sequence[Message], tools: Sequence[Tool]) -> Document:
        settings = {
            "temperature": spec.temperature,
            "seed": spec.seed,
            "max_tokens": spec.max_tokens,
            "tools": list(tools) or None,
            "stream": spec.stream or None,
            "stream_options": {"include_usage": True} if spec.stream else None,
        }
        given = {key: value for key, value in settings.items() if value is not None}
        return {"model": spec.model, "messages": [_sent(message) for message in messages], **given, **spec.extra}

    def read(self, document: Document) -> Turn:
        choices = wire.objects(document.get("choices"))
        message = choices[0].get("message") if choices else None
        if not isinstance(message, dict):
            raise Unreadable("JSON without choices")
        if choices[0].get("finish_reason") == "error":
            raise Unreadable(f"an error in the place of a message: {choices[0].get('error')}")
        read, error = _assistant_message(message)
        return Turn(
            message=read,
            finish_reason=wire.text_or_none(choices[0].get("finish_reason")),
            usage=_usage(document.get("usage")),
            response_id=wire.identity_or_none(document.get("id")),
            error=error,
        )

    def stream(self) -> _Chunks:
        return _Chunks()


def _sent(message: Message) -> Message:
    """The message as the API takes it: arguments that came as an object go back as its JSON."""
    if not message.get("tool_calls"):
        return message
    calls = [
        {**call, "function": wire.tool_call(identity, name, given, 0)["function"]}
        for call, (identity, name, given) in zip(message["tool_calls"], wire.called(message), strict=True)
    ]
    return {**message, "tool_calls": calls}


def _assistant_message(found: dict[str, Any]) -> tuple[Message, str | None]:
    content, refusal = found.get("content"), found.get("refusal")
    if content is not None and not isinstance(content, (str, list)):
        raise Unreadable(f"JSON whose content is {type(content).__name__}, wanted text or a list of parts")
    message: Message = {"role": "assistant", "content": content}
    calls, error = _tool_calls(found)
    if calls:
        message["tool_calls"] = calls
    if isinstance(refusal, str) and refusal:
        message["refusal"] = refusal
    return {**message, **{key: found[key] for key in _SENT_BACK if found.get(key)}}, error


def _tool_calls(found: dict[str, Any]) -> tuple[list[dict[str, Any]], str | None]:
    """The calls, those that cannot be read as they came; and what is wrong with the first of these."""
    calls = found.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise Unreadable("JSON whose tool_calls are not a list of {id, type, function}")
    legacy = wire.mapping(found.get("function_call"))
    if not calls and legacy.get("name"):
        calls = [{"function": legacy}]
    wrong = [_why_not_a_call(call, position) for position, call in enumerate(calls)]
    return [_tool_call(call, position) for position, call in enumerate(calls)], next(filter(None, wrong), None)


def _why_not_a_call(call: dict[str, Any], position: int) -> str | None:
    if isinstance(call.get("function"), dict):
        return None
    custom = call.get("custom")
    if isinstance(custom, dict):
        name = custom.get("name")
        return f"tool call {position + 1} calls the custom tool {name!r}, wanted a function with JSON arguments"
    return f"tool call {position + 1} has no function, only {', '.join(sorted(map(str, call))) or 'nothing'}"


def _tool_call(call: dict[str, Any], position: int) -> dict[str, Any]:
    function = call.get("function")
    if function is None:
        return call
    if not isinstance(function, dict):
        # What stands in the place of a function must not look like one to whoever reads the trajectory.
        return {**call, "function": None, "unreadable": function}
    read = wire.tool_call(call.get("id"), function.get("name"), function.get("arguments"), position)
    if isinstance(function.get("arguments"), dict):
        # Kept as it came: certification notes it.
        read["function"]["arguments"] = function["arguments"]
    # Gemini signs its calls here, and wants the signature back.
    return {**read, "extra_content": call["extra_content"]} if call.get("extra_content") else read


def _usage(found: Any) -> Usage:
    usage = wire.mapping(found)
    return Usage(
        input_tokens=wire.count(usage.get("prompt_tokens")), output_tokens=wire.count(usage.get("completion_tokens"))
    )


class _Chunks:
    """The chunks of one reply, put together."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._calls: list[_Call] = []
        self._finish_reason: str | None = None
        self._usage: Any = None
        self._id: Any = None
        self._done = False

    def take(self, event: Event, data: Any) -> bool:
        if event.data.strip() == "[DONE]":
            self._done = True
            return True
        chunk = wire.mapping(data)
        self._id = self._id or chunk.get("id")
        self._usage = chunk.get("usage") or wire.mapping(chunk.get("x_groq")).get("usage") or self._usage
        for choice in wire.objects(chunk.get("choices")):
            if choice.get("index") in (0, None):
                self._take_choice(choice)
        # Some send one after the end: that the limit of tokens was reached, where the finish reason said so.
        if chunk.get("error") and self._finish_reason in (None, "error"):
            wire.raise_for_error(chunk["error"])
        return False

    def whole(self) -> Document:
        if not self._done and self._finish_reason is None:
            raise StreamBroken("it ended with neither a finish reason nor [DONE]")
        if self._finish_reason is None and not all(call.is_json() for call in self._calls):
            raise StreamBroken("it ended in the middle of a tool call's arguments")
        message: dict[str, Any] = {key: "".join(pieces) for key, pieces in self._texts.items()}
        message.setdefault("content", None)
        message["tool_calls"] = [call.written() for call in self._calls]
        choice = {"message": message, "finish_reason": self._finish_reason}
        return {"id": self._id, "choices": [choice], "usage": self._usage}

    def _take_choice(self, choice: dict[str, Any]) -> None:
        delta = wire.mapping(choice.get("delta") or choice.get("message"))
        for key in ("content", "refusal", "reasoning_content"):
            if text := wire.text_of(delta.get(key)):
                self._texts.setdefault(key, []).append(text)
        for piece in wire.objects(delta.get("tool_calls")):
            self._take_call(piece)
        self._finish_reason = wire.identity_or_none(choice.get("finish_reason")) or self._finish_reason
        self._usage = choice.get("usage") or self._usage

    def _take_call(self, piece: dict[str, Any]) -> None:
        call = self._continued(piece)
        if call is None:
            call = _Call(piece.get("index"))
            self._calls.append(call)
        call.add(piece)

    def _continued(self, piece: dict[str, Any]) -> _Call | None:
        """
        The call that a piece belongs to; None where it begins one.

        An id that is known decides. Otherwise the index does, or without one the order: some servers count every call
        as 0, some leave the index out, some give every piece a new id, and some repeat the name.
        """
        identity, index = piece.get("id"), piece.get("index")
        if identity:
            for call in self._calls:
                if call.id == identity:
                    return call
        candidates = [call for call in self._calls if index is None or call.index in (index, None)]
        last = candidates[-1] if candidates else None
        if last is None or last.is_ended_by(piece):
            return None
        return last


class _Call:
    """One tool call as its pieces come in."""

    def __init__(self, index: Any) -> None:
        self.index = index
        self.id: str | None = None
        self._name = ""
        self._arguments = ""
        self._custom: dict[str, str] | None = None
        self._extra_content: Any = None

    def add(self, piece: dict[str, Any]) -> None:
        self.id = self.id or wire.identity_or_none(piece.get("id"))
        self._extra_content = piece.get("extra_content") or self._extra_content
        function, custom = wire.mapping(piece.get("function")), wire.mapping(piece.get("custom"))
        self._name = self._name or str(function.get("name") or "")
        fragment = _fragment(function.get("arguments"))
        if self._arguments == "{}" and fragment.lstrip().startswith("{"):
            # An empty object first and the real one after it: some servers begin every call so.
            self._arguments = ""
        self._arguments += fragment
        if custom.get("name") or custom.get("input"):
            begun = self._custom or {"name": "", "input": ""}
            self._custom = {key: begun[key] + str(custom.get(key) or "") for key in begun}

    def is_ended_by(self, piece: dict[str, Any]) -> bool:
        """Whether a piece that could go on with this call begins another: never `{…}{…}` as the arguments of one."""
        function = wire.mapping(piece.get("function"))
        name = str(function.get("name") or wire.mapping(piece.get("custom")).get("name") or "")
        own_name = (self._custom or {}).get("name") or self._name
        if name and piece.get("id") and self.id:
            return True
        if name and own_name and name != own_name:
            return True
        begins_object = _fragment(function.get("arguments")).lstrip().startswith("{")
        is_whole = self._arguments.strip() not in ("", "{}") and self.is_json()
        return begins_object and (is_whole or bool(name and self._arguments.strip() == "{}"))

    def is_json(self) -> bool:
        return not self._arguments.strip() or wire.object_or_none(self._arguments) is not None

    def written(self) -> dict[str, Any]:
        extra = {"extra_content": self._extra_content} if self._extra_content else {}
        if self._custom is not None and not self._name:
            return {"id": self.id, "type": "custom", "custom": self._custom, **extra}
        function = {"name": self._name, "arguments": self._arguments}
        return {"id": self.id, "type": "function", "function": function, **extra}


def _fragment(found: Any) -> str:
    if found is None:
        return ""
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
