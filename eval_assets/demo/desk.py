"""
What the demo server answers to a request: the OpenAI chat-completions format, with tools, and the list of models.

Who is served is `models.py`, what they say is `script.py`; the port and the thread are `server.py`. The only state is
how often each conversation was started: later turns carry their start in the ids of their tool calls.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections import Counter
from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from eval_assets.demo import script
from eval_assets.demo.models import DEFAULT_SEED, MODELS, Start
from eval_assets.demo.script import Call, Made, Say

_LATENCY_SECONDS = (0.002, 0.008)
_CHARACTERS_PER_TOKEN = 4
_CALL_ID = re.compile(r"call_(\d{1,9})_([0-9a-f]{8})_\d+")


def application(seed: int = DEFAULT_SEED) -> Starlette:
    """The server as an ASGI application; its conversations start counting at nought."""
    desk = _Desk(seed)
    complete = Route("/v1/chat/completions", desk.complete, methods=["POST"])
    return Starlette(routes=[complete, Route("/v1/models", desk.models, methods=["GET"])])


class _Refused(Exception):
    """A request the server cannot answer, and the HTTP status and code that say so."""

    def __init__(self, status: HTTPStatus, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code

    def response(self) -> JSONResponse:
        kind = "server_error" if self.status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
        error = {"message": str(self), "type": kind, "code": self.code, "param": None}
        return JSONResponse({"error": error}, status_code=self.status)


class _Asked(NamedTuple):
    """A chat-completions request, as far as the script needs it."""

    model: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]

    @property
    def prompt(self) -> str:
        return next((_text(message) for message in self.messages if message.get("role") == "user"), "")

    @property
    def offered(self) -> set[str]:
        return {tool["function"]["name"] for tool in self.tools}

    @property
    def made(self) -> list[Made]:
        names = {call.get("id"): call["function"]["name"] for call in self.calls}
        replies = [message for message in self.messages if message.get("role") == "tool"]
        return [Made(names.get(reply.get("tool_call_id"), ""), _decoded(_text(reply))) for reply in replies]

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [call for message in self.messages for call in message.get("tool_calls") or ()]


class _Desk:
    """Answers requests; counts how often each conversation was started."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._starts: Counter[tuple[str, str]] = Counter()

    async def models(self, _request: Request) -> Response:
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "eval-assets-demo"} for name in MODELS]
        return JSONResponse({"object": "list", "data": data})

    async def complete(self, request: Request) -> Response:
        try:
            asked = _read(await request.body())
            start = self._start_of(asked)
            await asyncio.sleep(_latency(start, asked))
            return JSONResponse(_completion(start, asked))
        except _Refused as refused:
            return refused.response()

    def _start_of(self, asked: _Asked) -> Start:
        for carried in filter(None, (_CALL_ID.fullmatch(str(call.get("id"))) for call in asked.calls)):
            start = Start(self._seed, asked.model, asked.prompt, int(carried[1]))
            # Only an id we gave is trusted: a conversation begun with another model or seed starts anew here.
            if start.token("call", length=8) == carried[2]:
                return start
        earlier = self._starts[asked.model, asked.prompt]
        self._starts[asked.model, asked.prompt] += 1
        return Start(self._seed, asked.model, asked.prompt, earlier)


def _read(body: bytes) -> _Asked:
    document = _decoded(body)
    if not isinstance(document, dict):
        raise _bad_request("invalid_json", "the body must be a JSON object with `model` and `messages`")
    if document.get("model") not in MODELS:
        known = ", ".join(MODELS)
        message = f"no model {document.get('model')!r}; served are {known}"
        raise _Refused(HTTPStatus.NOT_FOUND, "model_not_found", message)
    if document.get("stream"):
        raise _bad_request("unsupported_value", "this server does not stream; leave `stream` out")
    messages, tools = document.get("messages"), document.get("tools") or []
    if not messages or not _are_objects(messages):
        raise _bad_request("invalid_messages", "`messages` must be a list of at least one message object")
    asked = _Asked(document["model"], messages, tools)
    if not _are_objects(tools) or not all(map(_names_a_function, [*tools, *asked.calls])):
        raise _bad_request("invalid_tools", "every tool and tool call needs a `function` with a `name`")
    return asked


def _bad_request(code: str, message: str) -> _Refused:
    return _Refused(HTTPStatus.BAD_REQUEST, code, message)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _names_a_function(value: Any) -> bool:
    function = value.get("function") if isinstance(value, dict) else None
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _completion(start: Start, asked: _Asked) -> dict[str, Any]:
    made = asked.made
    if start.is_unavailable() and made:
        raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, "overloaded", "The model is overloaded. Try again later.")
    question = script.read_question(asked.prompt)
    # A run that is to break off plays by the book before: it must get as far as the tool call that carries its start.
    slips = frozenset() if start.is_unavailable() else start.slips(question.kind)
    turn = script.next_turn(question, slips, made, offered=asked.offered)
    message = _message(start, turn, len(made))
    return {
        "id": f"chatcmpl-{start.token(f'reply {len(asked.messages)}', length=24)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": asked.model,
        "choices": [
            {"index": 0, "message": message, "finish_reason": "stop" if isinstance(turn, Say) else "tool_calls"}
        ],
        "usage": _usage(asked, message),
    }


def _message(start: Start, turn: Call | Say, turns_before: int) -> dict[str, Any]:
    if isinstance(turn, Say):
        return {"role": "assistant", "content": turn.text}
    call = {
        "id": f"call_{start.earlier}_{start.token('call', length=8)}_{turns_before}",
        "type": "function",
        "function": {"name": turn.name, "arguments": turn.arguments},
    }
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _latency(start: Start, asked: _Asked) -> float:
    least, most = _LATENCY_SECONDS
    return least + (most - least) * start.draw(f"latency {len(asked.messages)}")


def _usage(asked: _Asked, message: dict[str, Any]) -> dict[str, int]:
    read, written = _tokens([asked.messages, asked.tools]), _tokens(message)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _tokens(value: Any) -> int:
    return math.ceil(len(json.dumps(value, ensure_ascii=False)) / _CHARACTERS_PER_TOKEN)


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _decoded(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
