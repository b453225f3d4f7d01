"""The store counts copies in SQL, an evaluation without a store in Python: both the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval_assets import pipeline
from eval_assets.analysis import tally
from eval_assets.model.scores import ScoreRow

TEXTS = ["short", "other", "L" * 250, "L" * 250 + "!"]
CASES = ["a", "b", "c"]
RUNS = 9


def recorded(case: str, run: int) -> dict[str, object]:
    place = CASES.index(case) * RUNS + run
    output: dict[str, object] = {"case": case, "run": run, "final": TEXTS[(place * 7) % 4]}
    if place % 3 == 0:
        output["response_id"] = f"reply-{place % 2}"
    if place % 4 == 1:
        output["served_by"] = f"entry-{place % 3}"
    return output | {"scores": {"m": None if place % 11 == 0 else place % 2 == 0}}


@pytest.mark.parametrize("temperature", [0, 0.7, None])
def test_both_count_alike(tmp_path: Path, temperature: float | None) -> None:
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps({"name": c, "input": c}) + "\n" for c in CASES))
    lines = [json.dumps(recorded(case, run)) for case in CASES for run in range(RUNS)]
    (tmp_path / "runs.jsonl").write_text("\n".join(lines))
    known = "" if temperature is None else f", temperature: {temperature}"
    (tmp_path / "suite.yaml").write_text(
        f"name: s\ncases: cases.jsonl\nruns: {RUNS}\nbaseline: t\nmetrics: [{{recorded: m}}]\n"
        f"targets: {{t: {{kind: recorded, path: runs.jsonl{known}}}}}\n"
    )
    workspace = pipeline.open_workspace(tmp_path, home=tmp_path / "home")
    evaluation = pipeline.execute_target(workspace, "t")
    scoring = pipeline.score_target(workspace, "t")

    in_sql = workspace.store.case_counts(scoring.scoring_id)

    runs = [run for batch in workspace.store.runs(evaluation.evaluation_id) for run in batch]
    rows = [ScoreRow(run.case_hash, run.run_index, "recorded:m", run.output.scores["m"], None) for run in runs]
    in_python = tally.case_counts(rows, runs, temperature=temperature)
    assert sorted(in_sql) == sorted(in_python)
    assert any(count.copied for count in in_sql)
