"""A target is asked a few plain cases before it is relied on, and what came of it is kept and compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval_assets import pipeline
from eval_assets.cli import main
from eval_assets.errors import ConfigError, NothingMeasured

Run = Callable[..., int]

CASES = [
    {"name": "hello", "input": "hello", "expect": {"contains": ["hello"]}},
    {"name": "four", "input": "2 + 2 = 4", "expect": {"contains": ["4"]}},
]


@pytest.fixture
def run(project: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call `eval-assets …` in the project, which asks for two cases of its own."""
    monkeypatch.chdir(project)
    (project / "fit.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
    suite = project / "suite.yaml"
    suite.write_text(
        suite.read_text().replace("model: m-1", "model: m-1, max_attempts: 1") + "conformance: fit.jsonl\n"
    )
    return lambda *arguments: main.run(list(arguments))


def replies(server: Any, **by_input: str | None) -> None:
    """Answer some inputs otherwise than by echoing them; None is HTTP 503."""

    def content(body: dict[str, Any]) -> str | None:
        asked: str = body["messages"][-1]["content"]
        return by_input.get(asked.split(maxsplit=1)[0], asked)

    server.content_of = content


def test_a_fit_target_is_certified(run: Run, server: Any, project: Path) -> None:
    assert run("certify", ".", "old", "--json", "c.json") == 0

    report = json.loads((project / "c.json").read_text())
    assert (report["target"], report["score"]) == ("old", 1.0)
    assert len(server.asked) == 2
    _, rows = pipeline.open_workspace(project).store.select("select target, passed, passing from conformance_reports")
    assert rows == [("old", True, 2)]


def test_a_failure_is_a_sentence_and_exit_code_1(
    run: Run, server: Any, capsys: pytest.CaptureFixture[str], project: Path
) -> None:
    run("certify", ".", "old")
    replies(server, hello="hm")

    assert run("certify", ".", "old", "--markdown", "c.md") == 1

    said = (project / "c.md").read_text()
    assert "hello" in said
    assert "Passed before and fails now: hello." in said


def test_a_regression_is_against_the_last_that_passed(run: Run, server: Any, project: Path) -> None:
    workspace = pipeline.open_workspace(project)
    pipeline.certify_target(workspace, "old")
    replies(server, hello="hm")

    found = [pipeline.certify_target(workspace, "old").regressed for _ in range(2)]

    assert found == [["hello"], ["hello"]]


def test_what_was_not_measured_is_exit_code_3(run: Run, server: Any) -> None:
    replies(server, hello=None)

    assert run("certify", ".", "old") == 3


def test_a_failure_outweighs_what_was_not_measured(run: Run, server: Any) -> None:
    replies(server, **{"hello": None, "2": "five"})

    assert run("certify", ".", "old") == 1


def test_canonical_cases_go_by_their_name(run: Run, server: Any, project: Path) -> None:
    suite = project / "suite.yaml"
    suite.write_text(suite.read_text().replace("fit.jsonl", "canonical"))

    assert run("certify", ".", "old", "--json", "c.json") == 1

    results = json.loads((project / "c.json").read_text())["results"]
    assert {result["id"]: result["passed"] for result in results}["tool_call"] is False
    assert any("tools" in body for body in server.asked)


@pytest.mark.parametrize(
    ("written", "wanted"), [("", "has no `conformance`"), ("conformance: missing.jsonl", "there is no such file")]
)
def test_without_cases_nothing_is_asked(
    run: Run, server: Any, project: Path, capsys: pytest.CaptureFixture[str], written: str, wanted: str
) -> None:
    suite = project / "suite.yaml"
    suite.write_text(suite.read_text().replace("conformance: fit.jsonl", written))

    assert run("certify", ".", "old") == 2

    assert wanted in capsys.readouterr().err
    assert server.asked == []


def test_what_nobody_answers_cannot_be_certified(run: Run, project: Path) -> None:
    suite = project / "suite.yaml"
    suite.write_text(
        suite.read_text().replace("baseline: old", "  past: {kind: recorded, path: r.jsonl}\nbaseline: old")
    )
    workspace = pipeline.open_workspace(project)

    with pytest.raises(ConfigError, match="no one to certify"):
        pipeline.certify_target(workspace, "past")
    pipeline.require_certified(workspace, "past")


def test_a_certification_is_of_one_definition_and_one_set_of_cases(run: Run, server: Any, project: Path) -> None:
    def required() -> None:
        pipeline.require_certified(pipeline.open_workspace(project), "old")

    with pytest.raises(NothingMeasured, match="never certified"):
        required()
    run("certify", ".", "old")
    required()
    suite = project / "suite.yaml"
    before = suite.read_text()
    suite.write_text(before.replace("model: m-1", "model: m-1, temperature: 1"))
    with pytest.raises(NothingMeasured, match="changed since"):
        required()
    suite.write_text(before)
    (project / "fit.jsonl").write_text(json.dumps(CASES[0]).replace('["hello"]', '["hullo"]') + "\n")
    with pytest.raises(NothingMeasured, match="changed since"):
        required()


def test_a_failed_certification_is_not_enough(run: Run, server: Any, project: Path) -> None:
    replies(server, hello="hm")
    run("certify", ".", "old")

    with pytest.raises(NothingMeasured, match=r"did not pass its certification \(hello\)"):
        pipeline.require_certified(pipeline.open_workspace(project), "old")
