from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from eval_assets import Case, ConfigError, RunOutput, metrics
from eval_assets.metrics import scoring
from eval_assets.model.runs import Run
from eval_assets.model.scores import Failed, Passed, Score, Unscored

CASE = Case(name="c", input="x")


def answer_of(function: Any, output: RunOutput | None = None) -> Score:
    return asyncio.run(scoring.score_output(metrics.custom("m", function), CASE, output or RunOutput(final="x")))


def test_a_metric_that_raises_leaves_the_run_unscored_with_its_reason() -> None:
    def broken(case: Case, output: RunOutput) -> bool:
        raise RuntimeError("the judge is down")

    assert answer_of(broken) == Unscored("RuntimeError: the judge is down")


async def later(case: Case, output: RunOutput) -> bool:
    await asyncio.sleep(0)
    return True


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda c, o: True, Passed()),
        (lambda c, o: False, Failed()),
        (lambda c, o: np.bool_(True), Passed()),
        (lambda c, o: Failed("no total"), Failed("no total")),
        (later, Passed()),
    ],
)
def test_answers_become_scores(function: Any, expected: Score) -> None:
    assert answer_of(function) == expected


@pytest.mark.parametrize("answer", [None, 1, 0, "yes", 0.5, []])
def test_an_answer_that_is_no_bool_is_unscored(answer: Any) -> None:
    """1 may be a score of 1 out of 10: guessing would make it a pass."""
    score = answer_of(lambda c, o: answer)

    assert isinstance(score, Unscored)
    assert repr(answer) in score.reason


def test_an_unavailable_run_is_never_put_to_a_metric() -> None:
    def must_not_be_asked(case: Case, output: RunOutput) -> bool:
        raise AssertionError

    score = answer_of(must_not_be_asked, RunOutput(error="HTTP 503 after 3 attempts", unavailable=True))

    assert score == Unscored("unavailable: HTTP 503 after 3 attempts")


def test_tags_limit_who_is_asked() -> None:
    metric = metrics.no_error(tags=["refund"])

    assert metric.asks(Case(name="a", tags=("refund", "hard")))
    assert not metric.asks(Case(name="b", tags=("hard",)))


@pytest.mark.parametrize("given", [[], [metrics.no_error(), metrics.no_error()]])
def test_metrics_no_report_could_key_are_refused(given: Any) -> None:
    with pytest.raises(ConfigError):
        scoring.check(given)


def test_a_predicate_that_is_no_function_is_refused() -> None:
    with pytest.raises(ConfigError, match="must be a function"):
        metrics.custom("m", None)  # type: ignore[arg-type]


def test_recorded_verdicts() -> None:
    metric = metrics.recorded("reward")
    outputs = [RunOutput(scores={"reward": passed}) for passed in (True, False, None)] + [RunOutput()]

    scores = [asyncio.run(scoring.score_output(metric, CASE, output)) for output in outputs]

    assert [type(score) for score in scores] == [Passed, Failed, Unscored, Unscored]


RUNS = [
    Run(
        case_name="c",
        case_hash=CASE.hash,
        run_index=index,
        run_id=str(index),
        started_at=datetime.now(UTC),
        output=RunOutput(final=str(index)),
    )
    for index in range(8)
]


def rows_of(*given: Any, concurrency: int = 4) -> list[tuple[int, str, bool | None]]:
    scored = asyncio.run(scoring.score_runs(RUNS, {CASE.hash: CASE}, given, concurrency=concurrency))
    return [(row.run_index, row.metric, row.passed) for row in scored]


def test_who_waits_is_asked_many_runs_at_a_time_and_rows_keep_their_order() -> None:
    """Four must meet before any goes on, twice over: one at a time would never end, five would be one too many."""
    meeting = asyncio.Barrier(4)
    in_flight: list[int] = []

    async def slow(messages: Any) -> str:
        in_flight.append(meeting.n_waiting)
        await asyncio.wait_for(meeting.wait(), 10)
        return "PASS"

    rows = rows_of(metrics.no_error(), metrics.judge("j", slow, "r"), metrics.contains("7"))

    assert rows == [
        row
        for index in range(8)
        for row in ((index, "no_error", True), (index, "j", True), (index, "contains:7", index == 7))
    ]
    assert max(in_flight) < 4


def test_a_sync_judge_is_asked_in_threads() -> None:
    meeting = threading.Barrier(4, timeout=10)

    def slow(messages: Any) -> str:
        meeting.wait()
        return "PASS"

    assert rows_of(metrics.judge("j", slow, "r")) == [(index, "j", True) for index in range(8)]


def test_an_async_predicate_waits_too() -> None:
    meeting = asyncio.Barrier(4)

    async def slow(case: Case, output: RunOutput) -> bool:
        await asyncio.wait_for(meeting.wait(), 10)
        return True

    assert rows_of(metrics.custom("m", slow)) == [(index, "m", True) for index in range(8)]


def test_a_metric_that_cancels_itself_leaves_the_others_asked() -> None:
    async def cancelling(case: Case, output: RunOutput) -> bool:
        raise asyncio.CancelledError

    rows = asyncio.run(scoring.score_runs(RUNS, {CASE.hash: CASE}, [metrics.custom("m", cancelling)], concurrency=2))

    assert {row.reason for row in rows} == {"CancelledError: "}


class Interrupt(BaseException):
    """As Dagster's, which is no Exception."""


def test_an_interrupt_passes_through_by_its_own_name() -> None:
    async def interrupted(case: Case, output: RunOutput) -> bool:
        raise Interrupt

    with pytest.raises(Interrupt):
        rows_of(metrics.custom("m", interrupted))


def test_detail_is_kept_with_the_score() -> None:
    seen = metrics.custom("m", lambda c, o: Failed("no", {"seen": o.final}))

    rows = asyncio.run(scoring.score_runs(RUNS[:1], {CASE.hash: CASE}, [seen]))

    assert (rows[0].reason, rows[0].detail) == ("no", {"seen": "0"})
