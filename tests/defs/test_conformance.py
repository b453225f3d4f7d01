from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from eval_assets import pipeline
from eval_assets.defs import keys
from tests.defs.conftest import Shell, load_definitions

CONFORMANCE = """
conformance: fit.jsonl
"""
CASES = '{"name": "fit", "input": "ping", "expect": {"contains": ["ping"]}}\n'
MEASURED = ("baseline_outputs", "baseline_scores", "baseline_report")


@pytest.fixture
def strict(suite_file: Path) -> Iterator[Shell]:
    """The greetings suite, asking for conformance: `worse` never says what it was told."""
    suite_file.write_text(suite_file.read_text() + CONFORMANCE)
    (suite_file.parent / "fit.jsonl").write_text(CASES)
    with dg.DagsterInstance.ephemeral() as instance:
        yield Shell(instance, pipeline.open_workspace(suite_file), load_definitions())


def materialized(result: dg.ExecuteInProcessResult) -> set[str]:
    return {event.asset_key.path[-1] for event in result.get_asset_materialization_events() if event.asset_key}


def selections(result: dg.SensorResult) -> dict[str | None, Any]:
    return {request.partition_key: request.asset_selection for request in result.run_requests or []}


def run_keys(result: dg.SensorResult) -> dict[str | None, str | None]:
    return {request.partition_key: request.run_key for request in result.run_requests or []}


def check_of(result: dg.ExecuteInProcessResult) -> Any:
    return next(check for check in result.get_asset_check_evaluations() if check.check_name == "certified")


def test_only_a_suite_that_asks_for_it_has_the_asset(shell: Shell) -> None:
    asked = shell.defs.resolve_asset_graph().get_all_asset_keys()

    assert keys.conformance("greetings") not in asked


def test_both_outputs_come_after_it(strict: Shell) -> None:
    graph = strict.defs.resolve_asset_graph()

    for outputs in (keys.baseline("greetings", "outputs"), keys.candidate("greetings", "outputs")):
        assert keys.conformance("greetings") in graph.get(outputs).parent_keys


def test_a_fit_target_goes_on(strict: Shell) -> None:
    result = strict.materialize("conformance", "case_set", *MEASURED, candidate="prod")

    assert result.success
    assert materialized(result) == {"conformance", "case_set", *MEASURED}
    assert check_of(result).passed


def test_an_unfit_candidate_is_stopped_before_it_costs_anything(strict: Shell) -> None:
    certified = strict.materialize("conformance", candidate="worse")
    result = strict.materialize("candidate_outputs", candidate="worse")

    assert not certified.success
    assert not check_of(certified).passed
    assert "fit: " in str(check_of(certified).description)
    assert not result.success
    assert strict.workspace.store.latest_evaluation("greetings", "worse") is None


def test_an_unfit_baseline_is_stopped_in_its_own_run(strict: Shell) -> None:
    (strict.workspace.suite.folder / "fit.jsonl").write_text(CASES.replace('["ping"]', '["pong"]'))

    result = strict.materialize("conformance", "case_set", *MEASURED, candidate="prod")

    assert not result.success
    assert materialized(result) == {"case_set", "conformance"}
    assert strict.workspace.store.latest_evaluation("greetings", "prod") is None


def test_outputs_alone_are_refused_without_a_certification(strict: Shell) -> None:
    result = strict.materialize("case_set", "baseline_outputs")

    [failure] = [event for event in result.all_events if event.is_step_failure]
    assert "never certified" in str(failure.step_failure_data.user_failure_data)


def test_a_certification_of_an_earlier_run_counts(strict: Shell) -> None:
    strict.materialize("conformance", candidate="prod")

    assert strict.materialize("case_set", "baseline_outputs").success


def test_the_metadata_can_be_plotted(strict: Shell) -> None:
    result = strict.materialize("conformance", candidate="prod")

    [event] = result.get_asset_materialization_events()
    plotted = {name: value.value for name, value in event.materialization.metadata.items()}
    assert plotted["score"] == 1.0
    assert {name: plotted[name] for name in plotted if name.startswith("tool_call_")} == {
        "tool_call_precision": 1.0,
        "tool_call_recall": 1.0,
        "tool_call_f1": 1.0,
    }
    assert plotted["failures"] == []


def test_the_candidates_sensor_certifies_first(strict: Shell) -> None:
    strict.materialize("conformance", "case_set", *MEASURED, candidate="prod")

    result = strict.tick("candidates")

    assert selections(result) == {name: [keys.conformance("greetings")] for name in ("same", "worse")}
    assert set(strict.instance.get_dynamic_partitions("greetings_targets")) == {"prod", "same", "worse"}


def test_a_certified_candidate_is_measured_and_an_unfit_one_is_not_asked_again(strict: Shell) -> None:
    strict.materialize("conformance", "case_set", *MEASURED, candidate="prod")
    first = strict.tick("candidates")
    for candidate in ("same", "worse"):
        strict.materialize("conformance", candidate=candidate)

    second = strict.tick("candidates")

    assert selections(second)["same"] == keys.candidate_keys("greetings")
    assert run_keys(second)["worse"] == run_keys(first)["worse"]
    assert run_keys(second)["same"] != run_keys(first)["same"]


def test_the_refresh_names_the_baselines_partition(strict: Shell, tmp_path: Path) -> None:
    schedule = strict.defs.resolve_schedule_def("greetings_baseline_refresh")

    with (
        dg.DagsterInstance.local_temp(str(tmp_path)) as instance,
        dg.build_schedule_context(instance=instance, repository_def=strict.defs.get_repository_def()) as context,
    ):
        [request] = schedule.evaluate_tick(context).run_requests or []
        known = instance.get_dynamic_partitions("greetings_targets")

    assert request.partition_key == "prod"
    assert known == ["prod"]
