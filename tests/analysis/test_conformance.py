"""What an output says about its case, and what results say together."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eval_assets import Case, FormatError, RunOutput, conformance
from eval_assets.conformance import CaseConformance, ConformanceReport, Expectation
from eval_assets.errors import NothingMeasured

TOOL = Case(name="tool", input="?", expect=Expectation(tool_name="t", required_args=("x",)))
TEXT = Case(name="text", input="?", expect=Expectation(contains=("4",)))
DOWN = RunOutput(error="HTTP 503", unavailable=True)


def called(*calls: dict[str, Any], content: str | None = None, **fields: Any) -> RunOutput:
    """A reply with tool calls, as a target keeps it."""
    message = {"role": "assistant", "content": content, "tool_calls": list(calls)}
    return RunOutput(final=content, messages=({"role": "user", "content": "?"}, message), **fields)


def function(name: str, arguments: Any = '{"x": 1}') -> dict[str, Any]:
    return {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}


def result(name: str, *, passed: bool = True, **fields: Any) -> CaseConformance:
    failures = () if passed or fields.get("unmeasured") else ("it failed",)
    return CaseConformance(id=name, passed=passed, failures=failures, **fields)


def test_the_right_call_passes() -> None:
    output = called(function("u"), function("t"), latency_s=0.5)

    judged = conformance.judge(TOOL, output)

    assert judged == CaseConformance(
        id="tool",
        passed=True,
        latency_s=0.5,
        tool_called="t",
        expected_tool=True,
        called_any_tool=True,
        correct_tool=True,
        reply=output.messages[1:],
    )


def test_the_wrong_call_fails_by_sentence() -> None:
    judged = conformance.judge(TOOL, called(function("u")))

    assert judged.failures == ("the tool 't' was not called (called: u)",)
    assert (judged.tool_called, judged.called_any_tool, judged.correct_tool) == ("u", True, False)


@pytest.mark.parametrize(
    ("call", "passed"),
    [
        (function("t"), True),
        (function("t", {"x": 1}), True),
        (function("t", ""), False),
        ({"function": {"name": "t"}}, False),
        (function("t", "null"), False),
        (function("t", '{"x":1}"'), False),
        ({"type": "custom", "custom": {"name": "t", "input": "x"}}, False),
        ({"type": "function", "function": None}, False),
    ],
)
def test_shapes_of_tool_calls_pass_or_fail_and_never_crash(call: dict[str, Any], passed: bool) -> None:
    """And the verdict carries what came back."""
    judged = conformance.judge(TOOL, called(call))

    assert judged.passed is passed
    assert bool(judged.failures) is not passed
    assert judged.unmeasured is None
    assert judged.reply[0]["tool_calls"] == [call]


def test_what_was_put_up_with_is_noted() -> None:
    judged = conformance.judge(TOOL, called(function("t", {"x": 1}), finish_reason="length"))

    assert len(judged.notes) == 2
    assert "cut off" in judged.notes[0]
    assert "came as an object" in judged.notes[1]


def test_its_own_error_fails() -> None:
    judged = conformance.judge(TEXT, RunOutput(final="4", error="content_filter"))

    assert (judged.passed, judged.error) == (False, "content_filter")
    assert judged.failures == ("the target failed: content_filter",)


def test_unavailable_is_no_failure_and_no_pass() -> None:
    judged = conformance.judge(TOOL, DOWN)

    assert (judged.passed, judged.failures, judged.error) == (False, (), "HTTP 503")
    assert judged.unmeasured == "unavailable: HTTP 503"
    assert (judged.called_any_tool, judged.correct_tool) == (None, None)


def test_unread_calls_matter_where_they_are_asked_about() -> None:
    unread = RunOutput(final="4", trace_error="journal gone")

    assert conformance.judge(TOOL, unread).unmeasured == "the tool calls could not be read: journal gone"
    assert conformance.judge(TEXT, unread).passed
    both = Case(name="both", expect=Expectation(tool_name="t", contains=("5",)))
    assert conformance.judge(both, unread).failures == ("the final text does not contain '5': '4'",)


def test_unread_calls_may_have_been_the_content() -> None:
    case = Case(name="c", expect=Expectation(non_empty_content=True, tool_call_is_content=True))

    assert conformance.judge(case, RunOutput(trace_error="journal gone")).unmeasured
    assert conformance.judge(case, RunOutput(final="x", trace_error="journal gone")).passed


def test_a_case_that_expects_nothing_wants_an_answer() -> None:
    assert conformance.judge(Case(name="c"), RunOutput(final="x")).passed
    assert not conformance.judge(Case(name="c"), RunOutput(error="boom")).passed


def test_a_reply_that_is_not_json_is_kept_as_far_as_it_goes() -> None:
    odd = RunOutput(final="4", messages=({"role": "assistant", "content": object()},))

    report = ConformanceReport.of([conformance.judge(TEXT, odd)])

    assert "object is not a JSON value" in report.to_json()


def test_canonical_cases_expect_something_and_name_no_provider() -> None:
    names = [case.name for case in conformance.canonical_cases()]

    assert names == ["greeting", "deterministic_answer", "tool_call", "no_tool_call"]
    assert all(case.expect is not None and case.expect != Expectation() for case in conformance.canonical_cases())
    assert not any(word in str(conformance.canonical_cases()).lower() for word in ("openai", "anthropic", "gpt"))


@pytest.mark.parametrize(
    ("expected", "any_tool", "correct", "score"),
    [
        ([True], [True], [True], (1, 1, 1)),
        ([True], [True], [False], (0, 0, 0)),
        ([True], [False], [False], (0, 0, 0)),
        ([False], [True], [False], (0, 0, 0)),
        ([False], [False], [False], (1, 1, 1)),
        ([], [], [], (1, 1, 1)),
        ([True, True, False], [True, False, False], [True, False, False], (1, 1 / 2, 2 / 3)),
        ([True, False], [True, True], [True, False], (1 / 2, 1, 2 / 3)),
        ([True, True], [True, True], [True, False], (1 / 2, 1 / 2, 1 / 2)),
    ],
)
def test_tool_calls_are_scored_a_case_at_a_time(
    expected: list[bool], any_tool: list[bool], correct: list[bool], score: tuple[float, ...]
) -> None:
    """A wrong tool is both a call too many and one too few."""
    results = [
        result(str(number), expected_tool=one, called_any_tool=two, correct_tool=three)
        for number, (one, two, three) in enumerate(zip(expected, any_tool, correct, strict=True))
    ]

    precision, recall, f1 = conformance.tool_call_f1(results)

    assert (precision, recall, f1) == pytest.approx(score, abs=1e-12)


def test_what_was_not_measured_is_left_out_of_the_score() -> None:
    good, down = conformance.judge(TOOL, called(function("t"))), conformance.judge(TOOL, DOWN)

    assert conformance.tool_call_f1([good, down]) == (1, 1, 1)


@pytest.mark.parametrize("also", [[], [conformance.judge(TEXT, RunOutput(final="4"))]])
def test_a_perfect_score_is_not_made_up(also: list[CaseConformance]) -> None:
    with pytest.raises(NothingMeasured, match="what tool called is unknown"):
        conformance.tool_call_f1([*also, conformance.judge(TOOL, DOWN)])


def test_the_score_is_of_what_was_measured() -> None:
    down = result("c", passed=False, unmeasured="unavailable: HTTP 503")

    report = ConformanceReport.of([result("a"), result("b", passed=False), down])

    assert (report.score, report.passed) == (0.5, False)
    assert [one.id for one in report.passing] == ["a"]
    assert [one.id for one in report.failing] == ["b"]
    assert [one.id for one in report.unmeasured] == ["c"]


def test_nothing_measured_has_no_score_and_does_not_pass() -> None:
    report = ConformanceReport.of([conformance.judge(TEXT, DOWN)])

    assert (report.score, report.passed) == (None, False)


def test_a_baseline_shows_what_failed_went_missing_or_is_unknown() -> None:
    baseline = ConformanceReport.of([result(name, passed=name != "e") for name in "abcde"])
    down = result("d", passed=False, unmeasured="unavailable: HTTP 503")
    current = ConformanceReport.of(
        [result("new", passed=False), down, result("b", passed=False), result("e", passed=False), result("a")]
    )

    assert conformance.diff_baseline(baseline, current) == ["b"]
    assert conformance.missing_since(baseline, current) == ["c"]
    assert conformance.unmeasured_since(baseline, current) == ["d"]


def test_a_report_survives_json() -> None:
    report = ConformanceReport.of([conformance.judge(TOOL, called(function("t"))), conformance.judge(TEXT, DOWN)])

    assert ConformanceReport.from_json(report.to_json()) == report


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": "eval_assets.conformance.v9"}, "the format is 'eval_assets.conformance.v9', wanted"),
        ({"format": None}, "the format is None"),
        ({"score": 0.9}, "the score is 0.9, but the results make it 1.0"),
        ({"score": None}, "the score is None, but"),
        ({"results": []}, "at least 1 item"),
        ({"results": [{"id": "a", "passed": True}] * 2}, "ids repeat: a"),
        ({"results": [{"id": "a", "passed": True, "failures": ["it failed"]}]}, "states passed=True"),
        ({"results": [{"id": "a", "passed": False}]}, "states passed=False"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_report_that_cannot_be_true_is_refused(change: dict[str, Any], reason: str) -> None:
    document = json.loads(ConformanceReport.of([result("a")]).to_json()) | change

    with pytest.raises(FormatError, match=reason):
        ConformanceReport.from_json(json.dumps(document))


@pytest.mark.parametrize("text", ["", "{", "NaN", b"\xff"])
def test_what_is_not_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(FormatError, match="is not JSON"):
        ConformanceReport.from_json(text)


def test_markdown_says_what_was_wrong() -> None:
    report = ConformanceReport.of(
        [
            conformance.judge(TOOL, called(function("u"), latency_s=0.25)),
            conformance.judge(TEXT, RunOutput(final="4 | 5", latency_s=1.5)),
            conformance.judge(Case(name="down"), DOWN),
        ]
    )

    shown = conformance.to_markdown(report, title="desk")

    assert shown.splitlines() == [
        "### desk",
        "",
        "**Not certified: 1 of 3 cases passed, 1 failed, 1 not measured; score 50.0% of those measured.**",
        "",
        "| case | result | latency | tool called | what was wrong, and what to know |",
        "| --- | --- | ---: | --- | --- |",
        "| tool | ✗ failed | 0.25 s | u | the tool 't' was not called (called: u) |",
        "| text | ✓ passed | 1.50 s | none |  |",
        "| down | ? not measured | unknown | unknown | not certified: unavailable: HTTP 503 |",
        "",
        "Tool calls: precision 0.000, recall 0.000, F1 0.000, 1 of 3 cases left out as unknown.",
    ]


def test_markdown_against_a_baseline_names_what_regressed() -> None:
    baseline = ConformanceReport.of([result("a"), result("b")])

    regressed = conformance.to_markdown(ConformanceReport.of([result("a", passed=False)]), baseline=baseline)
    same = conformance.to_markdown(baseline, baseline=baseline)

    assert "**Passed before and fails now: a.**" in regressed
    assert "**In the baseline and not asked now: b.**" in regressed
    assert "**Certified: 2 of 2 cases passed, 0 failed; score 100.0% of those measured.**" in same
    assert "Nothing that passed before fails or is missing now." in same


def test_markdown_has_no_score_of_nothing() -> None:
    shown = conformance.to_markdown(ConformanceReport.of([conformance.judge(TOOL, DOWN)]))

    assert "**Not certified: 0 of 1 cases passed, 0 failed, 1 not measured.**" in shown
    assert "Tool calls: no tool call was measured: what tool called is unknown; certify again." in shown
