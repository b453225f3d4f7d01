"""C01: a recording replays run by run with no network, never the wrong run, and never as new evidence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval_assets import pipeline
from eval_assets.cli import main
from eval_assets.errors import ConfigError, PromotionRefused
from eval_assets.model.reports import Report

Run = Callable[..., int]


@pytest.fixture
def run(project: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call `eval-assets …` in the project."""
    monkeypatch.chdir(project)
    return lambda *arguments: main.run(list(arguments))


@pytest.fixture(autouse=True)
def counting(server: Any) -> None:
    """Every reply differs: right but every third, and numbered."""
    times: dict[str, int] = {}

    def content(body: dict[str, Any]) -> str:
        asked = f"{body['model']} {body['messages'][-1]['content']}"
        times[asked] = times.get(asked, 0) + 1
        said = body["messages"][-1]["content"] if times[asked] % 3 else "no"
        return f"{said}, answer {len(server.asked)}"

    server.content_of = content


def finals(project: Path, target: str = "old") -> list[tuple[str, int, str | None]]:
    workspace = pipeline.open_workspace(project)
    evaluation = pipeline.latest_evaluation(workspace, target)
    runs = [run for batch in workspace.store.runs(evaluation.evaluation_id) for run in batch]
    return [(run.case_name, run.run_index, run.output.final) for run in runs]


def report_of(project: Path, target: str = "old") -> Report:
    return pipeline.latest_report(pipeline.open_workspace(project), target).report


def numbers(report: Report) -> dict[str, Any]:
    """Everything but when and under which id."""
    dumped = report.model_dump(mode="json")
    del dumped["provenance"]["timestamp"]
    for key in ("evaluation_id", "replayed_from"):
        del dumped["extensions"][key]
    return dumped


def test_each_run_has_its_own_reply_and_replays_it(run: Run, server: Any, project: Path) -> None:
    assert run("run", ".", "old", "--record", "c.jsonl") == 0
    recorded = finals(project)
    assert run("run", ".", "old", "--replay", "c.jsonl") == 0

    assert len(server.asked) == 40
    assert len({final for _, _, final in recorded}) == 40
    assert finals(project) == recorded


