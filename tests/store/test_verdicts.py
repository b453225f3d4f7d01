"""Comparisons, verdicts and promotions come out of the store as they went in, the latest first."""

from __future__ import annotations

from datetime import timedelta

import pytest

from eval_assets.errors import NothingMeasured
from eval_assets.model.verdicts import (
    Comparison,
    GatePolicy,
    MetricComparison,
    Outcome,
    StoredVerdict,
    Verdict,
)
from eval_assets.store.store import Store
from tests.store.made import START, made_promotion

COMPARISON = Comparison(
    metrics=(
        MetricComparison(
            metric="no_error",
            old_rate=0.5,
            new_rate=0.25,
            rate_delta=-0.25,
            old_passes=2,
            old_scored=4,
            old_unscored=0,
            new_passes=1,
            new_scored=4,
            new_unscored=1,
            p_value=0.4652088184521418,
            adjusted_p=0.5,
            significant=False,
            direction="flat",
            note="ünï",
            extensions={"test": "pooled"},
        ),
    ),
    extensions={"alpha": 0.05},
)


def made_verdict(
    number: int, *, minutes: int = 0, candidate_report_id: str = "new", outcome: Outcome = "pass"
) -> StoredVerdict:
    return StoredVerdict(
        verdict_id=f"verdict-{number}",
        comparison_id=f"comparison-{number}",
        suite="support",
        candidate="next",
        baseline_report_id="old",
        candidate_report_id=candidate_report_id,
        verdict=Verdict(outcome=outcome, reasons=() if outcome == "pass" else ("got worse", "again")),
        decided_by="cli",
        decided_at=START + timedelta(minutes=minutes),
    )


def test_a_comparison_comes_back_and_is_kept_once(store: Store) -> None:
    for _ in range(2):
        store.append_comparison("c1", "support", "next", "old", "new", GatePolicy(), COMPARISON, START)

    assert store.comparison("c1") == COMPARISON
    assert store.select("select metric, p_value, note, extensions from metric_comparisons")[1] == [
        ("no_error", 0.4652088184521418, "ünï", '{"test":"pooled"}')
    ]
    with pytest.raises(NothingMeasured, match="no comparison c2"):
        store.comparison("c2")


def test_a_comparison_of_nothing_is_kept(store: Store) -> None:
    store.append_comparison("c1", "support", "next", "old", "new", GatePolicy(), Comparison(metrics=()), START)

    assert store.comparison("c1") == Comparison(metrics=())
    assert store.select("select outcome from comparisons")[1] == [("inconclusive",)]


def test_the_latest_verdict_is_the_one_decided_last(store: Store) -> None:
    later = made_verdict(1, minutes=5, outcome="regression")
    store.append_verdict(later)
    store.append_verdict(made_verdict(2, minutes=1))
    store.append_verdict(later)

    assert store.latest_verdict("support", "next") == later
    assert store.select("select suite, candidate, outcome, reasons, decided_by, comparison_id from latest_verdicts")[
        1
    ] == [("support", "next", "regression", ["got worse", "again"], "cli", "comparison-1")]
    assert store.select("select count(*) from verdicts")[1] == [(2,)]


def test_a_verdict_on_other_reports_is_not_found(store: Store) -> None:
    verdict = made_verdict(1)
    store.append_verdict(verdict)
    store.append_verdict(made_verdict(2, minutes=9, candidate_report_id="newer"))

    assert store.verdict_on("support", "next", baseline_report_id="old", candidate_report_id="new") == verdict
    assert store.verdict_on("support", "next", baseline_report_id="new", candidate_report_id="old") is None


def test_verdicts_of_one_moment_come_together(store: Store) -> None:
    """A reader goes on from the moment of the last one, and must not skip its twins."""
    verdicts = [made_verdict(number, minutes=minutes) for number, minutes in ((1, 0), (2, 1), (3, 1), (4, 2))]
    for verdict in reversed(verdicts):
        store.append_verdict(verdict)

    first = store.verdicts_after("support", decided_at=None, limit=2)
    second = store.verdicts_after("support", decided_at=first[-1].decided_at, limit=2)

    assert first == verdicts[:3]
    assert second == verdicts[3:]
    assert store.verdicts_after("other", decided_at=None, limit=9) == []


def test_the_latest_promotion_comes_back(store: Store) -> None:
    for number in (2, 1, 2):
        store.append_promotion(made_promotion(number))

    assert store.latest_promotion("support") == made_promotion(2)
    assert store.latest_promotion("other") is None
    assert store.select("select count(*) from promotions")[1] == [(2,)]


def test_a_store_that_does_not_exist_has_no_latest(store: Store) -> None:
    assert store.latest_verdict("support", "next") is None
    assert store.latest_promotion("support") is None
    assert store.verdict_on("support", "next", baseline_report_id="a", candidate_report_id="b") is None
    assert store.verdicts_after("support", decided_at=None, limit=1) == []
    assert not store.path.exists()
