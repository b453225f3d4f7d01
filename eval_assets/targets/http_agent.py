"""A person's own agent behind one URL: its body filled in, its answer found by JMESPath. Knows nothing of its JSON."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import jmespath

from eval_assets.errors import ConfigError
from eval_assets.model.cases import Case, Message
from eval_assets.model.runs import RunOutput, ToolCall, Trajectory, Usage
from eval_assets.targets import credentials, wire
from eval_assets.targets.http import HttpClient, Reply, open_client
from eval_assets.targets.specs import Http
from eval_assets.targets.target import Unavailable, clean, final_text

RUN_ID_HEADER = "x-eval-run-id"
"""Sent with every request, so that a server's log and a run can be brought together."""
_PLACE = re.compile(r"\{\{\s*(input|messages|tools|case|run|run_id)\s*\}\}")


class HttpAgentTarget:
    """Posts a case and reads what came back. Made by `open_http_agent`."""

    def __init__(self, spec: Http, http: HttpClient, headers: Mapping[str, str]) -> None:
        self._spec = spec
        self._http = http
        self._headers = headers
        self._read = {
            name: jmespath.compile(expression)
            for name, expression in spec.read.model_dump().items()
            if expression is not None
        }

    async def ask(self, case: Case, run_index: int, run_id: str) -> RunOutput:
        body = json.dumps(_filled(self._spec.body, _values(case, run_index, run_id))).encode()
        headers, started = {**self._headers, RUN_ID_HEADER: run_id}, time.perf_counter()
        asked = tuple(case.chat())
        try:
            reply = await self._http.post(self._spec.url, body=body, headers=headers)
            document = self._document(reply)
        except Unavailable as failure:
            return RunOutput(messages=asked, error=failure.reason, unavailable=True, attempts=failure.attempts)
        output = self._output(document, asked, reply)
        if output.usage.input_tokens is not None and output.usage.output_tokens is not None:
            self._http.settle(reply, tokens=output.usage.input_tokens + output.usage.output_tokens)
        return output.model_copy(update={"latency_s": time.perf_counter() - started})

    def _document(self, reply: Reply) -> Any:
        url, shown = self._spec.url, self._http.excerpt(reply.text) or "an empty body"
        if not reply.is_success:
            raise Unavailable(f"HTTP {reply.status} from {url}: {shown}", attempts=reply.attempts)
        try:
            return clean(json.loads(reply.body))
        except (ValueError, RecursionError) as error:
            reason = f"{url} answered no JSON: {shown}; check url"
            raise Unavailable(self._http.redact(reason), attempts=reply.attempts) from error

    def _output(self, document: Any, asked: tuple[Message, ...], reply: Reply) -> RunOutput:
        messages, trace_error = self._messages(document, asked)
        try:
            calls = self._calls(document)
        except ValueError as failure:
            calls, trace_error = None, str(failure)
        final = self._final(document, messages)
        error = self._error(document)
        if error is None and final is None and not calls:
            error = self._nothing_found(reply)
        if "messages" not in self._read and trace_error is None:
            messages = (*asked, _answer(final, calls or ()))
        stated = None
        if calls is not None and "messages" in self._read:
            turns = sum(message.get("role") == "assistant" for message in messages)
            stated = Trajectory(steps=turns, tool_calls=tuple(calls))
        return RunOutput(
            final=final,
            messages=messages,
            trajectory=stated,
            usage=_usage(self._found("usage", document)),
            error=error,
            trace_error=None if trace_error is None else self._http.redact(trace_error),
            finish_reason=wire.text_or_none(self._found("finish_reason", document)),
            response_id=wire.identity_or_none(self._found("response_id", document)),
            attempts=reply.attempts,
        )

    def _found(self, name: str, document: Any) -> Any:
        """What an expression finds; nothing where it does not fit what is there."""
        if name not in self._read:
            return None
        try:
            return self._read[name].search(document)
        except jmespath.exceptions.JMESPathError:
            return None

    def _messages(self, document: Any, asked: tuple[Message, ...]) -> tuple[tuple[Message, ...], str | None]:
        if "messages" not in self._read:
            return asked, None
        found = self._found("messages", document)
        try:
            if not isinstance(found, list):
                raise ValueError(f"read.messages found {type(found).__name__}, wanted a list of chat messages")
            Trajectory.from_messages(found)
        except ValueError as error:
            return asked, str(error)
        return tuple(found), None

    def _calls(self, document: Any) -> list[ToolCall] | None:
        """The calls, where the suite says where they are; nothing found there is no call."""
        if "tool_calls" not in self._read:
            return None
        found = self._found("tool_calls", document)
        if found is None:
            return []
        if not isinstance(found, list) or not all(isinstance(call, (dict, str)) for call in found):
            raise ValueError(f"read.tool_calls found {type(found).__name__}, wanted a list of {{name, arguments}}")
        return [_call(call) for call in found]

    def _final(self, document: Any, messages: tuple[Message, ...]) -> str | None:
        if "final" not in self._read:
            texts = (final_text(message) for message in reversed(messages) if message.get("role") == "assistant")
            return next((text for text in texts if text), None)
        found = self._found("final", document)
        return found if found is None or isinstance(found, str) else json.dumps(found, ensure_ascii=False)

    def _error(self, document: Any) -> str | None:
        found = self._found("error", document)
        if found in (None, False, "", [], {}):
            return None
        return self._http.redact(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))

    def _nothing_found(self, reply: Reply) -> str:
        where = "final" if "final" in self._read else "messages"
        expression = getattr(self._spec.read, where)
        return f"the reply holds no answer at read.{where} ({expression}): {self._http.excerpt(reply.text)}"