def test_a_suite_replays_with_no_server_and_no_key(
    run: Run, server: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = [run("run", ".", target, "--record", "c.jsonl") for target in ("old", "new")]
    codes.append(run("gate", ".", "new", "--json", "live.json"))
    live = [numbers(report_of(project, target)) for target in ("old", "new")]
    server.stop()
    monkeypatch.setenv("EVAL_ASSETS_HOME", str(project / "elsewhere"))
    monkeypatch.delenv("ECHO_KEY")

    replayed = [run("run", ".", target, "--replay", "c.jsonl") for target in ("old", "new")]
    replayed.append(run("gate", ".", "new", "--json", "replayed.json"))

    assert replayed == codes == [0, 0, 0]
    assert [numbers(report_of(project, target)) for target in ("old", "new")] == live
    gates = [json.loads((project / name).read_text()) for name in ("live.json", "replayed.json")]
    assert gates[0]["verdict"] == gates[1]["verdict"]
    assert gates[0]["metrics"] == gates[1]["metrics"]


@pytest.mark.parametrize("concurrency", [1, 40])
def test_order_of_asking_changes_nothing(run: Run, project: Path, concurrency: int) -> None:
    run("run", ".", "old", "--record", "c.jsonl")
    recorded = finals(project)
    suite = project / "suite.yaml"
    suite.write_text(suite.read_text().replace("concurrency: 4", f"concurrency: {concurrency}"))
    cases = (project / "cases.jsonl").read_text().splitlines(keepends=True)
    (project / "cases.jsonl").write_text("".join(reversed(cases)))

    run("run", ".", "old", "--replay", "c.jsonl")

    assert sorted(finals(project)) == sorted(recorded)


def test_asked_more_often_than_recorded_is_unavailable(run: Run, server: Any, project: Path) -> None:
    suite = project / "suite.yaml"
    suite.write_text(suite.read_text().replace("runs: 5", "runs: 1"))
    run("run", ".", "old", "--record", "c.jsonl")
    suite.write_text(suite.read_text().replace("runs: 1", "runs: 5"))

    assert run("run", ".", "old", "--replay", "c.jsonl") == 3

    assert len(server.asked) == 8
    report = report_of(project)
    stat = report.overall["contains_want"]
    assert (stat.scored, stat.unscored) == (8, 32)
    key = json.loads((project / "c.jsonl").read_text().splitlines()[1])["exchanges"][0]["key"]
    [reason] = [reason for reason in report.extensions["unavailable"] if key in reason and "run 3" in reason]
    assert "recorded 1, asked 4" in reason


def test_a_changed_prompt_misses(run: Run, server: Any, project: Path) -> None:
    run("run", ".", "old", "--record", "c.jsonl")
    suite = project / "suite.yaml"
    suite.write_text(suite.read_text().replace("model: m-1", "model: m-1, system: Be brief."))

    assert run("run", ".", "old", "--replay", "c.jsonl") == 3

    assert len(server.asked) == 40
    assert report_of(project).overall["no_error"].scored == 0
    assert all("recorded 0" in reason for reason in report_of(project).extensions["unavailable"])


def test_what_was_unavailable_replays_so(run: Run, server: Any, project: Path) -> None:
    server.content_of = lambda body: None if body["messages"][-1]["content"] == "word3" else "word"
    suite = project / "suite.yaml"
    suite.write_text(suite.read_text().replace("model: m-1", "model: m-1, max_attempts: 1"))
    assert run("run", ".", "old", "--record", "c.jsonl") == 3
    live = numbers(report_of(project))
    server.stop()

    assert run("run", ".", "old", "--replay", "c.jsonl") == 3

    assert numbers(report_of(project)) == live
    assert sum(live["extensions"]["unavailable"].values()) == 5


def test_judges_are_recorded_and_replayed(run: Run, server: Any, project: Path) -> None:
    verdicts = iter(["PASS", "FAIL", "PASS"] * 20)
    server.content_of = lambda body: (
        next(verdicts) if body["model"] == "judge" else f"{body['messages'][-1]['content']} {len(server.asked)}"
    )
    suite = project / "suite.yaml"
    grader = f'  grader: {{kind: openai_chat, base_url: "{server.url}", model: judge}}\nbaseline: old'
    text = suite.read_text().replace("baseline: old", grader)
    suite.write_text(
        text.replace("contains_want]", 'contains_want, {judge: {name: good, target: grader, rubric: "R"}}]')
    )
    assert run("run", ".", "old", "--record", "c.jsonl") == 0
    live = numbers(report_of(project))
    server.stop()

    assert run("run", ".", "old", "--replay", "c.jsonl") == 0

    assert numbers(report_of(project)) == live
    assert 0 < live["overall"]["good"]["passes"] < 40


def test_a_replay_says_so_and_promotes_nothing(run: Run, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("run", ".", "old", "--record", "c.jsonl")
    run("run", ".", "new", "--record", "c.jsonl")
    capsys.readouterr()
    run("run", ".", "new", "--replay", "c.jsonl")
    said = capsys.readouterr().out
    assert run("gate", ".", "new") == 0

    assert "Replayed from c.jsonl" in said
    with pytest.raises(PromotionRefused, match=r"'new' was replayed from c\.jsonl"):
        pipeline.promote_candidate(pipeline.open_workspace(project), "new", reason="why not", promoted_by="test")


def test_a_replay_measures_no_candidate(run: Run, project: Path) -> None:
    run("run", ".", "old")
    run("run", ".", "new", "--record", "c.jsonl")
    workspace = pipeline.open_workspace(project, home=project / "elsewhere")
    replaying = pipeline.with_cassette(workspace, replay=project / "c.jsonl")
    for target in ("old", "new"):
        pipeline.execute_target(replaying, target)
        pipeline.score_target(replaying, target)
        pipeline.summarize_target(replaying, target)

    assert [waiting.name for waiting in pipeline.candidates_to_evaluate(workspace)] == ["new"]
    assert pipeline.baseline_drift(workspace) is None


def test_a_cassette_is_ordered_redacted_and_readable(run: Run, project: Path, key: str, server: Any) -> None:
    server.content_of = lambda body: f"you sent {key}"
    run("run", ".", "old", "--record", "c.jsonl")
    text = (project / "c.jsonl").read_text()

    header, *entries = map(json.loads, text.splitlines())
    assert header == {"format": "eval_assets.cassette.v1"}
    assert [(entry["case"], entry["run"]) for entry in entries] == [(f"c{n}", k) for n in range(8) for k in range(5)]
    assert key not in text
    [exchange] = entries[0]["exchanges"]
    assert exchange["request"]["body"]["messages"] == [{"role": "user", "content": "word0"}]
    assert exchange["response"]["json"]["choices"][0]["message"]["content"] == "you sent ***"
    assert [path.name for path in project.glob(".c.jsonl*")] == []


def test_recording_again_replaces_that_target_alone(run: Run, project: Path) -> None:
    run("run", ".", "old", "--record", "c.jsonl")
    run("run", ".", "new", "--record", "c.jsonl")
    before = (project / "c.jsonl").read_text().splitlines()
    run("run", ".", "old", "--record", "c.jsonl")

    after = (project / "c.jsonl").read_text().splitlines()
    assert len(after) == len(before) == 81
    assert {line for line in before if '"asked": "new"' in line} < set(after)
    assert not {line for line in before if '"asked": "old"' in line} & set(after)


def test_an_interrupted_recording_is_resumed_whole(server: Any, spawn: Any, call: Any, run: Run, project: Path) -> None:
    server.hold_after = 11
    running = spawn("run", ".", "old", "--record", "c.jsonl")
    assert server.held.wait(30)
    running.kill()
    running.wait()
    server.release()

    workspace = pipeline.with_cassette(pipeline.open_workspace(project), record=project / "other.jsonl")
    with pytest.raises(ConfigError, match="finished without being recorded in"):
        pipeline.execute_target(workspace, "old")
    assert call("run", ".", "old", "--record", "c.jsonl").returncode == 0
    recorded = finals(project)
    server.stop()

    assert run("run", ".", "old", "--replay", "c.jsonl") == 0
    assert finals(project) == recorded


def test_a_replay_takes_up_no_live_evaluation(server: Any, spawn: Any, run: Run, project: Path) -> None:
    run("run", ".", "old", "--record", "c.jsonl")
    server.hold_after = server.answered + 5
    running = spawn("run", ".", "old")
    assert server.held.wait(30)
    running.kill()
    running.wait()
    server.release()
    asked = len(server.asked)

    assert run("run", ".", "old", "--replay", "c.jsonl") == 0

    assert len(server.asked) == asked
    assert report_of(project).extensions["replayed_from"].startswith("c.jsonl (sha256 ")


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (None, "there is no cassette"),
        ('{"format": "har"}\n', "found format 'har', wanted 'eval_assets.cassette.v1'"),
        ("not JSON\n", "is no cassette"),
        ('{"format": "eval_assets.cassette.v1"}\n', "holds no run"),
        ('{"format": "eval_assets.cassette.v1"}\n{}\n{}\n', r"c\.jsonl:2: this line"),
    ],
)
def test_what_is_no_cassette_is_refused(project: Path, content: str | None, wanted: str) -> None:
    file = project / "c.jsonl"
    if content is not None:
        file.write_text(content)

    with pytest.raises(ConfigError, match=wanted):
        pipeline.with_cassette(pipeline.open_workspace(project), replay=file)


def test_a_foreign_file_is_not_recorded_over(run: Run, project: Path) -> None:
    assert run("run", ".", "old", "--record", "cases.jsonl") == 2
    assert run("run", ".", "old", "--record", "a.jsonl", "--replay", "b.jsonl") == 2
    assert '"c0"' in (project / "cases.jsonl").read_text()


def test_a_target_off_the_network_has_no_cassette(run: Run, project: Path) -> None:
    suite = project / "suite.yaml"
    text = suite.read_text().replace("baseline: old", '  here: {kind: python, function: "builtins:str"}\nbaseline: old')
    suite.write_text(text)

    assert run("run", ".", "here", "--record", "c.jsonl") == 2
