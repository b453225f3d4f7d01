"""A small suite that is right, and a way to write it with changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval_assets.errors import ConfigError, Problem
from eval_assets.suite import load_suite

SUITE = """\
name: support
cases: cases.jsonl
runs: 3
targets:
  prod: {kind: python, function: "answers:prod"}
  new: {kind: python, function: "answers:new"}
baseline: prod
candidates: [new]
metrics:
  - no_error
  - contains: refund
gate: {test: pooled}
"""
CASES = [{"name": "a", "input": "x", "tags": ["t"]}, {"name": "b", "input": "y"}]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write the suite with some lines replaced or added, and its cases; returns the suite's path."""

    def make(*replace: tuple[str, str], add: str = "", cases: list[Any] | str = CASES) -> Path:
        text = SUITE
        for old, new in replace:
            assert old in text
            text = text.replace(old, new)
        lines = cases if isinstance(cases, str) else "".join(json.dumps(case) + "\n" for case in cases)
        (tmp_path / "cases.jsonl").write_text(lines)
        (tmp_path / "suite.yaml").write_text(text + add)
        return tmp_path / "suite.yaml"

    return make


@pytest.fixture
def problems_of() -> Callable[[Path], list[Problem]]:
    """The problems of a suite that must not load."""

    def find(path: Path) -> list[Problem]:
        with pytest.raises(ConfigError) as caught:
            load_suite(path)
        return list(caught.value.problems)

    return find
