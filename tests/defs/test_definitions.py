"""What a code location holds: the suites it finds, the names INTERFACE promises, and suites that cannot be read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import dagster as dg
import pytest

from eval_assets.defs import suites
from eval_assets.errors import ConfigError
from tests.defs.conftest import SUITE, TARGETS, Shell, load_definitions

ROOT = Path(__file__).resolve().parents[2]


def another_suite(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    folder.joinpath("greetings_targets.py").write_text(TARGETS)
    folder.joinpath("suite.yaml").write_text(text)
    return folder / "suite.yaml"


def test_a_suite_has_the_promised_assets_checks_sensors_and_schedule(shell: Shell) -> None:
    repository = shell.defs.get_repository_def()
    graph = repository.asset_graph

    assert {key.to_user_string() for key in graph.get_all_asset_keys()} == {
        f"greetings/{asset}"
        for asset in (
            "case_set", "baseline_outputs", "baseline_scores", "baseline_report", "candidate_outputs",
            "candidate_scores", "candidate_report", "comparison", "promotion",
        )
    }  # fmt: skip
    assert {key.to_user_string() for key in graph.asset_check_keys} == {
        "greetings/case_set:case_set_valid",
        "greetings/baseline_outputs:complete",
        "greetings/candidate_outputs:complete",
        "greetings/baseline_report:baseline_drift",
        "greetings/comparison:gate",
    }
    assert {sensor.name for sensor in repository.sensor_defs} == {"greetings_gate", "greetings_candidates"}
    assert {schedule.name for schedule in repository.schedule_defs} == {"greetings_baseline_refresh"}


def test_only_candidate_assets_are_partitioned(shell: Shell) -> None:
    graph = shell.defs.get_repository_def().asset_graph

    partitioned = {key.path[-1] for key in graph.get_all_asset_keys() if graph.get(key).is_partitioned}

    assert partitioned == {"candidate_outputs", "candidate_scores", "candidate_report", "comparison", "promotion"}
    assert {graph.get(key).group_name for key in graph.get_all_asset_keys()} == {"greetings"}


def test_both_sensors_run_from_the_start(shell: Shell) -> None:
    sensors = shell.defs.get_repository_def().sensor_defs

    assert {sensor.default_status for sensor in sensors} == {dg.DefaultSensorStatus.RUNNING}


@pytest.mark.parametrize(
    ("refresh", "status", "cron"),
    [
        ("", dg.DefaultScheduleStatus.STOPPED, "0 3 * * *"),
        ('refresh: {cron: "30 5 * * 1", timezone: Europe/Berlin}', dg.DefaultScheduleStatus.RUNNING, "30 5 * * 1"),
    ],
)
def test_the_baseline_is_refreshed_only_where_the_suite_says_when(
    suite_file: Path, refresh: str, status: dg.DefaultScheduleStatus, cron: str
) -> None:
    suite_file.write_text(SUITE + refresh)

    [schedule] = load_definitions().get_repository_def().schedule_defs

    assert schedule.default_status == status
    assert schedule.cron_schedule == cron


def test_several_suites_share_a_code_location(
    suite_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = another_suite(tmp_path / "other", SUITE.replace("greetings", "farewells", 1))
    monkeypatch.setenv("EVAL_ASSETS_SUITES", os.pathsep.join([str(suite_file), str(other)]))

    repository = load_definitions().get_repository_def()

    assert {key.path[0] for key in repository.asset_graph.get_all_asset_keys()} == {"greetings", "farewells"}


@pytest.mark.parametrize(("text", "problem"), [(SUITE, "already that of"), (SUITE.replace("prod:", "old:"), "prod")])
def test_a_broken_suite_says_why_in_the_graph_and_leaves_the_others_working(
    suite_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, problem: str
) -> None:
    other = another_suite(tmp_path / "other", text)
    monkeypatch.setenv("EVAL_ASSETS_SUITES", os.pathsep.join([str(suite_file), str(other)]))

    graph = load_definitions().get_repository_def().asset_graph

    [broken] = [key for key in graph.get_all_asset_keys() if key.path[0] == "broken_suites"]
    assert problem in str(graph.get(broken).description)
    assert dg.AssetKey(["greetings", "comparison"]) in graph.get_all_asset_keys()


def test_where_no_suite_can_be_loaded_every_problem_of_every_file_is_told(tmp_path: Path) -> None:
    files = [another_suite(tmp_path / name, f"name: {name}\nrnus: 2\n") for name in ("one", "two")]

    with pytest.raises(ConfigError) as caught:
        suites.load_suites(files)

    assert {problem.file for problem in caught.value.problems} >= set(files)


def test_suites_are_those_named_else_those_of_the_folder_else_the_demo(tmp_path: Path) -> None:
    named = {"EVAL_ASSETS_SUITES": os.pathsep.join(["a/suite.yaml", "b"])}

    assert suites.suite_files(tmp_path, environment=named) == [Path("a/suite.yaml"), Path("b")]
    assert [file.parent.name for file in suites.suite_files(tmp_path, environment={})] == ["demo"]
    own = another_suite(tmp_path / "suites" / "own", SUITE)
    assert suites.suite_files(tmp_path, environment={}) == [own]


def test_the_projects_instance_sends_nothing_home(tmp_path: Path) -> None:
    shutil.copy(ROOT / "dagster.yaml", tmp_path)

    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert not instance.telemetry_enabled
        assert not instance.nux_enabled
