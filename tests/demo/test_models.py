"""The served models: chance that follows from the seed alone, and the quality each is there for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from eval_assets.demo import script
from eval_assets.demo.models import MODELS, Start
from eval_assets.demo.server import demo_server
from eval_assets.model.cases import Case

Play = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def refunds(cases: list[Case]) -> list[str]:
    return [case.input for case in cases if "refund" in case.tags]


def test_a_seed_gives_the_same_runs_at_any_concurrency(play: Play, refunds: list[str]) -> None:
    with demo_server(port=0, seed=3) as url:
        one_by_one = play(url, "support-2-hasty", refunds, runs=4, concurrency=1)

    with demo_server(port=0, seed=3) as url:
        at_once = play(url, "support-2-hasty", refunds, runs=4, concurrency=24)

    assert at_once == one_by_one


def test_another_seed_gives_other_runs(play: Play, refunds: list[str]) -> None:
    with demo_server(port=0, seed=3) as url:
        three = play(url, "support-2-hasty", refunds)

    with demo_server(port=0, seed=4) as url:
        four = play(url, "support-2-hasty", refunds)

    assert three != four


def test_a_second_evaluation_samples_again(base_url: str, play: Play, refunds: list[str]) -> None:
    first = play(base_url, "support-2-hasty", refunds)
    second = play(base_url, "support-2-hasty", refunds)

    assert first != second


def test_a_conversation_of_another_server_starts_anew(base_url: str, play: Play, refunds: list[str]) -> None:
    """An id that a server did not give names no start of its own, so it cannot steer what it draws."""
    asked = play(base_url, "support-2", refunds[:1])[0]["messages"]
    with demo_server(port=0, seed=99) as other:
        again = play(other, "support-2", refunds[:1])[0]["messages"]

    assert _ids(asked).isdisjoint(_ids(again))


def test_reply_ids_never_repeat(base_url: str, ask: Callable[..., Any], refunds: list[str]) -> None:
    message = {"role": "user", "content": refunds[0]}

    ids = [ask(base_url, model="support-1", messages=[message]).json()["id"] for _ in range(20)]

    assert len(set(ids)) == len(ids)


def test_an_unavailable_run_stays_unavailable(
    base_url: str, play: Play, ask: Callable[..., Any], refunds: list[str]
) -> None:
    runs = play(base_url, "support-2-flaky", refunds, runs=5)
    broken = [run for run in runs if run["status"] == 503]
    retried = [ask(base_url, model="support-2-flaky", messages=broken[0]["messages"]) for _ in range(5)]

    assert 0.1 < len(broken) / len(runs) < 0.4
    assert {reply.status_code for reply in retried} == {503}


def test_only_hasty_skips_the_lookup(base_url: str, play: Play, refunds: list[str]) -> None:
    skipped = {
        model: sum("lookup_order" not in run["tools"] for run in play(base_url, model, refunds, runs=3))
        for model in MODELS
    }

    assert skipped.pop("support-2-hasty") > 15
    assert max(skipped.values()) < 8


@pytest.mark.parametrize(("model", "low", "high"), [("support-1", 0.8, 0.93), ("support-2", 0.9, 0.99)])
def test_answers_are_as_good_as_promised(cases: list[Case], play: Play, model: str, low: float, high: float) -> None:
    with demo_server(port=0) as url:
        runs = play(url, model, [case.input for case in cases], runs=3, concurrency=16)

    wants = {case.input: case.want if isinstance(case.want, list) else [case.want] for case in cases}
    right = [all(want in (run["final"] or "") for want in wants[run["messages"][0]["content"]]) for run in runs]
    assert low < sum(right) / len(right) < high


@pytest.mark.parametrize("seed", range(20))
def test_no_seed_makes_the_better_model_slip_more(cases: list[Case], seed: int) -> None:
    slips = {model: _slips(model, cases, seed) for model in ("support-1", "support-2")}

    assert slips["support-2"] < slips["support-1"]


def _slips(model: str, cases: list[Case], seed: int) -> int:
    starts = [Start(seed, model, case.input, earlier) for case in cases for earlier in range(5)]
    return sum(len(start.slips(script.read_question(start.prompt).kind)) for start in starts)


def _ids(messages: list[dict[str, Any]]) -> set[str]:
    return {call["id"] for message in messages for call in message.get("tool_calls") or ()}
