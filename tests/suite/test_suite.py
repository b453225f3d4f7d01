from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from eval_assets.errors import Problem
from eval_assets.suite import load_suite

Write = Callable[..., Path]
Find = Callable[[Path], list[Problem]]


def test_a_suite_loads_by_its_file_or_its_folder(write: Write) -> None:
    path = write()

    suite = load_suite(path)

    assert load_suite(path.parent) == suite
    assert (suite.name, suite.runs, suite.concurrency) == ("support", 3, 8)
    assert [case.name for case in suite.case_set.cases] == ["a", "b"]
    assert (suite.baseline, suite.candidates) == ("prod", ("new",))
    assert [metric.name for metric in suite.metrics] == ["no_error", "contains:refund"]


def test_every_problem_comes_at_once_with_its_line(write: Write, problems_of: Find) -> None:
    path = write(
        ("runs: 3", "runs: 0\nsurprise: 1"),
        ('function: "answers:new"', "functoin: x"),
        ("baseline: prod", "baseline: nobody"),
        ("contains: refund", "contians: refund"),
        ("gate: {test: pooled}", "gate: {test: pooled, alpha: 2}"),
        cases='{"name": "a", "input": "x"}\n{"name": "a", "input": "y"}\nnot json\n',
    )

    found = {(problem.file.name if problem.file else "", problem.line, str(problem)) for problem in problems_of(path)}

    places = {(file, line) for file, line, _ in found}
    assert {("cases.jsonl", 2), ("cases.jsonl", 3)} <= places
    assert {("suite.yaml", line) for line in (3, 4, 7, 12, 13)} <= places


MISTAKES = [
    (("name: support", "name: Support"), 1, "lower-case letters"),
    (("name: support\n", ""), 1, "`name` is missing"),
    (("runs: 3", "runs: three"), 3, "valid integer"),
    (("runs: 3", "rusn: 3"), 3, "unknown key `rusn`; did you mean `runs`?"),
    (("cases: cases.jsonl", "cases: nowhere.jsonl"), None, "no such file"),
    (("cases: cases.jsonl", "cases: cases.txt"), None, "wanted .csv, .json, .jsonl, .yaml, .yml"),
    (('kind: python, function: "answers:prod"', "kind: pyhton"), 5, "kind 'pyhton'"),
    (('{kind: python, function: "answers:prod"}', "prod"), 5, "wanted a mapping"),
    (('function: "answers:prod"', "function: answers.prod"), 5, "wanted a function as `package.module:name`"),
    (('function: "answers:prod"', 'function: "${NOT_SET_ANYWHERE}"'), 5, "NOT_SET_ANYWHERE is not set"),
    (("  prod:", "  pro d:"), 5, "the target name 'pro d'"),
    (("baseline: prod", "baseline: nobody"), 7, "the baseline 'nobody' is not a target (targets: new, prod)"),
    (("candidates: [new]", "candidates: [other]"), 8, "the candidate 'other' is not a target"),
    (("candidates: [new]", "candidates: [prod]"), 8, "'prod' is the baseline"),
    (("candidates: [new]", "candidates: [new, new]"), 8, "named twice"),
    (("- no_error", "- no_eror"), 10, "unknown metric `no_eror`; did you mean `no_error`?"),
    (("- no_error", "- no_error: 3"), 10, "no_error takes no argument"),
    (("- no_error", "- contains"), 10, "contains needs `text`"),
    (("- no_error", "- {contains: a, matches: b}"), 10, "one name with its argument"),
    (("- no_error", "- contains: {text: a, tag: [t]}"), 10, "did you mean `tags`?"),
    (("- no_error", "- contains: {text: a, tags: [nowhere]}"), 10, "asked of no case"),
    (("- no_error", "- matches: '('"), 10, "not a regular expression"),
    (("- no_error", "- max_steps: 0"), 10, "whole number from 1"),
    (("- no_error", "- tool_order: a"), 10, "a list of tool names"),
    (("- no_error", "- custom: {name: m, predicate: nowhere}"), 10, "package.module:function"),
    (
        ("- no_error", "- custom: {name: m, predicate: 'no_such_module_here:f'}"),
        10,
        "cannot import no_such_module_here",
    ),
    (("- no_error", "- contains: refund"), 10, "metric names repeat: contains:refund"),
    (("gate: {test: pooled}", "gate: {test: t-test}"), 12, "'pooled', 'stratified' or 'sign_flip', found 't-test'"),
    (("gate: {test: pooled}", "gate: {test: pooled, margin: 5}"), 12, "less than 1"),
    (("gate: {test: pooled}", "gate: {floors: {refund: 0.9}}"), 12, "the floor 'refund' is of no metric of the suite"),
    (
        ("gate: {test: pooled}", "gate: {floors: {'tag:x/no_error': 0.9}}"),
        12,
        "'tag:x/no_error' is over no case (tags: t)",
    ),
    (("gate: {test: pooled}", "gate: {floors: {no_error: 90}}"), 12, "less than 1"),
    (("gate: {test: pooled}", "gate: {test: pooled, metrics: [refund]}"), 12, "the gate's metric 'refund' is not one"),
    (("gate: {test: pooled}", "gate: {test: pooled, unscored_tolerance: -1}"), 12, "greater than or equal to 0"),
    (("gate: {test: pooled}", "gate: {test: pooled}\nrefresh: {cron: daily}"), 13, "five cron fields"),
    (("gate: {test: pooled}", "gate: {test: pooled}\nrefresh: {cron: '0 3 * * *', timezone: Mars}"), 13, "IANA"),
]


