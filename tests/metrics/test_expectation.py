from __future__ import annotations

import asyncio
from typing import Any

import pytest

from eval_assets import Case, RunOutput, ToolCall, Trajectory, metrics
from eval_assets.metrics import scoring
from eval_assets.model.cases import Expect
from eval_assets.model.scores import Failed, Passed, Score, Unscored


def ask(output: RunOutput, **expect: Any) -> Score:
    case = Case(name="c", expect=Expect(**expect))
    return asyncio.run(scoring.score_output(metrics.expectation(), case, output))


def called(*calls: tuple[str, str], final: str | None = None) -> RunOutput:
    made = tuple(ToolCall(name=name, arguments=arguments) for name, arguments in calls)
    return RunOutput(final=final, trajectory=Trajectory(steps=1, tool_calls=made))


LOOKUP = {"tool_name": "lookup", "required_args": ["id", "day"]}


@pytest.mark.parametrize(
    ("output", "expect"),
    [
        (RunOutput(final="x"), {"non_empty_content": True}),
        (RunOutput(final="It is PARIS"), {"contains": ["paris", "It"]}),
        (called(("lookup", "")), {"tool_name": "lookup"}),
        (called(("lookup", '{"id": 1, "day": null}')), LOOKUP),
        (called(("lookup", "{}"), ("lookup", '{"id": 1, "day": 2}')), LOOKUP),
    ],
)
def test_what_was_expected_passes(output: RunOutput, expect: dict[str, Any]) -> None:
    assert ask(output, **expect) == Passed()


@pytest.mark.parametrize(
    ("output", "expect", "says"),
    [
        (RunOutput(), {"non_empty_content": True}, ["the final text is empty"]),
        (RunOutput(final=" \n\t"), {"non_empty_content": True}, ["the final text is empty"]),
        (RunOutput(final="Rome"), {"contains": ["paris", "rome", "oslo"]}, ["'paris'", "'oslo'"]),
        (called(("Lookup", "{}")), {"tool_name": "lookup"}, ["lookup"]),
        (called(("lookup", '{"id": 1}')), LOOKUP, ["day"]),
        (called(("lookup", "")), LOOKUP, ["id", "day"]),
        (called(("lookup", '{"id": 1}"')), LOOKUP, ["not a JSON object"]),
        (called(("lookup", "5")), LOOKUP, ["not a JSON object"]),
        (called(("lookup", "null")), LOOKUP, ["not a JSON object"]),
    ],
)
def test_each_unmet_expectation_is_a_sentence(output: RunOutput, expect: dict[str, Any], says: list[str]) -> None:
    answer = ask(output, **expect)

    assert isinstance(answer, Failed)
    sentences = str(answer.reason).split("; ")
    assert len(sentences) == len(says)
    assert all(part in sentence for part, sentence in zip(says, sentences, strict=True))


def test_every_kind_of_expectation_is_told_at_once() -> None:
    answer = ask(RunOutput(final=""), non_empty_content=True, contains=["x"], tool_name="lookup")

    assert isinstance(answer, Failed)
    assert str(answer.reason).count("; ") == 2


def test_an_errored_run_fails() -> None:
    assert ask(RunOutput(final="x", error="refused"), contains=["x"]) == Failed("the run errored: refused")


@pytest.mark.parametrize("case", [Case(name="c"), Case(name="c", expect=Expect())])
@pytest.mark.parametrize("output", [RunOutput(final="x"), RunOutput(error="refused")])
def test_a_case_that_expects_nothing_is_unscored(case: Case, output: RunOutput) -> None:
    """Nothing asked is never a pass."""
    answer = asyncio.run(scoring.score_output(metrics.expectation(), case, output))

    assert isinstance(answer, Unscored)
    assert "`expect`" in answer.reason


def test_calls_that_could_not_be_read_leave_expected_calls_unscored() -> None:
    unread = RunOutput(final="hello", trace_error="journal gone")

    assert ask(unread, tool_name="lookup") == Unscored("the trajectory could not be read: journal gone")
    assert ask(unread, required_args=["id"]) == Unscored("the trajectory could not be read: journal gone")
    assert ask(unread, contains=["hello"]) == Passed()
