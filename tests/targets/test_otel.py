"""Runs read from OpenTelemetry GenAI spans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eval_assets.errors import ConfigError
from eval_assets.model.cases import Case, CaseSet
from eval_assets.model.runs import Usage
from eval_assets.targets import opening
from eval_assets.targets.specs import Otel

if TYPE_CHECKING:
    from tests.targets.conftest import Ask

CASES = CaseSet(cases=(Case(name="a", input="x"),))
SPEC = Otel(path="traces.jsonl")


def typed(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(item) for item in value]}}
    return {"stringValue": value}


def span(identity: str, parent: str = "", *, began: int = 1, error: str | None = None, **named: Any) -> dict[str, Any]:
    attributes = [{"key": key.replace("__", "."), "value": typed(value)} for key, value in named.items()]
    return {
        "traceId": "t",
        "spanId": identity,
        "parentSpanId": parent,
        "startTimeUnixNano": str(began * 10**9),
        "endTimeUnixNano": str((began + 2) * 10**9),
        "attributes": attributes,
        "status": {} if error is None else {"code": 2, "message": error},
    }


def message(role: str, *parts: dict[str, Any]) -> str:
    return json.dumps([{"role": role, "parts": list(parts)}])


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


def run(identity: str = "root", *, began: int = 1, answer: str = "four", **named: Any) -> dict[str, Any]:
    said: dict[str, Any] = {"gen_ai__output__messages": message("assistant", text(answer))}
    return span(identity, began=began, test__case__name="a", gen_ai__operation__name="invoke_agent", **said, **named)


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Write the spans, a line for each: a trace may be split over lines."""

    def write_spans(*spans: dict[str, Any]) -> None:
        lines = [json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}) for one in spans]
        (tmp_path / "traces.jsonl").write_text("\n".join(lines) + "\n")

    return write_spans


def test_a_run_is_its_outermost_span_and_all_below(write: Any, ask: Ask) -> None:
    asked, called = message("user", text("x")), {"type": "tool_call", "id": "1", "name": "add", "arguments": {"n": 2}}
    write(
        span("c", "root", began=4, gen_ai__operation__name="chat", gen_ai__response__id="r2",
             gen_ai__output__messages=message("assistant", {"type": "reasoning", "content": "hm"}, text("four"))),
        span("b", "root", began=3, gen_ai__operation__name="execute_tool", gen_ai__tool__name="add",
             gen_ai__tool__call__id="1", gen_ai__tool__call__result="4"),
        span("a", "root", began=2, gen_ai__operation__name="chat", gen_ai__usage__input_tokens=7,
             gen_ai__output__messages=message("assistant", called)),
        run(gen_ai__input__messages=asked, gen_ai__usage__input_tokens=17, gen_ai__usage__output_tokens=5,
            gen_ai__response__finish_reasons=["stop"]),
    )  # fmt: skip

    [output] = ask(SPEC)

    assert (output.final, output.error, output.finish_reason, output.response_id) == ("four", None, "stop", "r2")
    assert output.usage == Usage(input_tokens=17, output_tokens=5)
    assert output.latency_s == pytest.approx(2.0)
    assert [found["role"] for found in output.messages] == ["user", "assistant", "tool", "assistant"]
    assert [(call.name, call.arguments) for call in output.trajectory.tool_calls] == [("add", '{"n": 2}')]


def test_runs_are_numbered_by_when_they_began(write: Any, ask: Ask) -> None:
    write(run("late", began=9, answer="late", n=0), run("early", began=1, answer="early", n=1))

    assert [output.final for output in ask(SPEC, times=2)] == ["early", "late"]
    assert [output.final for output in ask(Otel(path="traces.jsonl", run="n"), times=2)] == ["late", "early"]


def test_a_call_that_no_turn_made_is_the_agents(write: Any, ask: Ask) -> None:
    tool: dict[str, Any] = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "add"}
    write(run(), span("b", "root", error="no", gen_ai__tool__call__arguments='{"n": 2}', **tool))

    [output] = ask(SPEC)

    assert output.trajectory.tool_names == ("add",)
    assert output.messages[-2]["content"] == '{"error": "no"}'
    assert output.error is None


@pytest.mark.parametrize(
    ("error", "unavailable"), [("openai.APITimeoutError", True), ("openai.RateLimitError", True), ("KeyError", False)]
)
def test_an_error_is_told_from_no_answer(write: Any, ask: Ask, error: str, unavailable: bool) -> None:
    write(span("root", error="it failed", test__case__name="a", error__type=error))

    [output] = ask(SPEC)

    assert output.error == f"{error}: it failed"
    assert output.unavailable == unavailable


def test_spans_without_content_measure_nothing(write: Any, ask: Ask) -> None:
    write(span("root", test__case__name="a"))

    [output] = ask(SPEC)

    assert output.unavailable
    assert "not captured" in str(output.error)


def test_what_is_wrong_is_said_before_asking(write: Any, ask: Ask, tmp_path: Path) -> None:
    def problems(runs: int = 1) -> list[str]:
        return opening.problems("it", {"it": SPEC}, folder=tmp_path, case_set=CASES, runs=runs)

    assert "cannot read the traces" in problems()[0]

    write(span("root"))
    assert "no span has the attribute test.case.name" in problems()[0]

    write(run(), span("other", test__case__name="b"))
    assert ["'b'" in problems(2)[0], "'a' (has 1)" in problems(2)[1]] == [True, True]

    (tmp_path / "traces.jsonl").write_text("{}\noops\n")
    assert "traces.jsonl:2: not JSON" in problems()[0]
    with pytest.raises(ConfigError, match=r"traces\.jsonl:2"):
        ask(SPEC)


def test_real_traces_are_read_whole(shared: Path, ask: Ask) -> None:
    imports = shared / "data" / "imports"
    expected = json.loads((imports / "expected.json").read_text())["otel"]
    spec = Otel(path=str(imports / "otel" / "traces.jsonl"), run="app.repeat")
    names = ["capital_france", "capital_norway", "opposite_strong_slow"]

    outputs = [output for name in names for output in ask(spec, Case(name=name, input="x"), times=expected["repeats"])]

    assert [output.unavailable for output in outputs] == [False] * 6 + [True] * 3
    assert outputs[0].final == "The capital of France is Paris."
    assert outputs[0].usage == Usage(input_tokens=34, output_tokens=7)
    assert all(output.trajectory.tool_names == ("lookup_capital",) for output in outputs[:6])
