"""The tool loop: functions and recorded results, what goes wrong in them, and where it ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput, Usage
from eval_assets.targets.specs import Agent, OpenAIChat

if TYPE_CHECKING:
    from tests.targets.conftest import Ask, FaultServer

Model = Callable[..., OpenAIChat]
Chat = Callable[..., dict[str, Any]]
AskAgent = Callable[..., RunOutput]

SHOP = """
import asyncio

def look_up(id):
    return {"order": id, "state": "sent", "who": "Zoë"}

async def refund(id, amount=0):
    await asyncio.sleep(0)
    return f"refunded {amount} for {id}"

def broken(**_):
    raise RuntimeError("database down")

def stops(**_):
    raise StopIteration
"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[str]:
    """The name of a module beside the suite, forgotten afterwards."""
    path = list(sys.path)
    name = "agent_shop"
    (tmp_path / f"{name}.py").write_text(SHOP)
    yield name
    sys.path[:] = path
    sys.modules.pop(name, None)


@pytest.fixture
def ask_agent(ask: Ask, model: Model, shop: str) -> AskAgent:
    def ask_one(
        *, case: Case | None = None, model_settings: dict[str, Any] | None = None, **settings: Any
    ) -> RunOutput:
        names = ("look_up", "refund", "broken", "stops")
        tools = [{"name": name, "function": f"{shop}:{name}"} for name in names]
        spec = Agent.model_validate({"model": "m", "tools": tools, **settings})
        return ask(spec, case, m=model(**model_settings or {}))[0]

    return ask_one


def test_calls_tools_until_an_answer(server: FaultServer, ask_agent: AskAgent, chat: Chat) -> None:
    server.says(
        chat(None, calls=[("look_up", '{"id": 7}')]),
        chat(None, calls=[("refund", '{"id": 7, "amount": 5}')]),
        chat("Done."),
    )

    output = ask_agent(system="Be kind.")

    assert (output.final, output.error, output.finish_reason) == ("Done.", None, "stop")
    assert output.trajectory.steps == 3
    assert output.trajectory.tool_names == ("look_up", "refund")
    assert [message["role"] for message in output.messages] == [
        "system", "user", "assistant", "tool", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert output.messages[3] == {
        "role": "tool",
        "tool_call_id": "c0",
        "content": '{"order": 7, "state": "sent", "who": "Zoë"}',
    }
    assert output.messages[5]["content"] == "refunded 5 for 7"
    assert server.requests[-1].body["messages"] == list(output.messages[:-1])


def test_usage_is_summed_over_turns(server: FaultServer, ask_agent: AskAgent, chat: Chat) -> None:
    server.says(chat(None, calls=[("look_up", '{"id": 7}')]), chat("Done."))

    assert ask_agent().usage == Usage(input_tokens=20, output_tokens=10)


def test_usage_unknown_in_one_turn_is_unknown(server: FaultServer, ask_agent: AskAgent, chat: Chat) -> None:
    server.says(chat(None, calls=[("look_up", '{"id": 7}')], usage=None), chat("Done."))

    assert ask_agent().usage == Usage()


@pytest.mark.parametrize(
    ("name", "arguments", "found"),
    [
        ("broken", "{}", "RuntimeError: database down"),
        ("stops", "{}", "StopIteration"),
        ("look_up", "{", "the arguments are not JSON"),
        ("look_up", "[7]", "the arguments are list, wanted a JSON object"),
        ("look_up", '{"order": 7}', "unexpected keyword argument 'order'"),
        ("fly", "{}", "there is no tool 'fly'; the tools are: look_up, refund, broken, stops"),
    ],
)
def test_a_tool_that_fails_says_so_and_the_loop_goes_on(
    server: FaultServer, ask_agent: AskAgent, chat: Chat, name: str, arguments: str, found: str
) -> None:
    server.says(chat(None, calls=[(name, arguments)]), chat("Sorry."))

    output = ask_agent()

    assert (output.final, output.error) == ("Sorry.", None)
    assert found in json.loads(output.messages[-2]["content"])["error"]


def test_no_answer_within_max_turns_is_the_agents_own_error(
    server: FaultServer, ask_agent: AskAgent, chat: Chat
) -> None:
    server.says(chat("Let me look.", calls=[("look_up", '{"id": 7}')]))

    output = ask_agent(max_turns=3)

    assert (output.final, output.unavailable) == (None, False)
    assert output.error == "no final answer within 3 turns: the model went on calling tools"
    assert output.trajectory.steps == len(server.requests) == 3


def test_a_model_that_breaks_off_leaves_the_run_unavailable(
    server: FaultServer, ask_agent: AskAgent, chat: Chat
) -> None:
    server.says(chat(None, calls=[("look_up", '{"id": 7}')]), {"oops": True})

    output = ask_agent()

    assert output.unavailable
    assert "JSON without choices" in str(output.error)
    assert [message["role"] for message in output.messages] == ["user", "assistant", "tool"]


def test_a_filtered_turn_is_the_agents_own_error(server: FaultServer, ask_agent: AskAgent, chat: Chat) -> None:
    server.says(
        chat(None, calls=[("look_up", '{"id": 7}')]), {"error": {"code": "content_filter", "message": "filtered"}}
    )

    output = ask_agent()

    assert (output.error, output.unavailable, output.final) == ("content_filter: filtered", False, None)


def test_the_models_own_prompt_serves_where_the_agent_has_none(server: FaultServer, ask_agent: AskAgent) -> None:
    ask_agent(model_settings={"system": "Be brief."})
    ask_agent(model_settings={"system": "Be brief."}, system="Be kind.")

    assert [request.body["messages"][0]["content"] for request in server.requests] == ["Be brief.", "Be kind."]


def test_tools_are_offered_once_by_name(server: FaultServer, ask_agent: AskAgent) -> None:
    ask_agent(case=Case(name="a", input="x", tools=({"name": "look_up"}, {"name": "other"})))

    offered = [tool["function"]["name"] for tool in server.requests[0].body["tools"]]
    assert offered == ["look_up", "refund", "broken", "stops", "other"]


def test_recorded_results_answer_in_the_order_they_were_recorded(
    server: FaultServer, ask_agent: AskAgent, chat: Chat, tmp_path: Path
) -> None:
    results = [
        {"arguments": {"b": 1, "a": 2}, "result": "open"},
        {"arguments": {"a": 2, "b": 1}, "result": {"state": "closed"}},
    ]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(result) + "\n" for result in results))
    call = ("state", '{"a": 2, "b": 1}')

    for given in ("results.jsonl", results):
        server.says(*[chat(None, calls=[call])] * 3, chat(None, calls=[("state", '{"a": 3}')]), chat("ok"))
        output = ask_agent(tools=[{"name": "state", "results": given}])

        said = [message["content"] for message in output.messages if message["role"] == "tool"]
        assert said[:3] == ["open", '{"state": "closed"}', '{"state": "closed"}']
        assert "no result is recorded" in json.loads(said[3])["error"]
