"""A process that is killed in the middle of a load leaves all of it or nothing of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from eval_assets.model.cases import CaseSet
from eval_assets.store.store import Store
from tests.store.made import answered, journal_lines, made_evaluation, made_runs, write_journal

LOAD = """
import sys
from pathlib import Path
from eval_assets.model.runs import Evaluation
from eval_assets.store.store import Store

store, evaluation = Store(Path(sys.argv[1])), Evaluation.model_validate_json(sys.argv[3])
store.has_evaluation('import duckdb')
print('loading', flush=True)
store.append_evaluation(evaluation, Path(sys.argv[2]))
print('loaded', flush=True)
"""


@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.1, 0.15, 0.25])
def test_a_killed_load_leaves_all_or_nothing(store: Store, case_set: CaseSet, tmp_path: Path, after_s: float) -> None:
    evaluation = made_evaluation(case_set, runs_per_case=1500)
    runs = made_runs(evaluation, case_set, answered)
    journal = write_journal(tmp_path / "j.jsonl", journal_lines(evaluation, runs))
    store.append_case_set("support", case_set)
    arguments = [sys.executable, "-c", LOAD, str(store.path), str(journal), evaluation.model_dump_json()]

    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "loading\n"
        try:
            process.wait(timeout=after_s)
        except subprocess.TimeoutExpired:
            process.kill()

    whole = store.has_evaluation(evaluation.evaluation_id)
    assert store.select("select count(*) from run_outputs")[1] == [(4500 if whole else 0,)]
    store.append_evaluation(evaluation, journal)
    assert store.select("select count(*) from run_outputs")[1] == [(4500,)]


DIE_BEFORE_COMMIT = """
import os, signal, sys
from pathlib import Path
from eval_assets.model.runs import Evaluation
from eval_assets.store import connection, evaluations, loading

evaluation, journal = Evaluation.model_validate_json(sys.argv[3]), Path(sys.argv[2])
with loading.readable(journal) as lines, connection.writing(Path(sys.argv[1]), wait_s=10) as door:
    evaluations.append(door, evaluation, journal, lines)
    print(door.execute('select count(*) from run_outputs').fetchone()[0], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_load_that_dies_just_before_its_commit_leaves_nothing(
    store: Store, case_set: CaseSet, tmp_path: Path
) -> None:
    evaluation = made_evaluation(case_set, runs_per_case=1500)
    journal = write_journal(tmp_path / "j.jsonl", journal_lines(evaluation, made_runs(evaluation, case_set, answered)))
    store.append_case_set("support", case_set)
    arguments = [sys.executable, "-c", DIE_BEFORE_COMMIT, str(store.path), str(journal), evaluation.model_dump_json()]

    died = subprocess.run(arguments, capture_output=True, text=True, check=False)

    assert (died.returncode, died.stdout) == (-9, "4500\n")
    assert not store.has_evaluation(evaluation.evaluation_id)
    assert store.select("select count(*) from run_outputs")[1] == [(0,)]
