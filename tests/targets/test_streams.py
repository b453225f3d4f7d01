"""Streamed chat completions: tool calls in the shapes that servers cut them into, and streams that break."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from eval_assets.model.runs import RunOutput, Usage
from eval_assets.targets.specs import OpenAIChat

if TYPE_CHECKING:
    from tests.targets.conftest import Answer, Ask, FaultServer

Model = Callable[..., OpenAIChat]

DONE = "data: [DONE]\n\n"


def piece(index: int | None = 0, identity: str | None = None, name: str | None = None, arguments: Any = None) -> Any:
    """One delta of a tool call; what is None is left out."""
    function = {key: value for key, value in {"name": name, "arguments": arguments}.items() if value is not None}
    stated = {"index": index, "id": identity, "function": function}
    return {key: value for key, value in stated.items() if value is not None}


def chunk(delta: dict[str, Any], finish_reason: str | None = None, **further: Any) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return f"data: {json.dumps({'id': 'c-1', 'choices': [choice], **further})}\n\n"


def stream_of(*pieces: Any) -> str:
    return "".join(chunk({"tool_calls": [given]}) for given in pieces) + chunk({}, "tool_calls") + DONE


def events(server: FaultServer, text: str) -> Answer:
    return server.answer(200, text, "text/event-stream")


def calls(output: RunOutput) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in output.trajectory.tool_calls]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param(
            [
                piece(0, "a", "f", '{"x": 1}'),
                piece(0, "b", "g", '{"y":'),
                piece(0, "b", None, " 2}"),
            ],
            [("f", {"x": 1}), ("g", {"y": 2})],
            id="index 0 for all, different ids",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"x": 1}'), piece(0, "b", "f", '{"x": 2}')],
            [("f", {"x": 1}), ("f", {"x": 2})],
            id="index 0 for all, one tool",
        ),
        pytest.param(
            [piece(None, "a", "f", '{"x":'), piece(None, None, None, " 1}"), piece(None, "b", "g", "{}")],
            [("f", {"x": 1}), ("g", {})],
            id="no index",
        ),
        pytest.param(
            [
                piece(None, "a", "f", '{"x":'),
                piece(None, "b", "g", '{"y":'),
                piece(None, "a", None, " 1}"),
                piece(None, "b", None, " 2}"),
            ],
            [("f", {"x": 1}), ("g", {"y": 2})],
            id="no index, interleaved by id",
        ),
        pytest.param(
            [piece(0, "a", "f", "{"), piece(0, None, None, '"x": 1}')],
            [("f", {"x": 1})],
            id="the name and the brace together",
        ),
        pytest.param(
            [piece(0, "a", "f", ""), piece(0, None, None, '{"x"'), piece(0, None, None, ": 1}")],
            [("f", {"x": 1})],
            id="the id in the first piece only",
        ),
        pytest.param(
            [
                piece(0, "a", "f", ""),
                piece(1, "b", "g", ""),
                piece(0, None, None, '{"x":'),
                piece(1, None, None, '{"y":'),
                piece(0, None, None, " 1}"),
                piece(1, None, None, " 2}"),
            ],
            [("f", {"x": 1}), ("g", {"y": 2})],
            id="interleaved",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"x":'), {**piece(0, None, "f", " 1}"), "id": None}],
            [("f", {"x": 1})],
            id="the name repeated with a null id",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"x": 1}'), {**piece(0, None, "f", ""), "id": None}],
            [("f", {"x": 1})],
            id="the name repeated after whole arguments",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"x":'), piece(0, "other", None, " 1}")],
            [("f", {"x": 1})],
            id="a new id for every piece",
        ),
        pytest.param(
            [piece(0, None, "f", '{"x": 1}'), piece(0, None, "f", '{"x": 2}')],
            [("f", {"x": 1}), ("f", {"x": 2})],
            id="whole calls without ids, one index",
        ),
        pytest.param(
            [piece(0, "a", "f", "{}"), piece(0, None, None, '{"x"'), piece(0, None, None, ": 1}")],
            [("f", {"x": 1})],
            id="an empty object first",
        ),
        pytest.param([piece(0, "a", "f", "")], [("f", {})], id="no arguments"),
        pytest.param([piece(0, "a", "f", {"x": 1})], [("f", {"x": 1})], id="an object"),
    ],
)
def test_tool_calls_are_put_together(
    server: FaultServer, model: Model, ask: Ask, pieces: list[Any], expected: list[tuple[str, Any]]
) -> None:
    server.script(events(server, stream_of(*pieces)))

    [output] = ask(model(stream=True))

    assert output.error is None
    assert calls(output) == expected
    assert output.finish_reason == "tool_calls"


def test_text_is_joined_and_the_usage_asked_for(server: FaultServer, model: Model, ask: Ask) -> None:
    text = chunk({"role": "assistant", "content": ""}) + ": comment\n\n" + chunk({"content": "fo\u2028ur"})
    end = f"data: {json.dumps({'choices': [], 'usage': {'prompt_tokens': 3, 'completion_tokens': 4}})}\n\n"
    server.script(events(server, text + chunk({}, "stop") + end + DONE))

    [output] = ask(model(stream=True))

    assert (output.final, output.finish_reason, output.response_id) == ("fo\u2028ur", "stop", "c-1")
    assert output.usage == Usage(input_tokens=3, output_tokens=4)
    assert server.requests[0].body["stream"] is True
    assert server.requests[0].body["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    "text",
    [
        chunk({"content": "fo"}),
        chunk({"tool_calls": [piece(0, "a", "f", '{"x": ')]}),
        chunk({"tool_calls": [piece(0, "a", "f", '{"x": ')]}) + DONE,
        chunk({"content": "fo"}) + 'data: {"choices": [{"del',
        "",
    ],
)
def test_a_stream_that_was_cut_is_unavailable(server: FaultServer, model: Model, ask: Ask, text: str) -> None:
    server.script(events(server, text))

    [output] = ask(model(stream=True, max_attempts=2))

    assert output.unavailable
    assert "streamed no whole answer" in str(output.error)
    assert len(server.requests) == output.attempts == 2
    assert output.trajectory.tool_calls == ()


def test_an_end_without_done_is_an_end(server: FaultServer, model: Model, ask: Ask) -> None:
    server.script(events(server, chunk({"content": "four"}) + chunk({}, "stop")))

    assert ask(model(stream=True))[0].final == "four"


def test_an_overload_within_a_stream_is_tried_again(server: FaultServer, model: Model, ask: Ask) -> None:
    overload = f"data: {json.dumps({'error': {'type': 'overloaded_error', 'message': 'Overloaded'}})}\n\n"
    server.script(
        events(server, chunk({"content": "fo"}) + overload), events(server, chunk({"content": "four"}, "stop") + DONE)
    )

    [output] = ask(model(stream=True))

    assert (output.final, output.attempts) == ("four", 2)


def test_an_error_that_will_not_pass_is_not_tried_again(server: FaultServer, model: Model, ask: Ask) -> None:
    error = f"data: {json.dumps({'error': {'type': 'invalid_request_error', 'message': 'no such tool'}})}\n\n"
    server.script(events(server, error))

    [output] = ask(model(stream=True))

    assert output.unavailable
    assert "no such tool" in str(output.error)
    assert len(server.requests) == 1


def test_the_content_filter_within_a_stream_is_the_models_own(server: FaultServer, model: Model, ask: Ask) -> None:
    error = {"error": {"code": "content_filter", "message": "filtered"}}
    server.script(events(server, f"data: {json.dumps(error)}\n\n"))

    [output] = ask(model(stream=True))

    assert (output.error, output.unavailable) == ("content_filter: filtered", False)


def test_an_error_after_the_end_changes_nothing(server: FaultServer, model: Model, ask: Ask) -> None:
    """A token limit is said twice: as the finish reason, and as an error after it."""
    after = chunk({"content": ""}, error={"code": 400, "message": "Token limit reached"})
    server.script(events(server, chunk({"content": "fo"}, "length") + after + DONE))

    [output] = ask(model(stream=True))

    assert (output.final, output.finish_reason, output.error) == ("fo", "length", None)


def test_a_server_that_does_not_stream_is_read_all_the_same(
    server: FaultServer, model: Model, ask: Ask, chat: Callable[..., dict[str, Any]]
) -> None:
    server.says(chat("four"))

    assert ask(model(stream=True))[0].final == "four"


def test_a_server_that_streams_unasked_is_read_all_the_same(server: FaultServer, model: Model, ask: Ask) -> None:
    server.script(events(server, chunk({"content": "four"}, "stop") + DONE))

    assert ask(model())[0].final == "four"


def test_a_custom_tool_is_the_models_own_error(server: FaultServer, model: Model, ask: Ask) -> None:
    custom = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "grep", "input": "a"}}
    more = {"index": 0, "custom": {"input": "bc"}}
    server.script(events(server, stream_of(custom, more)))

    [output] = ask(model(stream=True))

    assert "custom tool 'grep'" in str(output.error)
    assert not output.unavailable
    assert output.messages[-1]["tool_calls"][0]["custom"] == {"name": "grep", "input": "abc"}
