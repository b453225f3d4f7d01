"""A run that was never answered says nothing of the model, unless the gate says that it fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from eval_assets import pipeline
from eval_assets.analysis import compare
from eval_assets.cli import main
from eval_assets.errors import NothingMeasured
from eval_assets.pipeline import Workspace

Measure = Callable[[Workspace, str], None]


@pytest.fixture
def measure_in() -> Measure:
    def run(workspace: Workspace, target: str) -> None:
        pipeline.execute_target(workspace, target)
        pipeline.score_target(workspace, target)
        pipeline.summarize_target(workspace, target)

    return run


@pytest.fixture
def half_answered(workspace: Workspace) -> Path:
    """Of the candidate's five runs of each case, two pass and three got no answer; the baseline is as it was."""
    folder = workspace.suite.folder
    runs = [json.loads(line) for line in (folder / "new.jsonl").read_text().splitlines()]
    for run in runs:
        run["final"] = run["case"]
        if run["run"] >= 2:
            run |= {"final": None, "error": "HTTP 429", "unavailable": True}
    (folder / "new.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))
    suite = (folder / "suite.yaml").read_text()
    (folder / "suite.yaml").write_text(
        suite.replace("[no_error, contains_want]", "[no_error, available, contains_want]")
    )
    return folder


def under(folder: Path, gate: str) -> Workspace:
    suite = (folder / "suite.yaml").read_text()
    (folder / "suite.yaml").write_text(suite.partition("gate:")[0] + f"gate: {gate}\n")
    return pipeline.open_workspace(folder, home=folder / "home")


def test_unanswered_runs_are_unscored_and_the_gate_is_inconclusive(half_answered: Path, measure_in: Measure) -> None:
    workspace = under(half_answered, "{test: pooled, metrics: [no_error, contains_want]}")
    for target in ("old", "new"):
        measure_in(workspace, target)

    report = pipeline.latest_report(workspace, "new").report
    compared = pipeline.compare_candidate(workspace, "new")

    stat = report.overall["contains_want"]
    assert (stat.passes, stat.scored, stat.unscored) == (20, 20, 30)
    assert (report.overall["available"].passes, report.overall["available"].scored) == (20, 50)
    assert report.extensions["unavailable"] == {"HTTP 429": 30}
    assert "unavailable_as" not in report.extensions
    assert compared.verdict.outcome == "inconclusive"


def test_the_gate_may_say_that_they_fail(half_answered: Path, measure_in: Measure) -> None:
    """As if each had ended in an error of the target's own; that they were unanswered is still told."""
    workspace = under(half_answered, "{test: pooled, unavailable: fail}")
    for target in ("old", "new"):
        measure_in(workspace, target)

    report = pipeline.latest_report(workspace, "new").report
    compared = pipeline.compare_candidate(workspace, "new")

    counts = {name: (stat.passes, stat.scored, stat.unscored) for name, stat in report.overall.items()}
    assert counts == {"no_error": (20, 50, 0), "available": (20, 50, 0), "contains_want": (20, 50, 0)}
    assert report.extensions["unavailable"] == {"HTTP 429": 30}
    assert report.extensions["unavailable_as"] == "fail"
    assert compared.verdict.outcome == "regression"


def test_reports_that_were_scored_differently_are_not_compared(half_answered: Path, measure_in: Measure) -> None:
    measure_in(under(half_answered, "{test: pooled}"), "old")
    workspace = under(half_answered, "{test: pooled, unavailable: fail}")
    measure_in(workspace, "new")
    old, new = (pipeline.latest_report(workspace, target).report for target in ("old", "new"))

    found = compare.compare(old, new)

    assert {metric.direction for metric in found.metrics} == {"inconclusive"}
    assert "unanswered runs were scored differently (`unavailable`: old unscored, new fail)" in found.metrics[0].note
    with pytest.raises(NothingMeasured, match="was scored with `unavailable: unscored`, the gate now says `fail`"):
        pipeline.compare_candidate(workspace, "new")


def test_a_policy_of_any_other_word_is_refused(half_answered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = (half_answered / "suite.yaml").read_text()
    (half_answered / "suite.yaml").write_text(suite.partition("gate:")[0] + "gate: {unavailable: ignore}\n")

    assert main.run(["check", str(half_answered)]) == 2

    assert "unavailable" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("gate", "code", "word"), [("unscored", 3, "error: 30 of 50"), ("fail", 0, "warning: 30 of 50")]
)
def test_the_command_says_what_became_of_them(
    half_answered: Path, gate: str, code: int, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    under(half_answered, f"{{test: pooled, unavailable: {gate}}}")

    assert main.run(["run", str(half_answered), "new"]) == code

    assert word in capsys.readouterr().err
