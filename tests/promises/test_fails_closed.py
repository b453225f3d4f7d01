"""Nothing measured is never a pass (C07), one rule decides everything that is printed (C21)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from eval_assets.cli import main

SUITE = """\
name: closed
cases: cases.jsonl
runs: 2
targets:
  old: {kind: recorded, path: runs.jsonl}
  new: {kind: recorded, path: runs.jsonl, model: other}
baseline: old
candidates: [new]
metrics: [contains_want]
"""


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Write the suite with changes, run both targets and gate; returns the first exit code that is not 0."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVAL_ASSETS_HOME", raising=False)
    names = [f"c{number}" for number in range(31)]
    cases = [
        {"name": name, "input": name, "want": name, "tags": ["critical"] if name == "c1" else []} for name in names
    ]
    runs = [{"case": n, "run": r, "final": n if i < 28 else "no"} for i, n in enumerate(names) for r in range(2)]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))

    def run(*changes: tuple[str, str], cases_text: str | None = None) -> int:
        text = SUITE
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "suite.yaml").write_text(text)
        written = "".join(json.dumps(case) + "\n" for case in cases) if cases_text is None else cases_text
        (tmp_path / "cases.jsonl").write_text(written)
        codes = (main.run(["run", ".", target]) for target in ("old", "new"))
        return next((code for code in codes if code), None) or main.run(["gate", ".", "new", "--json", "gate.json"])

    return run


METRICS = "metrics: [contains_want]"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("cases: cases.jsonl", "cases: []"), 2),
        ((METRICS, "metrics: []"), 2),
        ((METRICS, "metrics: [{contains_want: {tags: [critcal]}}]"), 2),
        (("runs: 2", "runs: 0"), 2),
        (("runs: 2", "runs: -1"), 2),
        ((METRICS, METRICS + "\ngate: {alpha: .nan}"), 2),
        ((METRICS, METRICS + "\ngate: {unscored_tolerance: -0.1}"), 2),
        ((METRICS, METRICS + "\ngate: {floors: {contains_want: .nan}}"), 2),
        ((METRICS, METRICS + "\ngate: {floors: {'tag:critcal/contains_want': 0.5}}"), 2),
        ((METRICS, METRICS + "\ngate: {metrics: []}"), 2),
        ((METRICS, METRICS + "\ngate: {floors: {'tag:critical/contains_want': 0.85}}"), 3),
        ((METRICS, METRICS + "\ngate: {floors: {contains_want: 0.99}}"), 1),
        ((METRICS, "metrics: [{recorded: reward}]"), 3),
        ((METRICS, METRICS), 0),
    ],
)
def test_what_measures_nothing_is_never_a_pass(gate: Callable[..., int], change: tuple[str, str], code: int) -> None:
    assert gate(change) == code


def test_an_empty_case_file_is_never_a_pass(gate: Callable[..., int]) -> None:
    assert gate(cases_text="[]\n") == 2
    assert gate(cases_text="") == 2


@pytest.mark.parametrize("change", [(METRICS, METRICS), (METRICS, "metrics: [{recorded: reward}]")])
def test_everything_that_is_said_agrees(
    gate: Callable[..., int], change: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = gate(change)
    printed = capsys.readouterr().out
    main.run(["sql", "select outcome from latest_verdicts", "--json"])
    stored = json.loads(capsys.readouterr().out)[0]["outcome"]

    written = json.loads((tmp_path / "gate.json").read_text())["verdict"]
    assert f"Verdict: {written}" in printed
    assert stored == written
    assert code == {"pass": 0, "regression": 1, "inconclusive": 3}[written]
