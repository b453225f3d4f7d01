"""Asking a target what certifies it: every kind of target, and every way it may fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import eval_assets
from eval_assets import Case, CaseSet, ConfigError, RunOutput, conformance
from eval_assets.conformance import Expectation

CASES = (Case(name="a", input="1"), Case(name="b", input="2"))


def fit(case: Case) -> RunOutput:
    """Does what the canonical cases want."""
    if case.expect is not None and case.expect.tool_name:
        call = {"function": {"name": case.expect.tool_name, "arguments": json.dumps({"city": "Paris"})}}
        return RunOutput(messages=({"role": "assistant", "content": None, "tool_calls": [call]},))
    return RunOutput(final="hello, 4")


class Asked:
    """A target with `ask`, which keeps what it was asked."""

    def __init__(self) -> None:
        self.run_ids: list[str] = []

    async def ask(self, case: Case, run_index: int, run_id: str) -> RunOutput:
        self.run_ids.append(run_id)
        return RunOutput(final=f"{case.input}/{run_index}")


def test_a_fit_target_is_certified() -> None:
    report = conformance.certify(fit, conformance.canonical_cases(), name="desk")

    assert report.passed, report.failing
    assert (report.score, report.target) == (1.0, "desk")
    assert report.certified_at is not None
    assert conformance.tool_call_f1(report.results) == (1, 1, 1)
    assert all(result.latency_s is not None for result in report.results)


def test_an_unfit_target_is_not() -> None:
    report = conformance.certify(lambda case: RunOutput(final=""), conformance.canonical_cases())

    assert report.score == 0
    assert [result.id for result in report.failing] == ["greeting", "deterministic_answer", "tool_call", "no_tool_call"]


def test_a_target_may_be_async() -> None:
    async def target(case: Case) -> RunOutput:
        await asyncio.sleep(0)
        return fit(case)

    assert asyncio.run(conformance.certify_async(target, conformance.canonical_cases())).passed


def test_a_target_may_have_ask() -> None:
    target = Asked()

    report = conformance.certify(target, CASES)

    assert [result.reply[0]["content"] for result in report.results] == ["1/0", "2/0"]
    assert len(set(target.run_ids)) == 2


def test_another_certification_asks_anew() -> None:
    """A run id that came twice would replay what a target kept."""
    target = Asked()

    conformance.certify(target, CASES)
    conformance.certify(target, CASES)

    assert len(set(target.run_ids)) == 4


def test_results_stand_in_the_order_of_the_cases() -> None:
    async def certify() -> list[str]:
        second = asyncio.Event()

        async def target(case: Case) -> RunOutput:
            if case.name == "a":
                await second.wait()
            second.set()
            return RunOutput(final="x")

        report = await conformance.certify_async(target, CaseSet(cases=CASES), concurrency=2)
        return [result.id for result in report.results]

    assert asyncio.run(certify()) == ["a", "b"]


def boom(case: Case) -> RunOutput:
    raise LookupError(case.name)


@pytest.mark.parametrize(
    ("target", "error"),
    [
        (boom, "LookupError: a"),
        (lambda case: "text", "TypeError: the target returned str, wanted a RunOutput"),
        (lambda case: None, "TypeError: the target returned NoneType, wanted a RunOutput"),
    ],
)
def test_what_a_target_raises_is_its_own_failure(
    target: Callable[[Case], RunOutput | Awaitable[RunOutput]], error: str
) -> None:
    (result,) = conformance.certify(target, CASES[:1]).results

    assert (result.passed, result.error, result.failures) == (False, error, (f"the target failed: {error}",))


def test_unavailable_is_counted_apart() -> None:
    def target(case: Case) -> RunOutput:
        return RunOutput(error="HTTP 503", unavailable=True) if case.name == "b" else RunOutput(final="x")

    report = conformance.certify(target, CASES)

    assert (report.score, report.passed, report.failing) == (1.0, False, ())
    assert [result.error for result in report.unmeasured] == ["HTTP 503"]


def test_a_stated_latency_is_kept() -> None:
    (result,) = conformance.certify(lambda case: RunOutput(final="x", latency_s=7.5), CASES[:1]).results

    assert result.latency_s == 7.5


def test_a_cancelled_certification_gives_no_report() -> None:
    async def certify() -> None:
        asked = asyncio.Event()

        async def target(case: Case) -> RunOutput:
            asked.set()
            await asyncio.Event().wait()
            return RunOutput(final="x")

        task = asyncio.create_task(conformance.certify_async(target, CASES))
        await asked.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(certify())


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"cases": ()}, "there are no cases"),
        ({"cases": (CASES[0], CASES[0])}, "case names repeat: a"),
        ({"target": "text"}, "target must be a function"),
        ({"concurrency": 0}, "concurrency must be"),
        ({"concurrency": True}, "concurrency must be"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_asked(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        conformance.certify(**{"target": fit, "cases": CASES, **arguments})


def test_a_trajectory_is_scored_where_one_is_expected() -> None:
    case = Case(name="c", expect=Expectation.model_validate({"tool_calls": ["get_weather", "send"]}))
    output = fit(Case(name="x", expect=Expectation(tool_name="get_weather")))

    matched = conformance.score_trajectory(case, output)

    assert matched is not None
    assert (matched.precision, matched.recall) == (1, 0.5)
    assert conformance.score_trajectory(CASES[0], output) is None


@pytest.mark.parametrize("name", conformance.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(eval_assets.conformance, name) is not None
