from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval_assets import Report

Command = Callable[..., Any]


def test_the_whole_job(command: Command, project: Path) -> None:
    assert command("check", ".").code == 0
    assert command("run", ".", "old").code == 0
    assert command("run", ".", "same").code == 0

    gate = command("gate", ".", "same", "--json", "gate.json", "--markdown", "gate.md")
    promote = command("promote", ".", "same", "--reason", "as good and cheaper")

    assert gate.code == 0
    assert "Verdict: pass" in gate.out
    assert json.loads((project / "gate.json").read_text())["verdict"] == "pass"
    assert (project / "gate.md").read_text().startswith("### same against old in support\n\n**Verdict: pass**")
    assert promote.code == 0
    assert "promoted same in support" in promote.out


def test_a_regression_is_exit_code_1_and_is_not_promoted(command: Command, project: Path) -> None:
    command("run", ".", "old")
    command("run", ".", "worse")

    gate = command("gate", ".", "worse", "--json", "gate.json")
    promote = command("promote", ".", "worse", "--reason", "hope")

    assert gate.code == 1
    assert "contains_want went from 30/40 (75.0%) to 10/40 (25.0%)" in gate.out
    written = json.loads((project / "gate.json").read_text())
    assert (written["verdict"], written["metrics"][0]["direction"]) == ("regression", "regression")
    assert promote.code == 1
    assert "the verdict is regression" in promote.err


def test_an_unreachable_server_is_exit_code_3_and_says_what_to_do(command: Command) -> None:
    command("run", ".", "old")

    run = command("run", ".", "down")
    gate = command("gate", ".", "down")

    assert run.code == 3
    assert "40 of 40 runs got no answer" in run.err
    assert "127.0.0.1:9" in run.out
    assert gate.code == 3
    assert "Verdict: inconclusive" in gate.out


def test_report_writes_the_layout_that_reads_back(command: Command, project: Path) -> None:
    command("run", ".", "old")

    said = command("report", ".", "old", "--json", "report.json")

    assert said.code == 0
    assert "contains_want" in said.out
    report = Report.from_file(project / "report.json")
    assert report.overall["contains_want"].passes == 30
    assert set(report.by_tag) == {"even", "odd"}


def test_json_on_stdout_is_nothing_but_json(command: Command) -> None:
    command("run", ".", "old")
    command("run", ".", "same")

    said = command("compare", ".", "same", "--json", "-")

    assert json.loads(said.out)["verdict"] == "pass"


def test_compare_decides_as_gate_does_and_stores_nothing(command: Command) -> None:
    command("run", ".", "old")
    command("run", ".", "worse")

    compared = command("compare", ".", "worse")

    assert compared.code == 1
    assert command("promote", ".", "worse", "--reason", "x").err.count("has no verdict") == 1


def test_a_second_run_samples_again(command: Command) -> None:
    command("run", ".", "old")
    command("run", ".", "old")

    said = command("sql", "select count(distinct evaluation_id) as n from evaluations", "--json")

    assert json.loads(said.out) == [{"n": 2}]


def test_sql_answers_the_everyday_question_in_one_line(command: Command) -> None:
    command("run", ".", "old")

    said = command("sql", "select metric, passes, scored from latest_reports order by metric")

    assert ["contains_want", "30", "40"] in [line.split() for line in said.out.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("run", ".", "nobody"), 2, "there is no target 'nobody' (targets: old, same, worse, down)"),
        (("gate", ".", "nobody"), 2, "'nobody' is not a candidate (candidates: same, worse, down)"),
        (("gate", ".", "old"), 2, "'old' is not a candidate"),
        (("report", ".", "nobody"), 2, "there is no target 'nobody'"),
        (("report", ".", "old"), 3, "'old' has no report yet; measure it: eval-assets run"),
        (("gate", ".", "same"), 3, "'old' has no report yet; measure it: eval-assets run"),
        (("compare", ".", "same"), 3, "'old' has no report yet"),
        (("promote", ".", "same", "--reason", "x"), 1, "'old' has no report yet"),
        (("promote", ".", "same"), 2, "--reason"),
        (("promote", ".", "same", "--reason", " "), 2, "needs a reason"),
        (("run", "nowhere", "old"), 2, "nowhere"),
        (("run", ".", "old", "--json", "no/such/folder.json"), 2, "the folder no/such does not exist"),
        (("run", ".", "old", "--json", "."), 2, "is a folder"),
        (("gaet", ".", "same"), 2, "No such command 'gaet'"),
        (("sql", "select 1"), 3, "there is no store"),
        ((), 2, "Usage"),
    ],
)
def test_a_mistake_is_one_message_with_the_right_exit_code(
    command: Command, arguments: tuple[str, ...], code: int, says: str
) -> None:
    said = command(*arguments)

    assert said.code == code
    assert says in said.err
    assert "Traceback" not in said.err