@pytest.mark.parametrize(("change", "line", "says"), MISTAKES, ids=[says for _, _, says in MISTAKES])
def test_a_mistake_is_one_clear_problem(
    write: Write, problems_of: Find, change: tuple[str, str], line: int | None, says: str
) -> None:
    found = [problem for problem in problems_of(write(change)) if says in str(problem)]

    assert len(found) == 1
    assert found[0].line == line


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "found nothing"),
        ("- a\n", "found a list"),
        ("name: a\nname: b\n", "the key 'name' is written twice"),
        ("name: [\n", "not YAML"),
        ("name: \t- x\n", "not YAML"),
    ],
)
def test_what_is_no_suite_is_refused(tmp_path: Path, problems_of: Find, text: str, says: str) -> None:
    (tmp_path / "suite.yaml").write_text(text)

    (problem,) = problems_of(tmp_path)

    assert says in problem.message


def test_a_missing_suite_is_named(tmp_path: Path, problems_of: Find) -> None:
    (problem,) = problems_of(tmp_path / "suite.yaml")

    assert str(problem) == f"{tmp_path / 'suite.yaml'}: there is no such file; wanted a suite file"


def test_the_gate_s_test_is_stratified_unless_named(write: Write) -> None:
    assert load_suite(write(("gate: {test: pooled}\n", ""))).gate.test == "stratified"


def test_variables_are_put_in_place(write: Write) -> None:
    path = write(('"answers:prod"', '"${MODULE:-answers}:${NAME}"'))

    suite = load_suite(path, environment={"NAME": "prod"})

    assert suite.targets["prod"].model_dump()["function"] == "answers:prod"


def test_metrics_keep_their_dollars(write: Write) -> None:
    suite = load_suite(write(("contains: refund", "matches: 'x${HOME}|\\d$'")), environment={})

    assert suite.metrics[1].name == "matches:x${HOME}|\\d$"


def test_a_header_s_value_is_never_said_back(write: Write, problems_of: Find) -> None:
    target = '{kind: openai_chat, base_url: "http://127.0.0.1/v1", model: m, headers: {Authorization: [sk-secret]}}'

    problems = problems_of(write(('{kind: python, function: "answers:prod"}', target)))

    assert "headers" in str(problems[0])
    assert "sk-secret" not in str(problems)


def test_candidates_arrive_as_files(write: Write) -> None:
    path = write()
    (path.parent / "candidates").mkdir()
    (path.parent / "candidates" / "later.yaml").write_text('{kind: python, function: "answers:later"}')

    suite = load_suite(path)

    assert suite.candidates == ("new", "later")
    assert "later" in suite.targets


def test_a_candidate_file_that_is_wrong_is_named(write: Write, problems_of: Find) -> None:
    path = write()
    (path.parent / "candidates").mkdir()
    (path.parent / "candidates" / "later.yaml").write_text("kind: python\nfunctoin: x\n")
    (path.parent / "candidates" / "new.yaml").write_text("kind: python\n")

    found = {(problem.file.name if problem.file else "", problem.line) for problem in problems_of(path)}

    assert ("later.yaml", 2) in found
    assert ("new.yaml", None) in found
