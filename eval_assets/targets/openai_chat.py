"""OpenAI chat completions, not streamed: the body that is sent and the reply that is read, tolerantly."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from eval_assets.errors import ConfigError
from eval_assets.model.cases import Case, Message
from eval_assets.model.runs import RunOutput, Usage
from eval_assets.targets import credentials, prompts
from eval_assets.targets.http import HttpClient, Reply, open_client
from eval_assets.targets.specs import OpenAIChat
from eval_assets.targets.target import OwnError, Unavailable, clean, final_text

RUN_ID_HEADER = "x-eval-run-id"
"""Sent with every request, so that a server's log and a run can be brought together."""
_FILTERED = frozenset({"content_filter", "content_policy_violation"})
_CHECK_BASE_URL = "check base_url, which should end in /v1"

Tool = dict[str, Any]


class ChatReply(NamedTuple):
    """One turn of a model."""

    message: Message
    """The assistant message as OpenAI writes it, fit to be sent back."""
    finish_reason: str | None
    usage: Usage
    response_id: str | None
    attempts: int


class OpenAIChatTarget:
    """A model behind chat completions; asked by itself, or turn by turn by an agent. Made by `open_openai_chat`."""

    def __init__(self, spec: OpenAIChat, http: HttpClient, *, system: str | None, headers: Mapping[str, str]) -> None:
        self.system = system
        """The text of the system prompt."""
        self._spec = spec
        self._http = http
        self._headers = headers
        self._url = f"{spec.base_url}/chat/completions"

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
            finish_reason=reply.finish_reason,
            response_id=reply.response_id,
            attempts=reply.attempts,
        )

    async def chat(self, messages: Sequence[Message], *, tools: Iterable[Tool], run_id: str) -> ChatReply:
        """
        Ask for the next assistant message of a conversation.

        Raises:
            Unavailable: No reply, or none that can be read.
            OwnError: The provider's content filter refused; that is this target's answer.
        """
        body = self._body(messages, tools)
        reply = await self._http.post(self._url, body=body, headers={**self._headers, RUN_ID_HEADER: run_id})
        try:
            return self._read(reply)
        except _Unreadable as failure:
            raise Unavailable(self._http.redact(str(failure)), attempts=reply.attempts) from failure

    def _body(self, messages: Sequence[Message], tools: Iterable[Tool]) -> bytes:
        spec = self._spec
        settings = {
            "temperature": spec.temperature,
            "seed": spec.seed,
            "max_tokens": spec.max_tokens,
            "tools": _offered([*spec.tools, *tools]) or None,
        }
        given = {key: value for key, value in settings.items() if value is not None}
        return json.dumps({"model": spec.model, "messages": messages, **given, **spec.extra}).encode()

    def _read(self, reply: Reply) -> ChatReply:
        document = _json(reply.body)
        self._raise_if_filtered(reply, document)
        if not reply.is_success:
            raise _Unreadable(f"HTTP {reply.status} from {self._url}: {self._shown(reply)}{_advice(reply)}")
        if document is None:
            kind = "HTML" if _is_html(reply) else "no JSON"
            raise _Unreadable(f"{self._url} answered {kind}: {self._shown(reply)}; {_CHECK_BASE_URL}")
        choice = _first_choice(document)
        if choice is None:
            raise _Unreadable(f"{self._url} answered JSON without choices: {self._shown(reply)}; {_CHECK_BASE_URL}")
        return ChatReply(
            message=_assistant_message(choice.get("message")),
            finish_reason=_text_or_none(choice.get("finish_reason")),
            usage=_usage(document.get("usage")),
            response_id=_text_or_none(document.get("id")),
            attempts=reply.attempts,
        )

    def _raise_if_filtered(self, reply: Reply, document: dict[str, Any] | None) -> None:
        error = (document or {}).get("error")
        code = error.get("code") if isinstance(error, dict) else None
        if reply.status in (200, 400) and isinstance(error, dict) and isinstance(code, str) and code in _FILTERED:
            raise OwnError(f"{code}: {self._http.excerpt(str(error.get('message')))}", attempts=reply.attempts)

    def _shown(self, reply: Reply) -> str:
        return self._http.excerpt(reply.text) or "an empty body"


