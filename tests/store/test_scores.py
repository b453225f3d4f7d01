"""Scores shrink to counts per case in SQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from eval_assets.errors import NothingMeasured
from eval_assets.model.cases import CaseSet
from eval_assets.model.runs import Evaluation
from eval_assets.model.scores import CaseCount, GovernanceGap, ScoreRow, ScoringTerms
from eval_assets.store.store import Store
from tests.store.made import START, answered, journal_lines, made_runs, write_journal

ROWS = [
    ScoreRow("b", 0, "no_error", True, None),
    ScoreRow("b", 1, "no_error", False, "said \ud83d ünï"),
    ScoreRow("b", 2, "no_error", None, "judge raised"),
    ScoreRow("a", 0, "no_error", None, "judge raised"),
    ScoreRow("a", 0, "contains:x", True, None),
]


@pytest.fixture
def kept(store: Store, evaluation: Evaluation, case_set: CaseSet, tmp_path: Path) -> Store:
    runs = made_runs(evaluation, case_set, answered)
    store.append_case_set("support", case_set)
    store.append_evaluation(evaluation, write_journal(tmp_path / "j.jsonl", journal_lines(evaluation, runs)))
    return store


def test_counts_tell_unscored_from_failed(kept: Store, evaluation: Evaluation) -> None:
    kept.append_scores(evaluation.evaluation_id, "s1", ["no_error", "contains:x"], ROWS, START)

    assert kept.case_counts("s1") == [
        CaseCount("a", "contains:x", passes=1, scored=1, unscored=0),
        CaseCount("a", "no_error", passes=0, scored=0, unscored=1),
        CaseCount("b", "no_error", passes=1, scored=2, unscored=1),
    ]
    assert kept.select("select reason from scores where passed = false")[1] == [("said \ufffd ünï",)]


def test_scoring_again_replaces_nothing_and_the_latest_is_read(kept: Store, evaluation: Evaluation) -> None:
    kept.append_scores(evaluation.evaluation_id, "s2", ["no_error"], ROWS[:1], START + timedelta(seconds=1))
    kept.append_scores(evaluation.evaluation_id, "s1", ["no_error"], ROWS, START)
    kept.append_scores(evaluation.evaluation_id, "s1", ["no_error"], ROWS, START)

    assert kept.latest_scoring(evaluation.evaluation_id) == "s2"
    assert kept.select("select count(*) from scores")[1] == [(6,)]
    assert kept.select("select count(*) from latest_scores")[1] == [(1,)]


def test_rows_may_come_from_the_store_itself(kept: Store, evaluation: Evaluation) -> None:
    def rows() -> Iterator[ScoreRow]:
        for batch in kept.runs(evaluation.evaluation_id, batch=2):
            yield from (ScoreRow(run.case_hash, run.run_index, "no_error", True, None) for run in batch)

    kept.append_scores(evaluation.evaluation_id, "s1", ["no_error"], rows(), START)

    assert [count.passes for count in kept.case_counts("s1")] == [2, 2, 2]


def test_no_scores_are_a_scoring_too(kept: Store, evaluation: Evaluation) -> None:
    kept.append_scores(evaluation.evaluation_id, "s1", ["no_error"], [], START)

    assert kept.case_counts("s1") == []


def test_scores_of_what_was_never_stored_are_nothing_measured(kept: Store, path: Path) -> None:
    with pytest.raises(NothingMeasured, match="no evaluation none"):
        kept.append_scores("none", "s1", [], ROWS, START)
    with pytest.raises(NothingMeasured, match="no scoring s1"):
        kept.case_counts("s1")

    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_detail_is_kept_as_json(kept: Store, evaluation: Evaluation) -> None:
    rows = [
        ScoreRow("a", 0, "polite", False, "the judge replied 'no'", {"reply": 'n\ud83d\0"o', "model": "m"}),
        ScoreRow("b", 0, "polite", True, None),
    ]

    kept.append_scores(evaluation.evaluation_id, "s1", ["polite"], rows, START)

    _, found = kept.select("select detail->>'reply', detail is null from latest_scores order by case_hash")
    assert found == [('n\ufffd\0"o', False), (None, True)]


def test_a_scoring_says_what_it_rests_on(kept: Store, evaluation: Evaluation) -> None:
    judges = {"polite": {"model": "m", "rubric_sha256": "ab"}}

    kept.append_scores(evaluation.evaluation_id, "s1", ["x", "held"], [], START, governance=["held"], judges=judges)
    kept.append_scores(evaluation.evaluation_id, "s2", ["x"], [], START)

    assert kept.scoring_terms("s1") == ScoringTerms(("x", "held"), ("held",), judges)
    assert kept.scoring_terms("s2") == ScoringTerms(("x",), (), {})


def test_the_gap_counts_runs_that_both_metrics_scored(kept: Store, evaluation: Evaluation) -> None:
    right = [True, False, False, False, None, False]
    held = [True, True, True, False, True, None]
    rows = [
        *(ScoreRow("a", index, "right", passed, None) for index, passed in enumerate(right)),
        *(ScoreRow("a", index, "held", passed, None) for index, passed in enumerate(held)),
        ScoreRow("b", 0, "right", False, None),
        ScoreRow("a", 0, "elsewhere", None, "no verdict"),
    ]
    kept.append_scores(evaluation.evaluation_id, "s1", ["right", "held", "elsewhere"], rows, START)
    kept.append_scores(evaluation.evaluation_id, "s2", ["right", "held"], rows, START)

    gaps = kept.governance_gaps("s1", ["held"])

    assert gaps == [GovernanceGap("right", "held", both_scored=4, erred=3, erred_but_held=2)]
    assert kept.governance_gaps("s1", []) == []
    with pytest.raises(NothingMeasured, match="no scoring none"):
        kept.governance_gaps("none", ["held"])
