"""A hosted model as a target: asked by itself, or turn by turn by an agent. How it is spoken to is its wire format."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from eval_assets.errors import ConfigError
from eval_assets.model.cases import Case, Message
from eval_assets.model.runs import RunOutput, Usage
from eval_assets.targets import credentials, prompts, sse, wire
from eval_assets.targets.anthropic import AnthropicFormat
from eval_assets.targets.gemini import GeminiFormat
from eval_assets.targets.http import HttpClient, Reply, open_client
from eval_assets.targets.openai_chat import OpenAIChatFormat
from eval_assets.targets.openai_responses import OpenAIResponsesFormat
from eval_assets.targets.specs import Anthropic, Gemini, ModelSpec, OpenAIChat, OpenAIResponses
from eval_assets.targets.sse import StreamBroken
from eval_assets.targets.target import OwnError, Unavailable, clean, final_text
from eval_assets.targets.wire import Document, Tool, Turn, Unreadable, WireFormat

RUN_ID_HEADER = "x-eval-run-id"
"""Sent with every request, so that a server's log and a run can be brought together."""
_OWN_ERROR_STATUSES = (200, 400)

_FORMATS: dict[type[ModelSpec], WireFormat] = {
    OpenAIChat: OpenAIChatFormat(),
    OpenAIResponses: OpenAIResponsesFormat(),
    Anthropic: AnthropicFormat(),
    Gemini: GeminiFormat(),
}


class ChatReply(NamedTuple):
    """One turn of a model."""

    message: Message
    """The assistant message as OpenAI writes it, fit to be sent back."""
    finish_reason: str | None
    usage: Usage
    response_id: str | None
    attempts: int
    error: str | None = None
    """The model's own error, where its message is no answer."""


class ChatModel(Protocol):
    """What an agent needs of a model."""

    system: str | None
    """The text of the system prompt."""

    async def chat(self, messages: Sequence[Message], *, tools: Iterable[Tool], run_id: str) -> ChatReply:
        """
        Ask for the next assistant message of a conversation.

        Raises:
            Unavailable: No reply, or none that can be read.
            OwnError: The provider refused what was asked; that is this target's answer.
        """


