from __future__ import annotations

import asyncio
from typing import Any

import pytest

from eval_assets import Case, ConfigError, RunOutput, evaluate, metrics
from eval_assets.metrics import scoring
from eval_assets.model.scores import Failed, Passed, Score, Unscored

CASES = [Case(name=name, input=name) for name in ("right, held", "right, broken", "wrong, held", "wrong, broken")]


def ask(compliant: Any, output: RunOutput) -> Score:
    return asyncio.run(scoring.score_output(metrics.governance_held("held", compliant), Case(name="c"), output))


async def later(output: RunOutput) -> bool:
    await asyncio.sleep(0)
    return output.final == "held"


def broken(output: RunOutput) -> bool:
    raise RuntimeError("the ledger is down")


@pytest.mark.parametrize("compliant", [later, lambda output: output.final == "held"])
def test_the_outcome_alone_is_asked(compliant: Any) -> None:
    assert ask(compliant, RunOutput(final="held")) == Passed()
    assert ask(compliant, RunOutput(final="broken")) == Failed()


def test_a_predicate_that_raises_leaves_the_run_unscored() -> None:
    assert ask(broken, RunOutput(final="x")) == Unscored("RuntimeError: the ledger is down")


def test_a_run_that_errored_is_asked_and_one_that_was_never_answered_is_not() -> None:
    """Whether a guard held is a question about what happened, and something did."""
    assert ask(lambda output: output.error is not None, RunOutput(error="refused")) == Passed()
    assert isinstance(ask(broken, RunOutput(error="503", unavailable=True)), Unscored)


def test_a_report_knows_the_gap() -> None:
    """Runs where the model erred and the outcome stayed compliant, over the runs that both metrics scored."""
    given = [
        metrics.contains("right"),
        metrics.governance_held("policy", lambda output: "held" in str(output.final)),
        metrics.custom("never", lambda case, output: None),  # type: ignore[arg-type, return-value]
    ]

    report = evaluate(lambda text: RunOutput(final=text), CASES, given, runs=3)

    assert report.extensions["governance"] == {
        "metrics": ["policy"],
        "gaps": [
            {
                "metric": "contains:right",
                "governance": "policy",
                "both_scored": 12,
                "erred": 6,
                "erred_but_held": 3,
            }
        ],
    }


def test_a_report_without_governance_does_not_speak_of_it() -> None:
    report = evaluate(lambda text: RunOutput(final=text), CASES, [metrics.no_error()])

    assert report.extensions.keys().isdisjoint({"governance", "judges"})


@pytest.mark.parametrize(
    ("name", "compliant"),
    [(None, later), ("", later), ("m", None), ("m", "later"), ("m", lambda case, output: True)],
)
def test_a_bad_argument_is_refused_at_once(name: Any, compliant: Any) -> None:
    with pytest.raises(ConfigError, match="governance_held"):
        metrics.governance_held(name, compliant)
