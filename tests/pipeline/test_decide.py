from __future__ import annotations

from collections.abc import Callable

import pytest

from eval_assets import pipeline
from eval_assets.errors import ConfigError, NothingMeasured, PromotionRefused
from eval_assets.pipeline import Workspace

Measure = Callable[[str], None]
Record = Callable[[str, int], None]


def promote(workspace: Workspace) -> str:
    return pipeline.promote_candidate(workspace, "new", reason="as good", promoted_by="test").verdict_id


def test_a_verdict_is_bound_to_the_two_reports(workspace: Workspace, measure: Measure) -> None:
    measure("old")
    measure("new")

    decided = pipeline.decide_candidate(workspace, "new", decided_by="test")

    stored = workspace.store.latest_verdict("recorded", "new")
    assert stored == decided.stored_verdict
    assert stored.baseline_report_id == pipeline.latest_report(workspace, "old").report_id
    assert stored.candidate_report_id == pipeline.latest_report(workspace, "new").report_id
    assert workspace.store.comparison(stored.comparison_id) == decided.compared.comparison


def test_comparing_stores_nothing(workspace: Workspace, measure: Measure) -> None:
    measure("old")
    measure("new")

    pipeline.compare_candidate(workspace, "new")

    assert pipeline.verdicts_after(workspace, None) == []


def test_a_promotion_keeps_who_why_and_on_which_verdict(workspace: Workspace, measure: Measure) -> None:
    measure("old")
    measure("new")
    decided = pipeline.decide_candidate(workspace, "new", decided_by="test")

    assert promote(workspace) == decided.stored_verdict.verdict_id

    kept = workspace.store.latest_promotion("recorded")
    assert kept is not None
    assert (kept.candidate, kept.reason, kept.promoted_by) == ("new", "as good", "test")


def test_nothing_is_promoted_on_nothing(workspace: Workspace, measure: Measure) -> None:
    with pytest.raises(PromotionRefused, match="has no report yet"):
        promote(workspace)
    measure("old")
    measure("new")
    with pytest.raises(PromotionRefused, match="has no verdict"):
        promote(workspace)


def test_a_failing_verdict_promotes_nothing(workspace: Workspace, measure: Measure, record: Record) -> None:
    record("new", 1)
    measure("old")
    measure("new")
    pipeline.decide_candidate(workspace, "new", decided_by="test")

    with pytest.raises(PromotionRefused, match="the verdict is regression"):
        promote(workspace)


@pytest.mark.parametrize("again", ["old", "new"])
def test_a_verdict_on_older_reports_promotes_nothing(workspace: Workspace, measure: Measure, again: str) -> None:
    measure("old")
    measure("new")
    pipeline.decide_candidate(workspace, "new", decided_by="test")
    measure(again)

    with pytest.raises(PromotionRefused, match="on older reports"):
        promote(workspace)


@pytest.mark.parametrize("changed", ["old", "new"])
def test_what_was_redefined_since_is_not_judged(
    workspace: Workspace, measure: Measure, record: Record, changed: str
) -> None:
    measure("old")
    measure("new")
    record(changed, 5)

    with pytest.raises(NothingMeasured, match=f"'{changed}' is of an earlier definition"):
        pipeline.decide_candidate(workspace, "new", decided_by="test")


def test_a_promotion_needs_a_reason(workspace: Workspace) -> None:
    with pytest.raises(ConfigError, match="needs a reason"):
        pipeline.promote_candidate(workspace, "new", reason=" ", promoted_by="test")


def test_the_baseline_is_no_candidate(workspace: Workspace) -> None:
    with pytest.raises(ConfigError, match="is not a candidate"):
        pipeline.compare_candidate(workspace, "old")
