"""OpenAI Responses: chat messages to input items and back, whole or streamed. Reasoning items are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from eval_assets.model.cases import Message
from eval_assets.model.runs import Usage
from eval_assets.targets import wire
from eval_assets.targets.specs import ModelSpec
from eval_assets.targets.sse import Event, StreamBroken
from eval_assets.targets.wire import Document, Tool, Turn, Unreadable

_SYSTEM_ROLES = ("system", "developer")
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


class OpenAIResponsesFormat:
    """`/responses`."""

    check = "check base_url, which should end in /v1"

    def url(self, spec: ModelSpec) -> str:
        return f"{spec.base_url}/responses"

    def key_header(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"}

    def fixed_headers(self) -> dict[str, str]:
        return {}

    def body(self, spec: ModelSpec, messages: Sequence[Message], tools: Sequence[Tool]) -> Document:
        system = [wire.text_of(message.get("content")) for message in messages if message.get("role") in _SYSTEM_ROLES]
        settings = {
            "instructions": "\n\n".join(filter(None, system)) or None,
            "temperature": spec.temperature,
            "max_output_tokens": spec.max_tokens,
            "tools": [_tool(tool) for tool in tools] or None,
            "stream": spec.stream or None,
        }
        given = {key: value for key, value in settings.items() if value is not None}
        items = [item for message in messages for item in _items(message)]
        return {"model": spec.model, "input": items, **given, **spec.extra}

    def read(self, document: Document) -> Turn:
        if not isinstance(document.get("output"), list):
            raise Unreadable("JSON without output")
        output, error = wire.objects(document["output"]), None
        if document.get("error"):
            failure = wire.mapping(document["error"])
            error = wire.own_error(failure)
            if error is None:
                raise Unreadable(f"that the response failed: {failure.get('code')}: {failure.get('message')}")
        usage = wire.mapping(document.get("usage"))
        return Turn(
            message=_assistant_message(output),
            finish_reason=_finish_reason(document),
            usage=Usage(
                input_tokens=wire.count(usage.get("input_tokens")), output_tokens=wire.count(usage.get("output_tokens"))
            ),
            response_id=wire.identity_or_none(document.get("id")),
            error=error or _custom_call(output),
        )

    def stream(self) -> _Events:
        return _Events()


def _tool(tool: Tool) -> Document:
    function = wire.mapping(tool.get("function"))
    # Without a word on it, this API would hold a schema to its strict subset, unlike chat completions.
    return {"type": "function", "strict": False, "parameters": {"type": "object", "properties": {}}, **function}


def _items(message: Message) -> Iterator[Document]:
    role = message.get("role")
    if role in _SYSTEM_ROLES:
        return
    if role == "tool":
        output = wire.text_of(message.get("content"))
        yield {"type": "function_call_output", "call_id": str(message.get("tool_call_id")), "output": output}
        return
    content = message.get("content")
    if role == "assistant":
        content = wire.text_of(content)
    elif not isinstance(content, str):
        content = [_part(part) for part in wire.parts(content)]
    if content:
        yield {"role": role, "content": content}
    for position, (identity, name, arguments) in enumerate(wire.called(message)):
        written = wire.tool_call(identity, name, arguments, position)["function"]
        yield {"type": "function_call", "call_id": identity, **written}


def _part(part: dict[str, Any]) -> Document:
    if part.get("type") == "text":
        return {"type": "input_text", "text": part.get("text")}
    if part.get("type") == "image_url":
        image = part.get("image_url")
        return {"type": "input_image", "image_url": image.get("url") if isinstance(image, dict) else image}
    return part


def _finish_reason(document: Document) -> str | None:
    reason = wire.mapping(document.get("incomplete_details")).get("reason")
    return wire.text_or_none(reason or document.get("status"))


def _assistant_message(output: list[dict[str, Any]]) -> Message:
    said = [part for item in output if item.get("type") == "message" for part in wire.objects(item.get("content"))]
    texts = [wire.text_of([part]) for part in said if part.get("type") == "output_text"]
    refusals = [str(part.get("refusal")) for part in said if part.get("type") == "refusal"]
    message: Message = {"role": "assistant", "content": "".join(texts) if texts else None}
    if refusals:
        message["refusal"] = "".join(refusals)
    if calls := [call for position, item in enumerate(output) if (call := _tool_call(item, position))]:
        message["tool_calls"] = calls
    return message


def _tool_call(item: dict[str, Any], position: int) -> dict[str, Any] | None:
    identity = item.get("call_id") or item.get("id")
    if item.get("type") == "custom_tool_call":
        custom = {"name": item.get("name"), "input": item.get("input")}
        return {"id": str(identity or f"call_{position}"), "type": "custom", "custom": custom}
    if item.get("type") != "function_call":
        return None
    return wire.tool_call(identity, item.get("name"), item.get("arguments"), position)


def _custom_call(output: list[dict[str, Any]]) -> str | None:
    for item in output:
        if item.get("type") == "custom_tool_call":
            return f"a tool call calls the custom tool {item.get('name')!r}, wanted a function with JSON arguments"
    return None


class _Events:
    """The events of one streamed response. The last one holds the whole of it."""

    def __init__(self) -> None:
        self._response: dict[str, Any] | None = None
        self._items: list[dict[str, Any]] = []

    def take(self, event: Event, data: Any) -> bool:
        found = wire.mapping(data)
        kind = found.get("type") or event.name
        if kind == "error" or (found.get("error") and not found.get("response")):
            wire.raise_for_error(found.get("error") or found)
        if kind == "response.output_item.done":
            self._items.append(wire.mapping(found.get("item")))
        if kind not in _ENDS:
            return event.data.strip() == "[DONE]"
        self._response = wire.mapping(found.get("response"))
        if self._response.get("error"):
            wire.raise_for_error(self._response["error"])
        return True

    def whole(self) -> Document:
        if self._response is None:
            raise StreamBroken("it ended without response.completed")
        return {**self._response, "output": self._response.get("output") or self._items}
