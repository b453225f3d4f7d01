"""Numbers from statsmodels, R, scipy and mpmath, twelve significant digits, by method; and counts of real runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval_assets.stats import paired
from eval_assets.stats.paired import PairedCounts

Entries = list[tuple[dict[str, Any], dict[str, Any]]]
Arms = tuple[Iterable[int], Iterable[int]]

BROKEN = {f"airline-{number}" for number in (12, 18, 20, 24, 35, 36)}


@pytest.fixture(scope="session")
def sourced() -> Callable[[str], Entries]:
    """The (inputs, expected) pairs of a method; at least one, so that no loop over them is empty."""
    entries = json.loads((Path(__file__).parent / "reference.json").read_text())

    def of(method: str) -> Entries:
        found = [(entry["inputs"], entry["expected"]) for entry in entries if entry["method"] == method]
        assert found, method
        return found

    return of


@pytest.fixture(scope="session")
def sourced_counts() -> Callable[[dict[str, Any]], PairedCounts]:
    """The inputs of an entry as counts, whether its cases share their number of runs or not."""

    def read(inputs: dict[str, Any]) -> PairedCounts:
        same = [inputs.get("runs_per_case")] * len(inputs["base"])
        return paired.counts(inputs["base"], inputs.get("base_n", same), inputs["cand"], inputs.get("cand_n", same))

    return read


@pytest.fixture(scope="session")
def airline(shared: Path) -> Callable[..., tuple[list[int], list[int]]]:
    """(passes, scored) of each case of an agent benchmark, four real runs each, some or all of them."""
    runs = _read(shared / "data" / "tau_airline" / "runs.jsonl")

    def of(*kept: int, broken: bool = False) -> tuple[list[int], list[int]]:
        passed = [
            (run["case"], run["scores"]["reward"] and not (broken and run["case"] in BROKEN))
            for run in runs
            if run["run"] in kept
        ]
        return _by_case(passed)

    return of


@pytest.fixture(scope="session")
def smollm2(shared: Path) -> PairedCounts:
    """Whether the answer contains what was wanted, plain against terse prompt, of a small language model."""
    folder = shared / "data" / "smollm2"
    wants = {case["name"]: case["want"] for case in _read(folder / "cases.jsonl")}
    plain, terse = (
        _by_case([(run["case"], wants[run["case"]] in (run["final"] or "")) for run in _read(folder / name)])
        for name in ("runs_plain.jsonl", "runs_terse.jsonl")
    )
    return paired.counts(*plain, *terse)


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _by_case(passed: list[tuple[str, bool]]) -> tuple[list[int], list[int]]:
    names, which = np.unique([name for name, _ in passed], return_inverse=True)
    passes = np.bincount(which, weights=[bool(ok) for _, ok in passed], minlength=names.size)
    return passes.astype(int).tolist(), np.bincount(which, minlength=names.size).tolist()
