from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput
from eval_assets.targets import cassette
from eval_assets.targets.cassette import Request
from eval_assets.targets.specs import Agent, AgentTool, RecordedResult

Ask = Callable[..., list[RunOutput]]


def begun(opened: cassette.Cassette) -> cassette.Cassette:
    opened.begin(suite="s", target="it", evaluation_id="e")
    return opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "c.jsonl"


@pytest.fixture
def both(ask: Ask, file: Path, server: Any) -> Callable[..., tuple[list[RunOutput], list[RunOutput]]]:
    """The outputs as recorded and as replayed; nothing is asked for the second."""

    def ask_twice(*arguments: Any, **options: Any) -> tuple[list[RunOutput], list[RunOutput]]:
        with cassette.in_use(begun(cassette.recorder(file))):
            recorded = ask(*arguments, **options)
        asked = len(server.requests)
        with cassette.in_use(begun(cassette.player(file))):
            replayed = ask(*arguments, **options)
        assert len(server.requests) == asked
        assert [output.served_by is None for output in recorded] == [True] * len(recorded)
        return recorded, [output.model_copy(update={"served_by": None}) for output in replayed]

    return ask_twice


def test_an_agent_replays_turn_by_turn(both: Any, server: Any, model: Any, chat: Any, file: Path) -> None:
    call = chat(calls=[("add", '{"a": 2}')])
    server.says(call, chat("four", id="r-2"))
    tool = AgentTool(name="add", results=(RecordedResult(arguments={"a": 2}, result=4),))

    recorded, replayed = both(Agent(model="brain", tools=(tool,)), brain=model())

    assert replayed == recorded
    assert replayed[0].final == "four"
    entry = json.loads(file.read_text().splitlines()[1])
    assert [exchange["response"]["json"]["id"] for exchange in entry["exchanges"]] == ["chatcmpl-1", "r-2"]


def test_a_retried_request_is_recorded_once(both: Any, server: Any, model: Any, chat: Any, file: Path) -> None:
    server.script(server.answer(503, "busy"), server.answer(200, json.dumps(chat("fine"))))

    recorded, replayed = both(model())

    assert replayed == recorded
    assert replayed[0].attempts == 2
    [exchange] = json.loads(file.read_text().splitlines()[1])["exchanges"]
    assert exchange["response"]["status"] == 200


@pytest.mark.parametrize("answer", [b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf", b""])
def test_a_broken_answer_replays_as_unavailable(both: Any, server: Any, model: Any, answer: bytes) -> None:
    server.script(answer)

    recorded, replayed = both(model(max_attempts=1))

    assert replayed == recorded
    assert replayed[0].unavailable


@pytest.mark.parametrize("body", ["<html>no", "{}", "[1, 2]"])
def test_an_unreadable_answer_replays_with_its_reason(both: Any, server: Any, model: Any, body: str) -> None:
    server.script(server.answer(200, body, "text/html"))

    recorded, replayed = both(model())

    assert replayed == recorded
    assert replayed[0].unavailable


def test_an_own_error_replays(both: Any, server: Any, model: Any) -> None:
    error = {"error": {"code": "content_filter", "message": "no"}}
    server.script(server.answer(400, json.dumps(error)))

    recorded, replayed = both(model())

    assert replayed == recorded
    assert (replayed[0].error, replayed[0].unavailable) == (recorded[0].error, False)


def test_a_stream_is_recorded_as_it_came(both: Any, server: Any, model: Any, file: Path) -> None:
    pieces = [{"id": "s", "choices": [{"index": 0, "delta": {"content": text}}]} for text in ("Grü", "ße")]
    events = [json.dumps(piece, ensure_ascii=False) for piece in pieces]
    end = json.dumps({"id": "s", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    body = "".join(f"data: {event}\n\n" for event in [*events, end, "[DONE]"])
    server.script(server.answer(200, body, "text/event-stream"))

    recorded, replayed = both(model(stream=True))

    assert replayed == recorded
    assert replayed[0].final == "Grüße"
    [exchange] = json.loads(file.read_text().splitlines()[1])["exchanges"]
    assert exchange["response"]["text"] == body


def test_a_compressed_answer_is_recorded_in_the_clear(
    both: Any, server: Any, model: Any, chat: Any, file: Path
) -> None:
    body = gzip.compress(json.dumps(chat("clear")).encode())
    head = f"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {len(body)}\r\n\r\n"
    server.script(head.encode() + body)

    recorded, replayed = both(model(max_attempts=1))

    assert replayed == recorded
    assert "clear" in file.read_text()


def test_more_turns_than_recorded_miss(ask: Ask, server: Any, model: Any, chat: Any, file: Path) -> None:
    call = chat(calls=[("add", "{}")])
    server.says(call, chat("done"))
    tool = AgentTool(name="add", results=(RecordedResult(result=4),))
    with cassette.in_use(begun(cassette.recorder(file))):
        ask(Agent(model="brain", tools=(tool,)), brain=model())
    other = AgentTool(name="add", results=(RecordedResult(result=5),))

    with cassette.in_use(begun(cassette.player(file))):
        [output] = ask(Agent(model="brain", tools=(other,)), brain=model())

    assert output.unavailable
    assert "turn 2: recorded 0, asked 1" in str(output.error)
    assert output.served_by is None


def test_a_case_of_another_name_is_another_case(ask: Ask, model: Any, file: Path) -> None:
    with cassette.in_use(begun(cassette.recorder(file))):
        ask(model(), Case(name="a", input="x"))

    with cassette.in_use(begun(cassette.player(file))):
        [output] = ask(model(), Case(name="b", input="x"))

    assert output.unavailable


def test_a_torn_last_line_is_left_out(ask: Ask, model: Any, file: Path) -> None:
    with cassette.in_use(begun(cassette.recorder(file))):
        ask(model(), times=2)
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])

    with cassette.in_use(begun(cassette.player(file))):
        outputs = ask(model(), times=2)

    assert sorted(output.unavailable for output in outputs) == [False, True]


def test_a_key_covers_what_is_asked() -> None:
    def key(url: str = "http://h/v1", run_id: str = "r-1", **body: Any) -> str:
        asked = {"model": "m", "messages": [], "temperature": 0.5, "tag": run_id, **body}
        return Request.of("POST", url, json.dumps(asked).encode(), run_id=run_id).key

    assert key() == key(run_id="r-2") == key(url="http://h/v1")
    assert key("http://h/v1?key=a") == key("http://h/v1?key=b") != key("http://h/v1?api-version=2")
    changed = [key(model="n"), key(messages=[1]), key(temperature=0.6), key(seed=1), key(tools=[1]), key("http://i/v1")]
    assert len({key(), *changed}) == 7


def test_the_order_of_keys_asks_nothing_else() -> None:
    one, other = (Request.of("POST", "http://h", body, run_id="r") for body in (b'{"a":1,"b":2}', b'{"b": 2, "a": 1}'))

    assert one.key == other.key
