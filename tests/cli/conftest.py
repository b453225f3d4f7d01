"""A project in a folder of its own, and the command line called in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from eval_assets.cli import main


class Said(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


Command = Callable[..., Said]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Call `eval-assets …` in the project's folder."""
    monkeypatch.chdir(project)
    monkeypatch.delenv("EVAL_ASSETS_HOME", raising=False)

    def call(*arguments: str) -> Said:
        code = main.run(list(arguments))
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return call


SUITE = """\
name: support
cases: cases.jsonl
runs: 4
targets:
  old: {kind: recorded, path: runs.jsonl, runs: [0, 1, 2, 3], model: m-1}
  same: {kind: recorded, path: runs.jsonl, runs: [4, 5, 6, 7], model: m-2}
  worse: {kind: recorded, path: worse.jsonl, model: m-3}
  down: {kind: openai_chat, base_url: "http://127.0.0.1:9/v1", model: m, max_attempts: 1}
baseline: old
candidates: [same, worse, down]
metrics: [no_error, contains_want]
gate: {test: pooled}
"""


def recorded(case: str, run: int, *, right: bool) -> str:
    return json.dumps({"case": case, "run": run, "final": f"it is {case if right else 'something else'}"}) + "\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Ten cases; `old` and `same` are right three times in four, `worse` once."""
    names = [f"c{number}" for number in range(10)]
    cases = [
        {"name": name, "input": name, "want": name, "tags": ["even" if n % 2 else "odd"]}
        for n, name in enumerate(names)
    ]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (tmp_path / "runs.jsonl").write_text(
        "".join(recorded(n, run, right=run % 4 != 3) for n in names for run in range(8))
    )
    (tmp_path / "worse.jsonl").write_text("".join(recorded(n, run, right=run == 3) for n in names for run in range(4)))
    (tmp_path / "suite.yaml").write_text(SUITE)
    return tmp_path
