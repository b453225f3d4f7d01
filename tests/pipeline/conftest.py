"""A suite of recorded runs in a workspace of its own; what is recorded can be changed between evaluations."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from eval_assets import pipeline
from eval_assets.pipeline import Workspace

SUITE = """\
name: recorded
cases: cases.jsonl
runs: 5
targets:
  old: {kind: recorded, path: old.jsonl, model: m-1}
  new: {kind: recorded, path: new.jsonl, model: m-2}
baseline: old
candidates: [new]
metrics: [no_error, contains_want]
gate: {test: pooled}
"""
CASES = [f"c{number}" for number in range(10)]


@pytest.fixture
def record(tmp_path: Path) -> Callable[[str, int], None]:
    """Record five runs of each case for a target, of which so many are right."""

    def write(target: str, right: int) -> None:
        runs = [
            {"case": case, "run": run, "final": case if run < right else "no"} for case in CASES for run in range(5)
        ]
        (tmp_path / f"{target}.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))

    return write


@pytest.fixture
def workspace(tmp_path: Path, record: Callable[[str, int], None]) -> Workspace:
    """A workspace in which nothing was measured yet; both targets are right four times in five."""
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps({"name": c, "input": c, "want": c}) + "\n" for c in CASES))
    (tmp_path / "suite.yaml").write_text(SUITE)
    for target in ("old", "new"):
        record(target, 4)
    return pipeline.open_workspace(tmp_path, home=tmp_path / "home")


@pytest.fixture
def measure(workspace: Workspace) -> Callable[[str], None]:
    """Execute, score and summarize a target."""

    def run(target: str) -> None:
        pipeline.execute_target(workspace, target)
        pipeline.score_target(workspace, target)
        pipeline.summarize_target(workspace, target)

    return run
