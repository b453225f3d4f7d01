from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_assets import RunOutput, ToolCall
from eval_assets.model import json_values, trajectory_match
from eval_assets.model.cases import Expect, ExpectedCall
from eval_assets.model.trajectory_match import TrajectoryMatch


def made(*calls: str | tuple[str, Any]) -> list[ToolCall]:
    pairs = [(call, {}) if isinstance(call, str) else call for call in calls]
    return [ToolCall(name=name, arguments=json.dumps(arguments)) for name, arguments in pairs]


def shares(matched: TrajectoryMatch) -> tuple[float, float, float]:
    return matched.precision, matched.recall, matched.f1


@pytest.mark.parametrize(
    ("expected", "actual", "wanted", "follows_order"),
    [
        ("ABCD", "ABC", (1, 0.75, 6 / 7), False),
        ("ABCD", "", (0, 0, 0), False),
        ("ABCD", "AXBCD", (0.8, 1, 8 / 9), True),
        ("ABCD", "ACBD", (1, 1, 1), False),
        ("AAB", "ABB", (2 / 3, 2 / 3, 2 / 3), False),
        ("", "", (1, 1, 1), True),
        ("", "A", (0, 0, 0), True),
    ],
)
def test_calls_are_counted_one_to_one(
    expected: str, actual: str, wanted: tuple[float, ...], follows_order: bool
) -> None:
    matched = trajectory_match.match(list(expected), made(*actual))

    assert shares(matched) == pytest.approx(wanted, abs=1e-12)
    assert matched.follows_order is follows_order


def test_nothing_recorded_is_unscored() -> None:
    """Not 0, and no pass."""
    answered = RunOutput(final="x")

    assert trajectory_match.of_run(None, answered) is None
    assert trajectory_match.of_run(Expect(tool_name="A"), answered) is None


def test_an_unknown_trajectory_is_unscored() -> None:
    expect = Expect(tool_calls=())
    unread = {"role": "assistant", "tool_calls": "not a list"}

    assert trajectory_match.of_run(expect, RunOutput(error="HTTP 503", unavailable=True)) is None
    assert trajectory_match.of_run(expect, RunOutput(trace_error="journal gone")) is None
    assert trajectory_match.of_run(expect, RunOutput(messages=(unread,))) is None
    assert trajectory_match.of_run(expect, RunOutput(final="x")) is not None


def test_order_keeps_what_it_can() -> None:
    matched = trajectory_match.match(list("ABCD"), made(*"ACBD"))

    assert (matched.in_order.precision, matched.in_order.recall, matched.in_order.f1) == (0.75, 0.75, 0.75)


def test_what_is_missing_and_unexpected_is_named() -> None:
    matched = trajectory_match.match(list("ABA"), made(*"AXX"))

    assert [call.name for call in matched.missing] == ["B", "A"]
    assert [call.name for call in matched.unexpected] == ["X", "X"]


@pytest.mark.parametrize(
    ("stated", "written", "same"),
    [
        ({"x": 1}, '{"x": 1.0}', True),
        ({"x": 1}, '{"x": true}', False),
        ({"x": 1}, '{"x": "1"}', False),
        ({"x": 1, "y": [1, 2]}, '{"y": [1, 2], "x": 1}', True),
        ({"y": [1, 2]}, '{"y": [2, 1]}', False),
        ({"x": None}, "{}", False),
        ({}, "", True),
        ({}, "null", False),
        ({"x": 1}, '{"x":1}"', False),
        ({"x": 1}, "[" * 100_000, False),
        (None, '{"x":1}"', True),
    ],
)
def test_arguments_are_json_values(stated: dict[str, Any] | None, written: str, same: bool) -> None:
    call = ToolCall(name="A", arguments=written)

    matched = trajectory_match.match([ExpectedCall(name="A", arguments=stated)], [call])
    ignoring = trajectory_match.match([ExpectedCall(name="A", arguments=stated)], [call], arguments="ignored")

    assert (matched.f1, ignoring.f1) == (float(same), 1.0)


def test_a_call_with_any_arguments_leaves_the_exact_one_its_partner() -> None:
    """First come, first served would give the second expected call nothing."""
    expected = [ExpectedCall(name="A"), ExpectedCall(name="A", arguments={"x": 1})]

    assert trajectory_match.match(expected, made(("A", {"x": 1}), ("A", {"x": 2}))).f1 == 1


arguments = st.sampled_from([{}, {"x": 1}, {"x": 2}])
expected_calls = st.lists(
    st.builds(ExpectedCall, name=st.sampled_from("AB"), arguments=st.none() | arguments), max_size=5
)
actual_calls = st.lists(st.tuples(st.sampled_from("AB"), arguments), max_size=5).map(lambda calls: made(*calls))


def fits(wanted: ExpectedCall, call: ToolCall) -> bool:
    return wanted.name == call.name and wanted.arguments in (None, json.loads(call.arguments))


def tried(expected: Sequence[ExpectedCall], actual: Sequence[ToolCall], *, in_order: bool) -> int:
    """The largest matching by trying every one."""
    size = len(expected)
    slots = [*range(len(actual)), *[None] * size]
    choices = (
        [place for place in choice if place is not None]
        for choice in itertools.permutations(slots, size)
        if all(place is None or fits(call, actual[place]) for call, place in zip(expected, choice, strict=True))
    )
    return max(len(choice) for choice in choices if not in_order or choice == sorted(choice))


@given(expected_calls.filter(lambda calls: len(calls) <= 3), actual_calls.filter(lambda calls: len(calls) <= 4))
def test_no_matching_is_larger(expected: list[ExpectedCall], actual: list[ToolCall]) -> None:
    matched = trajectory_match.match(expected, actual)

    assert matched.any_order.matched == tried(expected, actual, in_order=False)
    assert matched.in_order.matched == tried(expected, actual, in_order=True)


@given(expected_calls, actual_calls, st.randoms(use_true_random=False))
def test_order_moves_only_what_is_in_order(expected: list[ExpectedCall], actual: list[ToolCall], random: Any) -> None:
    shuffled = random.sample(actual, len(actual))

    matched = trajectory_match.match(expected, actual)

    assert trajectory_match.match(expected, shuffled).any_order == matched.any_order
    assert 0 <= matched.in_order.matched <= matched.any_order.matched <= min(len(expected), len(actual))
    assert len(matched.missing) + matched.any_order.matched == len(expected)
    assert len(matched.unexpected) + matched.any_order.matched == len(actual)


json_value = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from([0.0, 1.0, 0.5, "", "1"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
    max_leaves=4,
)


@given(json_value, json_value)
def test_identities_are_equal_where_values_are(one: Any, other: Any) -> None:
    assert (json_values.identity(one) == json_values.identity(other)) is json_values.equal(one, other)
