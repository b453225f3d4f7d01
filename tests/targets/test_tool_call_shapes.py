"""The shapes in which OpenAI-compatible providers send tool calls: read, kept or failed, never a crash."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from eval_assets.analysis.conformance.judge import judge
from eval_assets.model.cases import Case, Expect
from eval_assets.model.conformance import CaseConformance
from eval_assets.model.runs import RunOutput
from eval_assets.targets.specs import Agent, OpenAIChat

if TYPE_CHECKING:
    from tests.targets.conftest import Ask, FaultServer

Model = Callable[..., OpenAIChat]
Asked = Callable[..., RunOutput]


@pytest.fixture
def answered(server: FaultServer, model: Model, ask: Ask, chat: Callable[..., dict[str, Any]]) -> Asked:
    """What is read of a reply with these tool calls."""

    def asked(*calls: Any, content: Any = None, **message: Any) -> RunOutput:
        document = chat(content)
        document["choices"][0]["message"] |= {"tool_calls": list(calls), **message}
        server.says(document)
        return ask(model())[0]

    return asked


def call(*, name: Any = "look_up", **function: Any) -> dict[str, Any]:
    return {"id": "t1", "type": "function", "function": {"name": name, **function}}


def judged(output: RunOutput, **expect: Any) -> CaseConformance:
    return judge(Case(name="a", input="x", expect=Expect(**expect)), output)


@pytest.mark.parametrize("content", [None, ""])
def test_a_call_is_content_where_that_is_declared(answered: Asked, content: Any) -> None:
    output = answered(call(arguments="{}"), content=content)

    assert output.error is None
    assert judged(output, non_empty_content=True, tool_call_is_content=True).passed
    assert not judged(output, non_empty_content=True).passed


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"id": "t1", "type": "custom", "custom": {"name": "grep", "input": "x"}}, "calls the custom tool 'grep'"),
        ({"id": "t1", "type": "function", "function": None}, "has no function"),
        ({"id": "t1"}, "has no function"),
        ({}, "has no function"),
    ],
)
def test_what_calls_no_function_fails_with_a_reason(answered: Asked, broken: Any, reason: str) -> None:
    output = answered(broken)

    assert (output.unavailable, output.trace_error) == (False, None)
    assert reason in str(output.error)
    assert output.messages[-1]["tool_calls"] == [broken]
    verdict = judged(output, tool_name="look_up")
    assert (verdict.passed, verdict.unmeasured) == (False, None)
    assert verdict.reply[-1]["tool_calls"] == [broken]


@pytest.mark.parametrize("function", [{"arguments": ""}, {"arguments": None}, {}])
def test_no_arguments_are_an_empty_object(answered: Asked, function: dict[str, Any]) -> None:
    output = answered(call(**function))

    assert [made.arguments for made in output.trajectory.tool_calls] == ["{}"]
    assert judged(output, tool_name="look_up").passed
    assert not judged(output, tool_name="look_up", required_args=("city",)).passed


@pytest.mark.parametrize("arguments", ["null", "5", '"text"', '{"x": 1}"'])
def test_arguments_that_are_no_object_are_kept_and_fail(answered: Asked, arguments: str) -> None:
    output = answered(call(arguments=arguments))

    assert output.error is None
    assert [made.arguments for made in output.trajectory.tool_calls] == [arguments]
    assert not judged(output, tool_name="look_up", required_args=("x",)).passed


def test_an_object_is_accepted_and_noted(answered: Asked) -> None:
    output = answered(call(arguments={"x": 1}))

    verdict = judged(output, tool_name="look_up", required_args=("x",))
    assert verdict.passed
    assert "came as an object" in verdict.notes[0]


def test_a_name_is_kept_as_it_came(answered: Asked) -> None:
    output = answered(call(name="files_read", arguments="{}"))

    assert output.trajectory.tool_names == ("files_read",)
    assert not judged(output, tool_name="files.read").passed


def test_a_legacy_function_call_is_a_call(answered: Asked) -> None:
    assert answered(function_call={"name": "look_up", "arguments": "{}"}).trajectory.tool_names == ("look_up",)
    assert answered(function_call={"name": "", "arguments": ""}).trajectory.tool_names == ()


def test_an_empty_truncated_reply_has_its_own_reason(
    server: FaultServer, model: Model, ask: Ask, chat: Callable[..., dict[str, Any]]
) -> None:
    for content, error in ((None, "truncated: "), ("", "truncated: "), ("The ans", None)):
        document = chat(content)
        document["choices"][0]["finish_reason"] = "length"
        server.says(document)

        [output] = ask(model())

        assert (output.finish_reason, output.unavailable) == ("length", False)
        assert output.usage.output_tokens == 5
        assert output.error is None if error is None else str(output.error).startswith(error)


def test_arguments_that_came_as_an_object_go_back_as_json(
    server: FaultServer, model: Model, ask: Ask, chat: Callable[..., dict[str, Any]]
) -> None:
    document = chat(None)
    document["choices"][0]["message"]["tool_calls"] = [call(arguments={"x": 1})]
    server.says(document, chat("fine"))
    agent = Agent.model_validate(
        {"model": "m", "tools": [{"name": "look_up", "results": [{"arguments": {"x": 1}, "result": "one"}]}]}
    )

    [output] = ask(agent, m=model())

    sent = server.requests[1].body["messages"]
    assert json.loads(sent[1]["tool_calls"][0]["function"]["arguments"]) == {"x": 1}
    assert (sent[2]["content"], output.final) == ("one", "fine")
