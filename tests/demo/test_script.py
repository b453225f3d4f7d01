"""The script reads what customers want from their words, and answers from what the tools said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from eval_assets.demo import script
from eval_assets.demo.script import Call, Made, Question, Say, Slip
from eval_assets.model.cases import Case

TOOLS = ("lookup_order", "lookup_account", "issue_refund", "search_policy")
REFUND = Question("refund", "48297", "opened items")
OPENED = Made("lookup_order", {"order_id": "48297", "paid": 50.0, "opened": True})
FEE = Made("search_policy", {"fee_percent": 10})


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Money back for order 48297, please", Question("refund", "48297", "opened items")),
        ("My parcel #52014 is late", Question("shipping", "52014", "late delivery")),
        ("The tracking of #52427 has not moved", Question("shipping", "52427", "lost parcel")),
        ("Which plan is a.b@example.com on?", Question("account", "a.b@example.com", "plan")),
        ("Hello?", Question("shipping", "", "late delivery")),
    ],
)
def test_words_tell_what_is_wanted(text: str, question: Question) -> None:
    assert script.read_question(text) == question


@pytest.mark.parametrize(
    ("made", "turn"),
    [
        ([], Call("lookup_order", '{"order_id": "48297"}')),
        ([OPENED], Call("search_policy", '{"topic": "opened items"}')),
        ([OPENED, FEE], Call("issue_refund", '{"order_id": "48297", "amount": 45.0}')),
    ],
)
def test_an_opened_item_is_refunded_less_the_fee(made: list[Made], turn: Call) -> None:
    assert script.next_turn(REFUND, (), made, offered=TOOLS) == turn


@pytest.mark.parametrize(("days_late", "answer"), [(7, "voucher for you"), (1, "nothing yet")])
def test_the_policy_decides_from_the_order(days_late: int, answer: str) -> None:
    policy = {"field": "days_late", "at_least": 5, "at_most": 99, "then": "voucher for you", "otherwise": "nothing yet"}
    made = [Made("lookup_order", {"order_id": "52014", "days_late": days_late}), Made("search_policy", policy)]

    turn = script.next_turn(Question("shipping", "52014", "late delivery"), (), made, offered=TOOLS)

    assert turn == Say(f"I checked order #52014: {answer}")


def test_every_case_is_answered_right_when_nothing_slips(
    cases: list[Case], use_tool: Callable[[str, str], Any]
) -> None:
    answers = {case.name: _answer(case, set(), use_tool) for case in cases}

    assert [case.name for case in cases if not _holds_want(case, answers[case.name])] == []


@pytest.mark.parametrize("slip", ["misreads", "skips_lookup"])
def test_no_case_is_answered_right_by_a_wrong_reading(
    cases: list[Case], use_tool: Callable[[str, str], Any], slip: Slip
) -> None:
    answers = {case.name: _answer(case, {slip}, use_tool) for case in cases}

    assert [case.name for case in cases if _holds_want(case, answers[case.name])] == []


def test_broken_arguments_are_written_again() -> None:
    slips: set[Slip] = {"garbles"}
    failed = Made("lookup_order", {"error": "arguments are not JSON"})

    first = script.next_turn(REFUND, slips, [], offered=TOOLS)
    second = script.next_turn(REFUND, slips, [failed], offered=TOOLS)

    assert first == Call("lookup_order", '{"order_id": "48297"')
    assert second == Call("lookup_order", '{"order_id": "48297"}')


@pytest.mark.parametrize("result", [{"error": "no order '48297'"}, "gone", None, {}])
def test_an_order_that_is_not_found_ends_the_run(result: Any) -> None:
    made: list[Made] = []
    while isinstance(turn := script.next_turn(REFUND, (), made, offered=TOOLS), Call):
        made.append(Made(turn.name, result))

    assert "could not find" in turn.text
    assert len(made) < 6


def test_a_tool_that_is_not_offered_is_not_called() -> None:
    turn = script.next_turn(REFUND, (), [], offered=("search_policy",))

    assert isinstance(turn, Say)


def _answer(case: Case, slips: set[Slip], use_tool: Callable[[str, str], Any]) -> str:
    question, made = script.read_question(case.input), list[Made]()
    while isinstance(turn := script.next_turn(question, slips, made, offered=TOOLS), Call):
        made.append(Made(turn.name, use_tool(turn.name, turn.arguments)))
    return turn.text


def _holds_want(case: Case, answer: str) -> bool:
    wants = case.want if isinstance(case.want, list) else [case.want]
    return all(want.lower() in answer.lower() for want in wants)
