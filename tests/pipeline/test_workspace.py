from __future__ import annotations

from pathlib import Path

from eval_assets import pipeline


def test_home_is_beside_the_nearest_dagster_yaml(tmp_path: Path) -> None:
    suite = tmp_path / "project" / "suites" / "a"
    suite.mkdir(parents=True)
    (tmp_path / "project" / "dagster.yaml").touch()

    assert pipeline.home_for(suite, environment={}) == tmp_path / "project" / ".eval_assets"


def test_home_is_beside_the_suite_where_there_is_no_project(tmp_path: Path) -> None:
    assert pipeline.home_for(tmp_path, environment={}) == tmp_path / ".eval_assets"


def test_home_is_where_the_variable_points(tmp_path: Path) -> None:
    found = pipeline.home_for(Path("/anywhere"), environment={"EVAL_ASSETS_HOME": str(tmp_path / "home")})

    assert found == tmp_path / "home"


def test_an_instance_takes_the_project_s_settings(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text("nux: {enabled: false}\n")

    folder = pipeline.instance_folder(tmp_path, tmp_path / ".eval_assets")

    assert (folder / "dagster.yaml").read_text() == "nux: {enabled: false}\n"


def test_an_instance_without_a_project_sends_no_usage_statistics(tmp_path: Path) -> None:
    folder = pipeline.instance_folder(tmp_path / "elsewhere", tmp_path / "home")

    assert "telemetry:\n  enabled: false" in (folder / "dagster.yaml").read_text()