@contextlib.asynccontextmanager
async def open_http_agent(spec: Http, *, concurrency: int) -> AsyncIterator[HttpAgentTarget]:
    """
    Open the target for one evaluation.

    Raises:
        ConfigError: The key is missing.
    """
    if found := credentials.problems(spec):
        raise ConfigError("\n".join(found))
    key = credentials.key(spec)
    headers = {
        "content-type": "application/json",
        "accept": "application/json",
        **({} if key is None else {"authorization": f"Bearer {key}"}),
        **{name.lower(): value for name, value in spec.headers.items()},
    }
    async with open_client(spec, concurrency=concurrency) as client:
        yield HttpAgentTarget(spec, client, headers)


def _values(case: Case, run_index: int, run_id: str) -> dict[str, Any]:
    messages = case.chat()
    asked = [wire.text_of(message.get("content")) for message in messages if message.get("role") == "user"]
    return {
        "input": case.input or (asked[-1] if asked else ""),
        "messages": messages,
        "tools": list(case.tools),
        "case": case.name,
        "run": run_index,
        "run_id": run_id,
    }


def _filled(template: Any, values: dict[str, Any]) -> Any:
    if isinstance(template, dict):
        return {key: _filled(value, values) for key, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, values) for value in template]
    if not isinstance(template, str):
        return template
    if alone := _PLACE.fullmatch(template.strip()):
        return values[alone[1]]
    return _PLACE.sub(lambda place: _as_text(values[place[1]]), template)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _call(found: dict[str, Any] | str) -> ToolCall:
    if isinstance(found, str):
        return ToolCall(name=found, arguments="{}")
    function = wire.mapping(found.get("function")) or found
    given = next((function[key] for key in ("arguments", "args", "input") if function.get(key) is not None), None)
    return ToolCall(
        name=str(function.get("name") or ""),
        arguments=wire.written(given),
        id=wire.identity_or_none(found.get("id")),
    )


def _answer(final: str | None, calls: tuple[ToolCall, ...] | list[ToolCall]) -> Message:
    """The agent's turn, as far as it is known."""
    message: Message = {"role": "assistant", "content": final}
    if calls:
        message["tool_calls"] = [wire.tool_call(call.id, call.name, call.arguments, n) for n, call in enumerate(calls)]
    return message


def _usage(found: Any) -> Usage:
    usage = wire.mapping(found)
    return Usage(
        input_tokens=_first_count(usage, "input_tokens", "prompt_tokens", "promptTokenCount"),
        output_tokens=_first_count(usage, "output_tokens", "completion_tokens", "candidatesTokenCount"),
    )


def _first_count(usage: dict[str, Any], *names: str) -> int | None:
    return next((count for name in names if (count := wire.count(usage.get(name))) is not None), None)
