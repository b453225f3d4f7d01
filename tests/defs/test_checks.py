"""The checks beside the gate: they say what is wrong and stop nothing."""

from __future__ import annotations

import json
import re

import dagster as dg

from tests.defs.conftest import Shell


def checks_of(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
    return {evaluation.check_name: evaluation for evaluation in result.get_asset_check_evaluations()}


def test_a_whole_measurement_passes_every_check(shell: Shell) -> None:
    checks = checks_of(shell.measure_baseline())

    assert {name: check.passed for name, check in checks.items()} == {
        "case_set_valid": True,
        "complete": True,
        "baseline_drift": True,
    }


def test_runs_without_an_answer_are_incomplete_and_do_not_stop_the_report(shell: Shell) -> None:
    recorded = shell.workspace.suite.folder / "recorded.jsonl"
    unanswered = {"run": 0, "final": None, "error": "HTTP 503", "unavailable": True}
    lines = [json.dumps({"case": case.name, **unanswered}) for case in shell.workspace.suite.case_set.cases]
    recorded.write_text("\n".join(lines))
    edit(shell, "runs: 10", "runs: 1")
    edit(shell, "same: {kind: python.*}", "same: {kind: recorded, path: recorded.jsonl, runs: [0]}")

    result = shell.materialize(
        "case_set", "candidate_outputs", "candidate_scores", "candidate_report", candidate="same"
    )

    complete = checks_of(result)["complete"]
    assert result.success
    assert not complete.passed
    assert complete.partition == "same"
    assert complete.description == "0 of 3 runs got an answer"


def test_a_baseline_that_moved_by_itself_is_drift_and_stops_nothing(shell: Shell) -> None:
    edit(shell, 'greetings_targets:echo"', 'greetings_drifting:answer"')
    source = (
        "from pathlib import Path\n"
        "def answer(text): return Path(__file__).with_suffix('.txt').read_text().replace('TEXT', text)\n"
    )
    shell.workspace.suite.folder.joinpath("greetings_drifting.py").write_text(source)
    answers = shell.workspace.suite.folder / "greetings_drifting.txt"

    answers.write_text("TEXT")
    first = shell.measure_baseline()
    answers.write_text("...")
    second = shell.measure_baseline()

    assert checks_of(first)["baseline_drift"].passed
    assert second.success
    assert not checks_of(second)["baseline_drift"].passed
    assert "contains_want" in str(checks_of(second)["baseline_drift"].description)


def test_a_baseline_described_otherwise_has_not_drifted(shell: Shell) -> None:
    shell.measure_baseline()
    edit(shell, 'greetings_targets:echo"', 'greetings_targets:silent"')

    result = shell.measure_baseline()

    assert checks_of(result)["baseline_drift"].passed


def edit(shell: Shell, pattern: str, replacement: str) -> None:
    """Change the suite's file, as a person would between two runs."""
    path = shell.workspace.suite.path
    path.write_text(re.sub(pattern, lambda _: replacement, path.read_text()))
