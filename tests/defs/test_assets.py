"""The assets of a suite, materialized in process over a real store."""

from __future__ import annotations

import dagster as dg
import pytest

from eval_assets import pipeline
from tests.defs.conftest import Shell


def materialized(result: dg.ExecuteInProcessResult) -> set[str]:
    return {event.asset_key.path[-1] for event in result.get_asset_materialization_events() if event.asset_key}


def metadata_of(result: dg.ExecuteInProcessResult, asset: str) -> dict[str, object]:
    [materialization] = result.asset_materializations_for_node(f"greetings__{asset}")
    return {name: entry.value for name, entry in materialization.metadata.items()}


def test_a_baseline_and_a_good_candidate_go_through_all_nine_assets(shell: Shell) -> None:
    measured = shell.measure_baseline()
    promoted = shell.materialize(
        "candidate_outputs", "candidate_scores", "candidate_report", "comparison", "promotion", candidate="same"
    )

    assert measured.success
    assert promoted.success
    assert len(materialized(measured) | materialized(promoted)) == 9
    assert shell.gate_of("same") == ("SUCCEEDED", True)


def test_each_asset_says_what_came_of_it(shell: Shell) -> None:
    measured = shell.measure_baseline()
    judged = shell.judge("worse")

    case_set_hash = shell.workspace.suite.case_set.hash
    for result, asset in ((measured, "case_set"), (measured, "baseline_outputs"), (judged, "candidate_report")):
        assert metadata_of(result, asset)["case_set_hash"] == case_set_hash
    assert metadata_of(measured, "baseline_outputs")["runs"] == 30
    assert metadata_of(measured, "baseline_scores")["scored"] == 60
    assert metadata_of(judged, "candidate_report")["rate contains_want"] == 0.0
    assert metadata_of(judged, "comparison")["verdict"] == "regression"
    assert "| contains\\_want |" in str(metadata_of(judged, "comparison")["comparison"])


def test_the_blocking_gate_stops_the_promotion_in_the_same_run(shell: Shell) -> None:
    shell.measure_baseline()

    result = shell.materialize(
        "candidate_outputs", "candidate_scores", "candidate_report", "comparison", "promotion", candidate="worse"
    )

    assert not result.success
    assert "comparison" in materialized(result)
    assert "promotion" not in materialized(result)
    assert shell.gate_of("worse") == ("FAILED", True)


def test_a_verdict_names_the_dagster_run_that_decided_it(shell: Shell) -> None:
    shell.measure_baseline()

    result = shell.judge("worse")

    verdict = shell.workspace.store.latest_verdict("greetings", "worse")
    assert verdict is not None
    assert verdict.decided_by == f"dagster:{result.run_id}"
    assert verdict.verdict.outcome == "regression"


def test_promotion_alone_is_refused_after_a_failed_gate(shell: Shell) -> None:
    shell.measure_baseline()
    shell.judge("worse")

    assert_refused(shell, "worse", "the verdict is regression")


def test_promotion_alone_is_refused_without_a_gate(shell: Shell) -> None:
    shell.measure_baseline()
    shell.materialize("candidate_outputs", "candidate_scores", "candidate_report", candidate="same")

    assert_refused(shell, "same", "has no verdict")


def test_promotion_alone_is_refused_after_a_gate_on_older_reports(shell: Shell) -> None:
    shell.measure_baseline()
    shell.judge("same")
    shell.materialize("candidate_outputs", "candidate_scores", "candidate_report", candidate="same")

    assert_refused(shell, "same", "is on older reports")


def test_promotion_alone_is_refused_after_the_baseline_was_measured_again(shell: Shell) -> None:
    shell.measure_baseline()
    shell.judge("same")
    shell.measure_baseline()

    assert_refused(shell, "same", "is on older reports")


@pytest.mark.parametrize(
    ("given", "kept"), [("", "promoted in Dagster"), ("the answers read better", "the answers read better")]
)
def test_a_promotion_keeps_its_reason(shell: Shell, given: str, kept: str) -> None:
    shell.measure_baseline()
    shell.judge("same")

    result = shell.materialize("promotion", candidate="same", reason=given)

    promotion = shell.workspace.store.latest_promotion("greetings")
    assert promotion is not None
    assert (promotion.candidate, promotion.reason) == ("same", kept)
    assert promotion.promoted_by == f"dagster:{result.run_id}"


def test_dagster_and_the_pipeline_measure_the_same(shell: Shell) -> None:
    shell.measure_baseline()
    judged = shell.judge("worse")

    compared = pipeline.compare_candidate(shell.workspace, "worse")
    assert metadata_of(judged, "comparison")["verdict"] == compared.verdict.outcome
    assert {metric.metric: metric.new_rate for metric in compared.comparison.metrics} == {
        metric.metric: metadata_of(judged, "comparison")[f"rate {metric.metric}"]
        for metric in compared.comparison.metrics
    }


def assert_refused(shell: Shell, candidate: str, because: str) -> None:
    """Materializing `promotion` alone, in a run of its own, fails and promotes nothing."""
    result = shell.materialize("promotion", candidate=candidate)

    [failure] = [event for event in result.all_events if event.is_step_failure]
    assert not result.success
    assert because in str(failure.step_failure_data.user_failure_data)
    assert shell.workspace.store.latest_promotion("greetings") is None
