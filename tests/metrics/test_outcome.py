from __future__ import annotations

import asyncio
from typing import Any

import pytest

from eval_assets import Case, ConfigError, RunOutput, metrics
from eval_assets.metrics import scoring
from eval_assets.model.scores import Failed, Metric, Passed, Score, Unscored


def ask(metric: Metric, output: RunOutput, case: Case | None = None) -> Score:
    return asyncio.run(scoring.score_output(metric, case or Case(name="c"), output))


ERRORED = RunOutput(final="refund", error="refused")
UNAVAILABLE = RunOutput(error="HTTP 503", unavailable=True)


@pytest.mark.parametrize(
    ("metric", "output", "passes"),
    [
        (metrics.no_error(), RunOutput(), True),
        (metrics.no_error(), ERRORED, False),
        (metrics.available(), ERRORED, True),
        (metrics.available(), UNAVAILABLE, False),
        (metrics.contains("refund"), RunOutput(final="a refund"), True),
        (metrics.contains("refund"), RunOutput(final="a Refund"), False),
        (metrics.contains("refund"), RunOutput(), False),
        (metrics.contains("refund"), ERRORED, False),
        (metrics.matches(r"#\d+"), RunOutput(final="order #12"), True),
        (metrics.matches(r"#\d+"), RunOutput(final="order"), False),
        (metrics.matches("^$"), RunOutput(final=""), True),
        (metrics.matches("refund"), ERRORED, False),
    ],
)
def test_outcome(metric: Metric, output: RunOutput, passes: bool) -> None:
    assert isinstance(ask(metric, output), Passed if passes else Failed)


@pytest.mark.parametrize(
    ("want", "final", "passes"),
    [
        ("Paris", "it is PARIS.", True),
        ("Paris", "it is Rome.", False),
        (["Paris", "France"], "Paris, France", True),
        (["Paris", "France"], "Paris", False),
        (4, "the answer is 4", True),
        ("straße", "STRASSE", True),
    ],
)
def test_contains_want(want: Any, final: str, passes: bool) -> None:
    answer = ask(metrics.contains_want(), RunOutput(final=final), Case(name="c", want=want))

    assert isinstance(answer, Passed if passes else Failed)


@pytest.mark.parametrize(
    ("want", "final", "passes"),
    [
        ("yes", "  yes\n", True),
        ("yes", "Yes", False),
        ({"a": [1, 2.0]}, '{"a": [1.0, 2]}', True),
        ({"a": 1}, '{"a": 1, "b": 2}', False),
        (1, "1.0", True),
        (1, "true", False),
        (True, "1", False),
        ([1, 2], "[2, 1]", False),
        ({"a": 1}, "no json", False),
        ({"a": 1}, '{"a": NaN}', False),
        ("yes", None, False),
    ],
)
def test_equals_want(want: Any, final: str | None, passes: bool) -> None:
    answer = ask(metrics.equals_want(), RunOutput(final=final), Case(name="c", want=want))

    assert isinstance(answer, Passed if passes else Failed)


@pytest.mark.parametrize("metric", [metrics.contains_want(), metrics.equals_want()])
def test_a_case_without_want_is_unscored(metric: Metric) -> None:
    assert ask(metric, RunOutput(final="x")) == Unscored("the case has no `want`")


@pytest.mark.parametrize("want", [{"a": 1}, [], [""], True, [["a"]]])
def test_a_want_that_cannot_be_looked_for_is_unscored(want: Any) -> None:
    assert isinstance(ask(metrics.contains_want(), RunOutput(final="x"), Case(name="c", want=want)), Unscored)


@pytest.mark.parametrize("metric", [metrics.contains_want(), metrics.equals_want()])
def test_an_errored_run_fails_the_want(metric: Metric) -> None:
    assert isinstance(ask(metric, ERRORED, Case(name="c", want="refund")), Failed)


@pytest.mark.parametrize(
    "make",
    [
        lambda: metrics.contains(""),
        lambda: metrics.contains(None),  # type: ignore[arg-type]
        lambda: metrics.matches("("),
        lambda: metrics.matches(None),  # type: ignore[arg-type]
        lambda: metrics.no_error(tags="t"),
        lambda: metrics.no_error(tags=[""]),
    ],
)
def test_a_bad_argument_is_refused_at_once(make: Any) -> None:
    with pytest.raises(ConfigError):
        make()