@contextlib.asynccontextmanager
async def open_openai_chat(spec: OpenAIChat, *, folder: Path, concurrency: int) -> AsyncIterator[OpenAIChatTarget]:
    """
    Open the target for one evaluation.

    Raises:
        ConfigError: The key or the system prompt's file is missing.
    """
    if found := [*credentials.problems(spec), *prompts.problems(spec.system, folder=folder)]:
        raise ConfigError("\n".join(found))
    headers = {"content-type": "application/json", "accept": "application/json", **credentials.headers(spec)}
    async with open_client(
        concurrency=concurrency,
        timeout_s=spec.timeout_s,
        max_attempts=spec.max_attempts,
        secrets=credentials.secrets(spec),
    ) as client:
        system = prompts.read(spec.system, folder=folder)
        yield OpenAIChatTarget(spec, client, system=system, headers=headers)


def _offered(tools: Iterable[Tool]) -> list[Tool]:
    """The tools as the API wants them; of two with one name, the first."""
    by_name: dict[Any, Tool] = {}
    for tool in tools:
        function = tool.get("function", tool)
        by_name.setdefault(function.get("name"), tool if "function" in tool else {"type": "function", "function": tool})
    return list(by_name.values())


class _Unreadable(Exception):  # never leaves this module: it becomes Unavailable
    """A reply that is no answer; the text says what came back and what to check."""


def _json(body: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    # Only an escape can hold half a surrogate pair, so most replies need no second walk.
    cleaned = clean(document) if b"\\ud" in body.lower() else document
    return dict(cleaned)


def _is_html(reply: Reply) -> bool:
    return "html" in reply.content_type or reply.body.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html"))


def _advice(reply: Reply) -> str:
    if reply.status in (401, 403):
        return "; check api_key_env"
    if reply.status in (404, 405) or reply.is_redirect:
        return f"; {_CHECK_BASE_URL}, and model"
    return ""


def _first_choice(document: dict[str, Any]) -> dict[str, Any] | None:
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    return choices[0] if isinstance(choices[0].get("message"), dict) else None


def _assistant_message(found: Any) -> Message:
    content, refusal = found.get("content"), found.get("refusal")
    if content is not None and not isinstance(content, (str, list)):
        raise _Unreadable(f"the reply's content is {type(content).__name__}, wanted text or a list of parts")
    message: Message = {"role": "assistant", "content": content}
    if calls := _tool_calls(found.get("tool_calls")):
        message["tool_calls"] = calls
    if isinstance(refusal, str) and refusal:
        message["refusal"] = refusal
    return message


def _tool_calls(found: Any) -> list[dict[str, Any]]:
    calls = found or []
    if not isinstance(calls, list) or not all(
        isinstance(call, dict) and isinstance(call.get("function"), dict) for call in calls
    ):
        raise _Unreadable("the reply's tool_calls are not a list of {id, type, function}")
    return [_tool_call(call, position) for position, call in enumerate(calls)]


def _tool_call(call: dict[str, Any], position: int) -> dict[str, Any]:
    arguments = call["function"].get("arguments")
    if not isinstance(arguments, str):
        # Some servers send the object itself, and nothing where a tool takes no arguments.
        arguments = "{}" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    return {
        "id": str(call.get("id") or f"call_{position}"),
        "type": "function",
        "function": {"name": str(call["function"].get("name") or ""), "arguments": arguments},
    }


def _usage(found: Any) -> Usage:
    if not isinstance(found, dict):
        return Usage()
    return Usage(input_tokens=_count(found.get("prompt_tokens")), output_tokens=_count(found.get("completion_tokens")))


def _count(found: Any) -> int | None:
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def _text_or_none(found: Any) -> str | None:
    return found if isinstance(found, str) and found else None
