"""
What the wire formats have in common: the shape of a format, and reading a provider's JSON without trusting it.

A format turns a conversation into a request body, and a reply into an assistant message. It knows no network. However a
provider writes things, conversations are OpenAI chat messages on this side.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from eval_assets.model.cases import Message
from eval_assets.model.runs import Usage
from eval_assets.targets.specs import ModelSpec
from eval_assets.targets.sse import Event, StreamBroken
from eval_assets.targets.target import OwnError, final_text

Document = dict[str, Any]
Tool = dict[str, Any]

CUT_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_context_window_exceeded"})
"""Finish reasons that say an answer ended where its tokens did, as providers spell them."""
_REFUSED = frozenset(
    {
        "content_filter",
        "refusal",
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
    }
)
"""Finish reasons that say why there is no answer, where there is none."""
_NOT_FOR_LACK_OF_LUCK = ("invalid", "authentication", "permission", "not_found", "billing", "too_large", "unsupported")
"""Parts of the types of errors that another attempt would meet again."""
_CALLS_OWN_ERRORS = frozenset({"content_filter", "content_policy_violation", "invalid_prompt", "tool_use_failed"})
"""Codes of errors that are about what the model was asked or made of it, not about how it was asked."""

_COUNT_LIMIT = 2**63


class Unreadable(Exception):  # never leaves targets/: it becomes Unavailable
    """A reply that is no answer; the text says what came back."""


class Turn(NamedTuple):
    """What one reply says."""

    message: Message
    """The assistant message as OpenAI writes it, fit to be sent back."""
    finish_reason: str | None = None
    """In the provider's word."""
    usage: Usage = Usage()
    response_id: str | None = None
    error: str | None = None
    """The model's own error, where its message is no answer."""


class StreamReader(Protocol):
    """Puts a reply together from its events."""

    def take(self, event: Event, data: Any) -> bool:
        """
        Take one event with its JSON; true when it was the last.

        Raises:
            StreamBroken: The provider gave up in the middle, in a way that another attempt may not meet.
        """

    def whole(self) -> Document:
        """
        The reply as it would have come in one piece.

        Raises:
            StreamBroken: Its end never came.
        """


class WireFormat(Protocol):
    """How one kind of API is asked, and how its replies are read."""

    check: str
    """What to look at when something else than this API answers."""

    def url(self, spec: ModelSpec) -> str:
        """Where a model is asked."""

    def key_header(self, key: str) -> dict[str, str]:
        """How the key is sent."""

    def fixed_headers(self) -> dict[str, str]:
        """What the API wants beside it."""

    def body(self, spec: ModelSpec, messages: Sequence[Message], tools: Sequence[Tool]) -> Document:
        """The request body. System messages are among the messages; tools are as chat completions want them."""

    def read(self, document: Document) -> Turn:
        """
        Read a whole reply.

        Raises:
            Unreadable: It holds no answer.
        """

    def stream(self) -> StreamReader:
        """A reader for one stream."""


def offered(tools: Iterable[Tool]) -> list[Tool]:
    """The tools as chat completions want them; of two with one name, the first."""
    by_name: dict[Any, Tool] = {}
    for tool in tools:
        function = tool.get("function", tool)
        by_name.setdefault(function.get("name"), tool if "function" in tool else {"type": "function", "function": tool})
    return list(by_name.values())


def tool_call(identity: Any, name: Any, arguments: Any, position: int) -> dict[str, Any]:
    """A call as chat completions write it. Nothing, and an empty text, are arguments of a tool that takes none."""
    return {
        "id": str(identity or f"call_{position}"),
        "type": "function",
        "function": {"name": str(name or ""), "arguments": written(arguments)},
    }


def written(arguments: Any) -> str:
    """The arguments of a call as their JSON."""
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return "{}"
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def called(message: Message) -> Iterator[tuple[str, str, Any]]:
    """The calls of a message: id, name and arguments as they came."""
    for position, call in enumerate(message.get("tool_calls") or ()):
        function = call.get("function") or {}
        yield str(call.get("id") or f"call_{position}"), str(function.get("name") or ""), function.get("arguments")


def object_or_none(arguments: Any) -> dict[str, Any] | None:
    """The arguments of a call as the object they should be."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return None
    return arguments if isinstance(arguments, dict) else None


def text_of(content: Any) -> str:
    """The text of a message's content, whatever shape it has."""
    if isinstance(content, str):
        return content
    return final_text({"content": content}) or ""


def parts(content: Any) -> list[dict[str, Any]]:
    """A message's content as a list of parts."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def data_url(part: dict[str, Any]) -> tuple[str | None, str]:
    """Media type and base64 of an `image_url` part; (None, URL) where the picture is elsewhere."""
    image = part.get("image_url")
    url = str(image.get("url") if isinstance(image, dict) else image)
    if not url.startswith("data:"):
        return None, url
    kind, _, data = url.removeprefix("data:").partition(";base64,")
    return kind or "image/png", data


def count(found: Any) -> int | None:
    """A provider's count, where it is one that a store can hold."""
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < _COUNT_LIMIT else None


def text_or_none(found: Any) -> str | None:
    """A provider's text, where it is one."""
    return found if isinstance(found, str) else None


def identity_or_none(found: Any) -> str | None:
    """A provider's id. An empty one names nothing: two replies with it are not copies."""
    return text_or_none(found) or None


def objects(found: Any) -> list[dict[str, Any]]:
    """The objects of a list, where it is one."""
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def mapping(found: Any) -> dict[str, Any]:
    """An object, where it is one."""
    return found if isinstance(found, dict) else {}


def judged(turn: Turn) -> Turn:
    """The turn, with its own error where it says nothing and gives the reason."""
    if turn.error is not None or turn.message.get("tool_calls") or (final_text(turn.message) or "").strip():
        return turn
    if turn.finish_reason in CUT_OFF:
        reason = f"truncated: the reply ended at its token limit ({turn.finish_reason}) before it said anything"
        return turn._replace(error=f"{reason}; give the target more max_tokens")
    if turn.finish_reason in _REFUSED:
        return turn._replace(error=f"refused: the reply is empty, with finish reason {turn.finish_reason}")
    return turn


def own_error(error: dict[str, Any]) -> str | None:
    """What a provider's error says, where it is the model's own: refused content, or a call it could not write."""
    code = error.get("code")
    message = str(error.get("message"))
    if isinstance(code, str) and code in _CALLS_OWN_ERRORS:
        return f"{code}: {message}"
    if "content filtering policy" in message:
        return f"content_filter: {message}"
    return None


def raise_for_error(error: Any) -> None:
    """
    Raise for an error that came inside a stream.

    Raises:
        OwnError: It is the model's own.
        StreamBroken: Another attempt may be answered.
        Unreadable: It would meet the same error.
    """
    found = mapping(error)
    if own := own_error(found):
        raise OwnError(own)
    kind = " ".join(str(found[key]) for key in ("type", "code", "status") if found.get(key)) or "error"
    text = f"{kind}: {found.get('message') or json.dumps(error, ensure_ascii=False)}"
    if any(part in kind.lower() for part in _NOT_FOR_LACK_OF_LUCK) or kind in {"400", "401", "402", "403", "404"}:
        raise Unreadable(f"an error within the stream: {text}")
    raise StreamBroken(f"an error within the stream: {text}")