class ChatTarget:
    """A model behind one of the wire formats. Made by `open_chat`."""

    def __init__(self, spec: ModelSpec, http: HttpClient, *, system: str | None, headers: Mapping[str, str]) -> None:
        self.system = system
        """The text of the system prompt."""
        self._spec = spec
        self._format = _FORMATS[type(spec)]
        self._http = http
        self._headers = headers
        self._url = self._format.url(spec)

    async def ask(self, case: Case, run_index: int, run_id: str) -> RunOutput:  # noqa: ARG002  # part of Target
        sent = [*prompts.system_messages(self.system), *case.chat()]
        started = time.perf_counter()
        try:
            reply = await self.chat(sent, tools=case.tools, run_id=run_id)
        except Unavailable as failure:
            return RunOutput(messages=tuple(sent), error=failure.reason, unavailable=True, attempts=failure.attempts)
        except OwnError as failure:
            latency_s = time.perf_counter() - started
            return RunOutput(messages=tuple(sent), error=failure.reason, latency_s=latency_s, attempts=failure.attempts)
        return RunOutput(
            final=final_text(reply.message),
            messages=(*sent, reply.message),
            usage=reply.usage,
            latency_s=time.perf_counter() - started,
            error=reply.error,
            finish_reason=reply.finish_reason,
            response_id=reply.response_id,
            attempts=reply.attempts,
        )

    async def chat(self, messages: Sequence[Message], *, tools: Iterable[Tool], run_id: str) -> ChatReply:
        """
        Ask for the next assistant message of a conversation.

        Raises:
            Unavailable: No reply, or none that can be read.
            OwnError: The provider refused what was asked; that is this target's answer.
        """
        offered = wire.offered([*self._spec.tools, *tools])
        body = json.dumps(self._format.body(self._spec, messages, offered)).encode()
        headers = {**self._headers, RUN_ID_HEADER: run_id}
        try:
            reply, document = await self._post(body, headers)
        except OwnError as failure:
            raise OwnError(self._shown_error(failure.reason), attempts=failure.attempts) from failure
        except Unreadable as failure:
            raise Unavailable(self._http.redact(f"{self._url} answered {failure}")) from failure
        try:
            turn = wire.judged(self._read(reply, document))
        except Unreadable as failure:
            raise Unavailable(self._http.redact(str(failure)), attempts=reply.attempts) from failure
        if turn.usage.input_tokens is not None and turn.usage.output_tokens is not None:
            self._http.settle(reply, tokens=turn.usage.input_tokens + turn.usage.output_tokens)
        return ChatReply(
            message=turn.message,
            finish_reason=turn.finish_reason,
            usage=turn.usage,
            response_id=turn.response_id,
            attempts=reply.attempts,
            error=None if turn.error is None else self._http.redact(turn.error),
        )

    async def _post(self, body: bytes, headers: Mapping[str, str]) -> tuple[Reply, Document | None]:
        """The reply, and its JSON: as it came, or put together from its events."""
        if self._spec.stream:
            streamed = await self._http.post_streaming(self._url, body=body, headers=headers, read=self._read_stream)
            if streamed.made is not None:
                return streamed.reply, streamed.made
            return streamed.reply, _json(streamed.reply.body)
        reply = await self._http.post(self._url, body=body, headers=headers)
        if reply.is_success and "event-stream" in reply.content_type:
            # Some servers stream whether they are asked to or not.
            return reply, self._whole_stream(reply)
        return reply, _json(reply.body)

    async def _read_stream(self, chunks: AsyncIterator[bytes]) -> Document:
        decoder, reader = sse.Decoder(), self._format.stream()
        async for chunk in chunks:
            if _take(reader, decoder.feed(chunk)):
                break
        else:
            _take(reader, decoder.end())
        return _cleaned(reader.whole())

    def _whole_stream(self, reply: Reply) -> Document:
        decoder, reader = sse.Decoder(), self._format.stream()
        try:
            _ = _take(reader, decoder.feed(reply.body)) or _take(reader, decoder.end())
            return _cleaned(reader.whole())
        except StreamBroken as broken:
            reason = self._http.redact(f"{self._url} streamed no whole answer: {broken}")
            raise Unavailable(reason, attempts=reply.attempts) from broken

    def _read(self, reply: Reply, document: Document | None) -> Turn:
        self._raise_if_own_error(reply, document)
        if not reply.is_success:
            raise Unreadable(f"HTTP {reply.status} from {self._url}: {self._shown(reply)}{self._advice(reply)}")
        if document is None:
            kind = "HTML" if _is_html(reply) else "no JSON"
            raise Unreadable(f"{self._url} answered {kind}: {self._shown(reply)}; {self._format.check}")
        try:
            return self._format.read(document)
        except Unreadable as failure:
            reason = f"{self._url} answered {failure}: {self._shown(reply)}; {self._format.check}"
            raise Unreadable(reason) from failure

    def _raise_if_own_error(self, reply: Reply, document: Document | None) -> None:
        error = (document or {}).get("error")
        own = wire.own_error(error) if isinstance(error, dict) else None
        if own is not None and reply.status in _OWN_ERROR_STATUSES:
            raise OwnError(self._shown_error(own), attempts=reply.attempts)

    def _advice(self, reply: Reply) -> str:
        if reply.status in (401, 403):
            return "; check api_key_env"
        if reply.status in (404, 405) or reply.is_redirect:
            return f"; {self._format.check}, and model"
        return ""

    def _shown_error(self, reason: str) -> str:
        code, _, message = reason.partition(": ")
        return f"{code}: {self._http.excerpt(message)}"

    def _shown(self, reply: Reply) -> str:
        return self._http.excerpt(reply.text) or "an empty body"


@contextlib.asynccontextmanager
async def open_chat(spec: ModelSpec, *, folder: Path, concurrency: int) -> AsyncIterator[ChatTarget]:
    """
    Open the target for one evaluation.

    Raises:
        ConfigError: The key or the system prompt's file is missing.
    """
    if found := [*credentials.problems(spec), *prompts.problems(spec.system, folder=folder)]:
        raise ConfigError("\n".join(found))
    async with open_client(spec, concurrency=concurrency) as client:
        system = prompts.read(spec.system, folder=folder)
        yield ChatTarget(spec, client, system=system, headers=_headers(spec))


def _headers(spec: ModelSpec) -> dict[str, str]:
    """A header of the suite's takes the place of one that is sent anyway, however it is written."""
    wire_format, key = _FORMATS[type(spec)], credentials.key(spec)
    own = {
        "content-type": "application/json",
        "accept": "text/event-stream, application/json" if spec.stream else "application/json",
        **wire_format.fixed_headers(),
        **({} if key is None else wire_format.key_header(key)),
    }
    return own | {name.lower(): value for name, value in spec.headers.items()}


def _take(reader: wire.StreamReader, events: Iterable[sse.Event]) -> bool:
    """Take events up to the last one; true when that was among them."""
    return any(reader.take(event, _event_json(event)) for event in events)


def _event_json(event: sse.Event) -> Any:
    if event.data.strip() == "[DONE]":
        return None
    try:
        return json.loads(event.data)
    except (ValueError, RecursionError) as error:
        raise StreamBroken("an event is not JSON") from error


def _json(body: bytes) -> Document | None:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    # Only an escape can hold half a surrogate pair, so most replies need no second walk.
    return _cleaned(document) if b"\\ud" in body.lower() else document


def _cleaned(document: Document) -> Document:
    return dict(clean(document))


def _is_html(reply: Reply) -> bool:
    return "html" in reply.content_type or reply.body.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html"))
