"""The sensors, one tick at a time over an instance: what they report, what they request, and how often."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from eval_assets import pipeline
from eval_assets.defs import keys
from eval_assets.defs.sensors import MirroredVerdicts
from eval_assets.model.verdicts import StoredVerdict, Verdict
from tests.defs.conftest import Shell, measure


@pytest.fixture
def measured(shell: Shell) -> Shell:
    """Baseline and both candidates measured from the command line; Dagster knows of nothing."""
    for target in ("prod", "same", "worse"):
        measure(shell.workspace, target)
    return shell


def decide(shell: Shell, candidate: str) -> StoredVerdict:
    return pipeline.decide_candidate(shell.workspace, candidate, decided_by="cli").stored_verdict


def reported(shell: Shell, candidate: str) -> list[str]:
    """The statuses of every evaluation of a candidate's gate that the instance keeps, oldest first."""
    history = shell.instance.event_log_storage.get_asset_check_execution_history(keys.gate("greetings"), limit=100)
    return [record.status.value for record in reversed(history) if record.partition == candidate]


def test_a_failing_verdict_of_the_command_line_fails_the_check_of_its_partition(measured: Shell) -> None:
    decide(measured, "worse")

    measured.tick("gate")

    assert measured.gate_of("worse") == ("FAILED", True)
    assert measured.gate_of("same") is None
    assert measured.instance.get_dynamic_partitions("greetings_candidates") == ["worse"]


def test_a_passing_verdict_passes_the_check(measured: Shell) -> None:
    decide(measured, "same")

    measured.tick("gate")

    assert measured.gate_of("same") == ("SUCCEEDED", True)


def test_every_verdict_on_a_candidate_is_reported_in_order(measured: Shell) -> None:
    """Dagster itself keeps only one check evaluation without a run per partition."""
    decide(measured, "same")
    decide(measured, "worse")
    cursor = measured.tick("gate").cursor
    for target, candidate in (("worse", "worse"), ("same", "same")):
        measure(measured.workspace, target)
        decide(measured, candidate)

    measured.tick("gate", cursor)

    assert reported(measured, "worse") == ["FAILED", "FAILED"]
    assert reported(measured, "same") == ["SUCCEEDED", "SUCCEEDED"]
    assert measured.gate_of("worse") == ("FAILED", True)


def test_a_verdict_is_reported_once_however_often_it_ticks(measured: Shell) -> None:
    decide(measured, "worse")

    cursor = measured.tick("gate").cursor
    again = measured.tick("gate", cursor)

    assert reported(measured, "worse") == ["FAILED"]
    assert again.cursor == cursor


def test_a_tick_whose_cursor_was_lost_reports_nothing_twice(measured: Shell) -> None:
    decide(measured, "worse")

    measured.tick("gate")
    measured.tick("gate")

    materializations = measured.instance.fetch_materializations(keys.comparison("greetings"), limit=10).records
    assert reported(measured, "worse") == ["FAILED"]
    assert len(materializations) == 1


def test_a_verdict_that_was_stored_late_is_reported_too(measured: Shell) -> None:
    first = decide(measured, "same")
    cursor = measured.tick("gate").cursor
    earlier = first.model_copy(
        update={
            "verdict_id": "late",
            "candidate": "worse",
            "verdict": Verdict(outcome="regression", reasons=("it got worse",)),
            "decided_at": first.decided_at - timedelta(seconds=30),
        }
    )
    measured.workspace.store.append_verdict(earlier)

    measured.tick("gate", cursor)

    assert measured.gate_of("worse") == ("FAILED", True)


def test_what_a_run_of_this_instance_reported_is_not_reported_again(shell: Shell) -> None:
    shell.measure_baseline()
    shell.judge("worse")

    shell.tick("gate")

    assert reported(shell, "worse") == ["FAILED"]


def test_what_a_run_of_another_instance_decided_is_reported(shell: Shell) -> None:
    shell.measure_baseline()
    shell.judge("worse")

    with dg.DagsterInstance.ephemeral() as other:
        shell.instance = other
        shell.tick("gate")

        assert shell.gate_of("worse") == ("FAILED", True)


def decided_in(shell: Shell, run: dg.DagsterRun) -> None:
    """A verdict stored by a Dagster run that has not reported it."""
    shell.instance.add_run(run)
    pipeline.decide_candidate(shell.workspace, "worse", decided_by=f"dagster:{run.run_id}")


def test_a_run_that_is_still_at_work_reports_its_own_verdict(measured: Shell) -> None:
    decided_in(measured, dg.DagsterRun(job_name="__ASSET_JOB", status=dg.DagsterRunStatus.STARTED))

    result = measured.tick("gate")

    assert reported(measured, "worse") == []
    assert result.cursor == "{}"


def test_the_verdict_of_a_run_that_died_before_reporting_it_is_reported(measured: Shell) -> None:
    decided_in(measured, dg.DagsterRun(job_name="__ASSET_JOB", status=dg.DagsterRunStatus.FAILURE))

    measured.tick("gate")

    assert reported(measured, "worse") == ["FAILED"]


def test_nothing_is_reported_where_nothing_was_stored(shell: Shell) -> None:
    result = shell.tick("gate")

    assert str(result.skip_reason.skip_message if result.skip_reason else "") == "no new verdict"


def test_the_cursor_forgets_what_is_too_old_to_be_met_again() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    cursor = MirroredVerdicts({"old": now - timedelta(days=1), "new": now})

    assert json.loads(cursor.adding([]).write()).keys() == {"new"}


def test_candidates_wait_for_the_baseline(shell: Shell) -> None:
    result = shell.tick("candidates")

    assert result.run_requests == []
    assert set(shell.instance.get_dynamic_partitions("greetings_candidates")) == {"same", "worse"}


def test_each_candidate_is_requested_once_per_definition_and_never_promoted(shell: Shell) -> None:
    shell.measure_baseline()

    first, second = shell.tick("candidates"), shell.tick("candidates")

    requests = {str(request.partition_key): request for request in first.run_requests or []}
    assert requests.keys() == {"same", "worse"}
    assert [request.run_key for request in first.run_requests or []] == [
        request.run_key for request in second.run_requests or []
    ]
    assert requests["same"].asset_selection == keys.candidate_keys("greetings")
    assert keys.promotion("greetings") not in keys.candidate_keys("greetings")


def test_a_candidate_that_arrives_while_dagster_runs_gets_a_partition_and_a_run(shell: Shell) -> None:
    shell.measure_baseline()
    arriving = shell.workspace.suite.folder / "candidates"
    arriving.mkdir()
    arriving.joinpath("late.yaml").write_text('{kind: python, function: "greetings_targets:echo"}')

    result = shell.tick("candidates")

    assert "late" in {request.partition_key for request in result.run_requests or []}
    assert "late" in shell.instance.get_dynamic_partitions("greetings_candidates")


def test_a_measured_candidate_is_not_requested(shell: Shell) -> None:
    shell.measure_baseline()
    shell.judge("same")

    requested = [request.partition_key for request in shell.tick("candidates").run_requests or []]

    assert requested == ["worse"]