def test_a_missing_key_is_found_before_anything_is_asked(
    command: Command, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SUPPORT_KEY", raising=False)
    suite = (project / "suite.yaml").read_text().replace("max_attempts: 1", "api_key_env: SUPPORT_KEY")
    (project / "suite.yaml").write_text(suite)

    said = command("run", ".", "down")

    assert said.code == 2
    assert "SUPPORT_KEY" in said.err
    assert not (project / ".eval_assets").exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace('"c3"', '"c33"'), "c33"),
        (lambda text: "".join(line for line in text.splitlines(keepends=True) if '"run": 2' not in line), "(has 3)"),
        (lambda text: text.replace('{"case": "c0", "run": 0', '{"case": "c0", "run": 1', 1), "c0"),
        (lambda text: text + "not json\n", "runs.jsonl:81"),
        (lambda text: "", "runs.jsonl"),
    ],
)
def test_recorded_runs_that_do_not_fit_are_named(
    command: Command, project: Path, change: Callable[[str], str], says: str
) -> None:
    (project / "runs.jsonl").write_text(change((project / "runs.jsonl").read_text()))

    said = command("run", ".", "old")

    assert said.code == 2
    assert says in said.err


def test_fewer_recorded_runs_than_asked_for_is_said(command: Command, project: Path) -> None:
    (project / "suite.yaml").write_text((project / "suite.yaml").read_text().replace("runs: 4", "runs: 5"))

    said = command("run", ".", "worse")

    assert said.code == 2
    assert "4" in said.err
    assert "5" in said.err


def test_a_report_of_an_earlier_definition_is_not_judged(command: Command, project: Path) -> None:
    """The prompt was changed after the run: what would be promoted was never measured."""
    command("run", ".", "old")
    command("run", ".", "same")
    command("gate", ".", "same")
    (project / "suite.yaml").write_text((project / "suite.yaml").read_text().replace("model: m-2", "model: m-9"))

    gate, promote = command("gate", ".", "same"), command("promote", ".", "same", "--reason", "x")

    assert (gate.code, promote.code) == (3, 1)
    assert "of an earlier definition" in gate.err
    assert "of an earlier definition" in promote.err


def test_a_verdict_on_older_reports_promotes_nothing(command: Command) -> None:
    command("run", ".", "old")
    command("run", ".", "same")
    command("gate", ".", "same")
    command("run", ".", "old")

    said = command("promote", ".", "same", "--reason", "x")

    assert said.code == 1
    assert "on older reports" in said.err


def test_a_verdict_under_another_policy_promotes_nothing(command: Command, project: Path) -> None:
    command("run", ".", "old")
    command("run", ".", "same")
    command("gate", ".", "same")
    suite = (project / "suite.yaml").read_text().replace("{test: pooled}", "{test: pooled, alpha: 0.2}")
    (project / "suite.yaml").write_text(suite)

    said = command("promote", ".", "same", "--reason", "x")

    assert said.code == 1
    assert "under another gate policy" in said.err


def test_a_metric_added_after_the_runs_blocks(command: Command, project: Path) -> None:
    command("run", ".", "old")
    command("run", ".", "same")
    suite = (project / "suite.yaml").read_text().replace("contains_want]", "contains_want, equals_want]")
    (project / "suite.yaml").write_text(suite)

    said = command("gate", ".", "same")

    assert said.code == 3
    assert "equals_want is inconclusive: missing from the old report" in said.out


def test_diff_is_the_gate_over_two_files(command: Command, project: Path) -> None:
    for target in ("old", "same", "worse"):
        command("run", ".", target, "--json", f"{target}.json")

    passed = command("diff", "old.json", "same.json")
    failed = command("diff", "old.json", "worse.json", "--test", "sign_flip", "--json", "diff.json")
    refused = command("diff", "old.json", "suite.yaml")

    assert (passed.code, failed.code, refused.code) == (0, 1, 2)
    assert json.loads((project / "diff.json").read_text())["extensions"]["test"] == "sign_flip"
    assert "suite.yaml is not JSON" in refused.err


def test_diff_refuses_settings_out_of_range(command: Command) -> None:
    command("run", ".", "old", "--json", "old.json")

    assert command("diff", "old.json", "old.json", "--alpha", "2").code == 2
    assert command("diff", "old.json", "old.json", "--test", "t").code == 2


def test_plan_says_what_a_drop_takes(command: Command) -> None:
    command("run", ".", "old")

    said = command("plan", ".", "--drop", "0.1")

    assert said.code == 0
    assert "to see a drop of 10 points, 80% of the time, at alpha 0.05" in said.out
    assert command("plan", ".", "--drop", "2").code == 2


def test_plan_needs_a_baseline(command: Command) -> None:
    assert command("plan", ".", "--drop", "0.1").code == 3


def test_version(command: Command) -> None:
    assert command("--version").out.startswith("eval-assets, version ")


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_gate_draws_the_comparison(command: Command, project: Path, ending: str) -> None:
    command("run", ".", "old")
    command("run", ".", "worse")

    gate = command("gate", ".", "worse", "--figure", f"gate.{ending}")

    assert gate.code == 1
    assert b"Verdict: regression. worse against old in support" in (project / f"gate.{ending}").read_bytes()


@pytest.mark.parametrize("name", ["gate.pdf", "gate", "-"])
def test_a_figure_of_another_kind_is_refused_before_any_work(command: Command, name: str) -> None:
    compare = command("compare", ".", "worse", "--figure", name)

    assert compare.code == 2
    assert "end it in .svg or .png" in compare.err
