from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from eval_assets import Case, ConfigError, RunOutput, metrics
from eval_assets.metrics import scoring
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
