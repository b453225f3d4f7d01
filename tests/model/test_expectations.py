from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from eval_assets import ToolCall, Trajectory
from eval_assets.model import expectations
from eval_assets.model.cases import Expect, ExpectedCall


def call(name: str, arguments: str = "{}") -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


@pytest.mark.parametrize(
    ("expect", "final", "calls", "sentences"),
    [
        (Expect(), None, [], ()),
        (Expect(non_empty_content=True), " \n", [], ("the final text is empty",)),
        (Expect(non_empty_content=True), None, [call("t")], ("the final text is empty",)),
        (Expect(non_empty_content=True, tool_call_is_content=True), None, [call("t")], ()),
        (Expect(non_empty_content=True, tool_call_is_content=True), "", [], ("the final text is empty",)),
        (Expect(contains=("Straße",)), "STRASSE", [], ()),
        (Expect(contains=("a", "b")), "A", [], ("the final text does not contain 'b': 'A'",)),
        (Expect(tool_name="t"), None, [], ("the tool 't' was not called (called: none)",)),
        (
            Expect(tool_name="t"),
            None,
            [call("u"), call("")],
            ("the tool 't' was not called (called: u, a tool without a name)",),
        ),
        (Expect(tool_name="t"), None, [call("T")], ("the tool 't' was not called (called: T)",)),
        (Expect(tool_name="t"), None, [call("t", "")], ()),
        (
            Expect(tool_name="t", required_args=("x",)),
            None,
            [call("t", "")],
            ("the call of 't' lacks the argument 'x'",),
        ),
        (Expect(tool_name="t", required_args=("x",)), None, [call("t"), call("t", '{"x": null}')], ()),
        (Expect(required_args=("x",)), None, [call("any", '{"x": 1}')], ()),
        (Expect(required_args=("x",)), None, [], ("a tool was not called (called: none)",)),
        (Expect(no_tool_call=True), "x", [], ()),
        (Expect(no_tool_call=True), "x", [call("t")], ("no tool was to be called (called: t)",)),
        (Expect(tool_calls=()), "x", [call("t")], ("a call was not expected: t({})",)),
        (
            Expect(tool_calls=(ExpectedCall(name="t", arguments={"x": 1}),)),
            "x",
            [call("t", '{"x": 2}')],
            ('an expected call was not made: t({"x": 1})', 'a call was not expected: t({"x": 2})'),
        ),
    ],
)
def test_each_unmet_expectation_is_a_sentence(
    expect: Expect, final: str | None, calls: list[ToolCall], sentences: tuple[str, ...]
) -> None:
    assert expectations.unmet(expect, final, calls) == sentences


@pytest.mark.parametrize("arguments", ["null", "5", '"text"', "[]", '{"x":1}"', "{", "NaN", "[" * 100_000])
def test_arguments_that_are_no_object_fail(arguments: str) -> None:
    (sentence,) = expectations.unmet(Expect(tool_name="t"), None, [call("t", arguments)])

    assert sentence.startswith("the arguments of 't' are not a JSON object: ")
    assert len(sentence) < 200


@pytest.mark.parametrize(
    ("function", "arguments"),
    [({"name": "t", "arguments": {"x": "é"}}, '{"x": "é"}'), ({"name": "t"}, ""), ({"name": "t", "arguments": 5}, "5")],
)
def test_arguments_sent_as_a_value_are_read(function: dict[str, Any], arguments: str) -> None:
    trajectory = Trajectory.from_messages([{"role": "assistant", "tool_calls": [{"function": function}]}])

    assert trajectory.tool_calls == (ToolCall(name="t", arguments=arguments),)


@pytest.mark.parametrize("more", [{"tool_name": "t"}, {"required_args": ("x",)}, {"tool_calls": ("t",)}])
def test_what_no_run_can_meet_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="cannot both be met"):
        Expect(no_tool_call=True, **more)


def test_a_text_is_the_name_of_a_call() -> None:
    expect = Expect.model_validate({"tool_calls": ["t", {"name": "u", "arguments": {}}]})

    assert expect.tool_calls == (ExpectedCall(name="t"), ExpectedCall(name="u", arguments={}))


@pytest.mark.parametrize(
    ("expect", "asks"),
    [
        (Expect(non_empty_content=True, contains=("x",)), False),
        (Expect(tool_name="t"), True),
        (Expect(no_tool_call=True), True),
        (Expect(tool_calls=()), True),
    ],
)
def test_some_expectations_need_the_calls(expect: Expect, asks: bool) -> None:
    assert expectations.asks_about_calls(expect) is asks
