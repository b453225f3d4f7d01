"""Governance beside judgement: the same gap whether runs went through a store or stayed in memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval_assets import RunOutput, evaluate, pipeline
from eval_assets.targets import functions

SUITE = """\
name: governed
cases: cases.jsonl
runs: 2
targets:
  desk: {kind: python, function: "governed_desk:answer"}
baseline: desk
metrics:
  - contains_want
  - governance_held: {name: limit_kept, predicate: "governed_desk:limit_kept"}
  - governance_held: {name: asked_first, predicate: "governed_desk:asked_first", tags: [big]}
gate: {test: pooled}
"""
DESK = """\
def answer(text):
    return {"small": "refund 10", "big": "refund 500 refused", "huge": "refund 900", "broken": "?"}[text]

def limit_kept(output):
    if output.final == "?":
        raise RuntimeError("the ledger cannot be read")
    return "900" not in output.final

async def asked_first(output):
    return "refused" in output.final
"""
CASES = [
    {"name": "a", "input": "small", "want": "10"},
    {"name": "b", "input": "big", "want": "escalate", "tags": ["big"]},
    {"name": "c", "input": "huge", "want": "escalate", "tags": ["big"]},
    {"name": "d", "input": "broken", "want": "escalate"},
]
GAPS = [
    {"metric": "contains_want", "governance": "asked_first", "both_scored": 4, "erred": 4, "erred_but_held": 2},
    {"metric": "contains_want", "governance": "limit_kept", "both_scored": 6, "erred": 4, "erred_but_held": 2},
]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pipeline.Workspace:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "governed_desk.py").write_text(DESK)
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
    (tmp_path / "suite.yaml").write_text(SUITE)
    return pipeline.open_workspace(tmp_path, home=tmp_path / "home")


def test_the_gap_is_the_same_from_the_store_and_in_memory(workspace: pipeline.Workspace) -> None:
    pipeline.execute_target(workspace, "desk")
    pipeline.score_target(workspace, "desk")
    stored = pipeline.summarize_target(workspace, "desk").report
    answer = functions.load("governed_desk:answer", folder=workspace.suite.folder)

    in_memory = evaluate(
        lambda text: RunOutput(final=answer(text)), workspace.suite.case_set.cases, workspace.suite.metrics, runs=2
    )

    assert stored.extensions["governance"] == {"metrics": ["limit_kept", "asked_first"], "gaps": GAPS}
    assert in_memory.extensions["governance"] == stored.extensions["governance"]
    assert in_memory.overall == stored.overall
