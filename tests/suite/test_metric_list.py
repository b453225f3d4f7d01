"""Metrics that need more than their own line: a target that judges, a predicate of the user's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from eval_assets.errors import Problem
from eval_assets.metrics.judge import JudgeMetric
from eval_assets.suite import load_suite

Write = Callable[..., Path]
Find = Callable[[Path], list[Problem]]

JUDGE = "- judge: {name: polite, target: new, rubric: It is polite., tags: [t]}"
HELD = "- governance_held: {name: held, predicate: 'made_policy:compliant'}"


def policy(write: Write) -> None:
    """A module of predicates beside the suite."""
    folder = write().parent
    (folder / "made_policy.py").write_text("def compliant(output): return True\ndef asks_more(case, output): ...\n")


def test_the_three_kinds_are_written_as_the_others_are(write: Write) -> None:
    policy(write)

    suite = load_suite(write(("- no_error", f"- expectation\n  - {JUDGE[2:]}\n  - {HELD[2:]}")))

    expectation, judge, held, _ = suite.metrics
    assert [metric.name for metric in (expectation, judge, held)] == ["expectation", "polite", "held"]
    assert isinstance(judge, JudgeMetric)
    assert (judge.asks_target, judge.rubric, judge.tags) == ("new", "It is polite.", ("t",))
    assert (judge.kind, held.kind) == ("judgement", "governance")


MISTAKES = [
    ("- judge: {name: j, target: prod}", "judge needs `rubric`"),
    ("- judge: {name: j, target: prod, rubric: ''}", "the rubric must be a text"),
    ("- judge: {name: '', target: prod, rubric: r}", "the metric's name must be a text"),
    ("- judge: {name: j, target: 3, rubric: r}", "the target's name must be a text"),
    ("- judge: {name: j, target: nobody, rubric: r}", "the judge 'nobody' of j is not a target (targets: new, prod)"),
    ("- judge: {name: j, model: m, rubric: r}", "unknown key `model`"),
    ("- judge: polite", "judge takes keys name, target, rubric"),
    ("- governance_held: {name: g, predicate: 'made_policy:nowhere'}", "made_policy has no nowhere"),
    ("- governance_held: {name: g, predicate: 'made_policy:asks_more'}", "its arguments are (case, output)"),
    ("- custom: {name: g, predicate: 'made_policy:compliant'}", "its arguments are (output)"),
    ("- expectation: 3", "expectation takes no argument"),
    ("- judge: {name: 'contains:refund', target: prod, rubric: r}", "metric names repeat: contains:refund"),
]


@pytest.mark.parametrize(("line", "says"), MISTAKES, ids=[says for _, says in MISTAKES])
def test_a_mistake_is_one_problem_with_its_line(write: Write, problems_of: Find, line: str, says: str) -> None:
    policy(write)

    (problem,) = problems_of(write(("- no_error", line)))

    assert says in problem.message
    assert problem.line == 10


def test_a_judge_s_line_is_that_of_its_target(write: Write, problems_of: Find) -> None:
    written = "- judge:\n      name: j\n      target: nobody\n      rubric: r"

    (problem,) = problems_of(write(("- no_error", written)))

    assert problem.line == 12


def test_a_recording_cannot_judge(write: Write, problems_of: Find) -> None:
    recorded = ('{kind: python, function: "answers:new"}', "{kind: recorded, path: runs.jsonl}")

    (problem,) = problems_of(write(recorded, ("- no_error", JUDGE)))

    assert "'new' of polite is a recording" in problem.message


def test_a_judge_that_is_written_wrongly_is_told_of_once(write: Write, problems_of: Find) -> None:
    wrong = ('{kind: python, function: "answers:new"}', "{kind: python}")

    (problem,) = problems_of(write(wrong, ("- no_error", JUDGE)))

    assert problem.line == 6
