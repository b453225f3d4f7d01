"""Anthropic Messages: chat messages to content blocks and back, whole or streamed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from eval_assets.model.cases import Message
from eval_assets.model.runs import Usage
from eval_assets.targets import wire
from eval_assets.targets.specs import ModelSpec
from eval_assets.targets.sse import Event, StreamBroken
from eval_assets.targets.wire import Document, Tool, Turn, Unreadable

_VERSION = "2023-06-01"
_MAX_TOKENS = 4096
"""The API wants a limit; this is sent where the suite names none."""
_SYSTEM_ROLES = ("system", "developer")


class AnthropicFormat:
    """`/v1/messages`."""

    check = "check base_url, which should be the host alone, without /v1"

    def url(self, spec: ModelSpec) -> str:
        return f"{spec.base_url.removesuffix('/v1')}/v1/messages"

    def key_header(self, key: str) -> dict[str, str]:
        return {"x-api-key": key}

    def fixed_headers(self) -> dict[str, str]:
        return {"anthropic-version": _VERSION}

    def body(self, spec: ModelSpec, messages: Sequence[Message], tools: Sequence[Tool]) -> Document:
        system = [wire.text_of(message.get("content")) for message in messages if message.get("role") in _SYSTEM_ROLES]
        settings = {
            "system": "\n\n".join(filter(None, system)) or None,
            "temperature": spec.temperature,
            "tools": [_tool(tool) for tool in tools] or None,
            "stream": spec.stream or None,
        }
        given = {key: value for key, value in settings.items() if value is not None}
        limit = spec.max_tokens or _MAX_TOKENS
        return {"model": spec.model, "max_tokens": limit, "messages": _turns(messages), **given, **spec.extra}

    def read(self, document: Document) -> Turn:
        if not isinstance(document.get("content"), list):
            raise Unreadable("JSON without content")
        usage = wire.mapping(document.get("usage"))
        return Turn(
            message=_assistant_message(wire.objects(document["content"])),
            finish_reason=wire.text_or_none(document.get("stop_reason")),
            usage=Usage(
                input_tokens=wire.count(usage.get("input_tokens")), output_tokens=wire.count(usage.get("output_tokens"))
            ),
            response_id=wire.identity_or_none(document.get("id")),
        )

    def stream(self) -> _Blocks:
        return _Blocks()


def _tool(tool: Tool) -> Document:
    function = wire.mapping(tool.get("function"))
    described = {"description": function["description"]} if function.get("description") else {}
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {"name": function.get("name"), **described, "input_schema": schema}


def _turns(messages: Sequence[Message]) -> list[Document]:
    """The conversation without system messages. Neighbours of one role are one turn, because roles must alternate."""
    turns: list[Document] = []
    for message in messages:
        if message.get("role") in _SYSTEM_ROLES:
            continue
        role = "assistant" if message.get("role") == "assistant" else "user"
        blocks = list(_blocks(message))
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].extend(blocks)
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return [{**turn, "content": _shortest(turn["content"])} for turn in turns]


def _shortest(blocks: list[Document]) -> Any:
    """One block of nothing but text as that text, which every server that speaks this format takes."""
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} else blocks


def _blocks(message: Message) -> Iterator[Document]:
    content = message.get("content")
    if message.get("role") == "tool":
        yield {
            "type": "tool_result",
            "tool_use_id": str(message.get("tool_call_id")),
            "content": content if isinstance(content, str) else list(map(_block, wire.parts(content))),
        }
        return
    yield from map(_block, wire.parts(content))
    for identity, name, arguments in wire.called(message):
        yield {"type": "tool_use", "id": identity, "name": name, "input": wire.object_or_none(arguments) or {}}


def _block(part: dict[str, Any]) -> Document:
    if part.get("type") != "image_url":
        return part
    kind, data = wire.data_url(part)
    source = {"type": "url", "url": data} if kind is None else {"type": "base64", "media_type": kind, "data": data}
    return {"type": "image", "source": source}


def _assistant_message(blocks: list[dict[str, Any]]) -> Message:
    said = [block for block in blocks if block.get("type") != "tool_use"]
    if all(block.get("type") == "text" for block in said):
        content: Any = "".join(wire.text_of([block]) for block in said) if said else None
    else:
        # Thinking is signed, and the next turn is refused without it.
        content = said
    message: Message = {"role": "assistant", "content": content}
    used = [block for block in blocks if block.get("type") == "tool_use"]
    if used:
        message["tool_calls"] = [
            wire.tool_call(block.get("id"), block.get("name"), block.get("input"), position)
            for position, block in enumerate(used)
        ]
    return message


class _Blocks:
    """The content blocks of one streamed reply, put together."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        self._stopped = False

    def take(self, event: Event, data: Any) -> bool:  # noqa: ARG002  # the name is in the data too
        found = wire.mapping(data)
        kind, index = found.get("type"), wire.count(found.get("index"))
        if kind == "error":
            wire.raise_for_error(found.get("error"))
        if kind == "message_start":
            self._message = wire.mapping(found.get("message"))
        elif kind == "content_block_start":
            begun = len(self._blocks) if index is None else index
            self._blocks[begun] = dict(wire.mapping(found.get("content_block")))
        elif kind == "content_block_delta":
            going_on = max(self._blocks, default=0) if index is None else index
            self._take_delta(going_on, wire.mapping(found.get("delta")))
        elif kind == "message_delta":
            self._take_end(found)
        elif kind == "message_stop":
            self._stopped = True
        return kind == "message_stop"

    def whole(self) -> Document:
        if not self._stopped and not self._message.get("stop_reason"):
            raise StreamBroken("it ended without message_stop")
        for index, written in self._inputs.items():
            if written.strip():
                given = wire.object_or_none(written)
                self._blocks[index]["input"] = written if given is None else given
        return {**self._message, "content": [self._blocks[index] for index in sorted(self._blocks)]}

    def _take_delta(self, index: int, delta: dict[str, Any]) -> None:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        if "partial_json" in delta:
            self._inputs[index] = self._inputs.get(index, "") + str(delta["partial_json"] or "")
        for key in ("text", "thinking", "signature"):
            if isinstance(delta.get(key), str):
                block[key] = str(block.get(key) or "") + delta[key]

    def _take_end(self, found: dict[str, Any]) -> None:
        usage, last = dict(wire.mapping(self._message.get("usage"))), wire.mapping(found.get("usage"))
        # The last count is of all that was written; what was read is counted at the start, and again with server tools.
        usage["output_tokens"] = last.get("output_tokens", usage.get("output_tokens"))
        usage["input_tokens"] = usage.get("input_tokens") or last.get("input_tokens")
        reason = wire.mapping(found.get("delta")).get("stop_reason")
        self._message = {**self._message, "usage": usage, "stop_reason": reason or self._message.get("stop_reason")}
