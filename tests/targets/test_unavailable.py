"""What no answer is, as a whole target sees it: unavailable with a reason, never wrong, and never a lost run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from eval_assets.model.runs import RunOutput
from eval_assets.targets.specs import OpenAIChat

Model = Callable[..., OpenAIChat]
Ask = Callable[..., list[RunOutput]]


@pytest.mark.parametrize(
    "raw",
    [
        b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{"choices": [',
        b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{"choices": [',
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 14\r\n\r\n" + b'{"id": "\xff\xfe"}\x80',
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 4\r\n\r\n\x89PNG",
        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ],
    ids=["truncated", "cut", "not utf-8", "html", "a picture", "empty", "no content"],
)
def test_a_reply_that_cannot_be_read_is_no_answer(raw: bytes, server: Any, model: Model, ask: Ask) -> None:
    server.script(raw)

    outputs = ask(model(max_attempts=1), times=3)

    assert [output.unavailable for output in outputs] == [True] * 3
    assert len({output.error for output in outputs}) == 1


def test_json_under_another_content_type_is_read(server: Any, model: Model, ask: Ask, chat: Any) -> None:
    server.script(server.answer(200, json.dumps(chat("fine")), "text/plain"))

    [output] = ask(model())

    assert (output.final, output.error) == ("fine", None)


def test_a_day_of_troubles_loses_no_run(server: Any, model: Model, ask: Ask, chat: Any) -> None:
    """C13: answers, a rate limit that stays, a gateway's time-out, a dropped connection, an overloaded stream."""
    fine = server.answer(200, json.dumps(chat("fine")))
    overloaded = 'data: {"error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n'
    server.script(
        fine,
        server.answer(429, "{}"),
        server.answer(504, "late"),
        b"",
        server.answer(200, overloaded, "text/event-stream"),
        fine,
    )

    outputs = ask(model(max_attempts=1, stream=True), times=6, concurrency=1)

    assert Counter(output.unavailable for output in outputs) == {True: 4, False: 2}
    assert [output.final for output in outputs if not output.unavailable] == ["fine", "fine"]
    assert len({output.error for output in outputs if output.unavailable}) == 4
