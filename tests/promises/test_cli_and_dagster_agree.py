"""The same verdict, numbers and hash, whether the command line or Dagster asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from eval_assets.cli import main
from eval_assets.defs import assets, checks, keys, partitions, resources
from eval_assets.suite import load_suite

SUITE = """\
name: recorded
cases: cases.jsonl
runs: 6
targets:
  old: {kind: recorded, path: old.jsonl, model: m-1}
  same: {kind: recorded, path: same.jsonl, model: m-2}
  worse: {kind: recorded, path: worse.jsonl, model: m-3}
  cut: {kind: recorded, path: cut.jsonl, model: m-4}
baseline: old
candidates: [same, worse, cut]
metrics: [no_error, contains_want, max_steps: 3]
gate: {test: pooled}
"""
RIGHT = {"old": 5, "same": 5, "worse": 2, "cut": 5}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    names = [f"c{number}" for number in range(12)]
    lines = [json.dumps({"name": name, "input": name, "want": name}) for name in names]
    (tmp_path / "cases.jsonl").write_text("\n".join(lines))
    for target, right in RIGHT.items():
        runs = [
            {"case": n, "run": r, "final": n if r < right else "no", "latency_s": 0.1 + r}
            for n in names
            for r in range(6)
        ]
        if target == "cut":
            runs[0] |= {"error": "HTTP 503", "unavailable": True}
        (tmp_path / f"{target}.jsonl").write_text("\n".join(json.dumps(run) for run in runs))
    (tmp_path / "suite.yaml").write_text(SUITE)
    return tmp_path


def by_command_line(project: Path, candidate: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, Any]:
    monkeypatch.setenv("EVAL_ASSETS_HOME", str(home))
    for target in ("old", candidate):
        main.run(["run", str(project), target])
    code = main.run(["gate", str(project), candidate, "--json", str(home / "gate.json")])
    return code, json.loads((home / "gate.json").read_text())


def by_dagster(project: Path, candidate: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[bool, Any]:
    monkeypatch.setenv("EVAL_ASSETS_HOME", str(home))
    suite = load_suite(project)
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(partitions.candidates_of(suite.name).name or "", [candidate])
        definitions = [*assets.build_assets(suite), *checks.build_checks(suite.name)]
        given = {resources.key(suite.name): resources.WorkspaceResource(suite_file=str(suite.path))}
        baseline = [keys.case_set(suite.name), *(keys.baseline(suite.name, step) for step in keys.STEPS)]
        for selection, partition in ((baseline, None), (keys.candidate_keys(suite.name), candidate)):
            result = dg.materialize(
                definitions,
                selection=dg.AssetSelection.assets(*selection),
                partition_key=partition,
                instance=instance,
                resources=given,
                raise_on_error=False,
            )
        (gate,) = (found for found in result.get_asset_check_evaluations() if found.check_name == "gate")
    code = main.run(["compare", str(project), candidate, "--json", str(home / "compare.json")])
    assert code == {"pass": 0, "regression": 1, "inconclusive": 3}[str(gate.metadata["verdict"].value)]
    return gate.passed, json.loads((home / "compare.json").read_text())


@pytest.mark.parametrize(
    ("candidate", "verdict", "code"), [("same", "pass", 0), ("worse", "regression", 1), ("cut", "inconclusive", 3)]
)
def test_both_give_the_same_verdict_and_numbers(
    project: Path, monkeypatch: pytest.MonkeyPatch, candidate: str, verdict: str, code: int
) -> None:
    for home in ("cli", "dagster"):
        (project / home).mkdir()

    exit_code, command_line = by_command_line(project, candidate, project / "cli", monkeypatch)
    passed, dagster = by_dagster(project, candidate, project / "dagster", monkeypatch)

    assert (exit_code, command_line["verdict"]) == (code, verdict)
    assert passed == (verdict == "pass")
    assert dagster["verdict"] == command_line["verdict"]
    assert dagster["reasons"] == command_line["reasons"]
    assert dagster["metrics"] == command_line["metrics"]
    for side in ("old", "new"):
        ours, theirs = dagster["extensions"][side], command_line["extensions"][side]
        assert ours["case_set_hash"] == theirs["case_set_hash"] != ""
        assert ours["model_id"] == theirs["model_id"]


def test_a_verdict_of_either_is_one_the_other_promotes_on(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = project / "home"
    home.mkdir()
    by_dagster(project, "same", home, monkeypatch)

    assert main.run(["promote", str(project), "same", "--reason", "decided in Dagster"]) == 0
