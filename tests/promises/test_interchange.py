"""A report of the Go package that defines the layout loads, compares and gates here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval_assets import Inconclusive, Regression, Report, compare
from eval_assets.cli import main

HASH = "952d050a043d4e742e5483091fa08070cee1e5c5565e6e90e2bff13fa09a92da"


def stat(passes: int, scored: int) -> dict[str, Any]:
    rate = passes / scored
    return {"passes": passes, "scored": scored, "unscored": 0, "rate": rate, "ci_low": 0, "ci_high": 1}


def as_go_writes_it(passes: list[int]) -> str:
    """No case hashes, no by_tag, no extensions, zero values where nothing is known, nanoseconds as integers."""
    report = {
        "format": "bide.eval.report.v2",
        "runs_per_case": 10,
        "total_runs": 10 * len(passes),
        "cases": [{"name": f"c{n}", "metrics": {"no_error": stat(p, 10)}} for n, p in enumerate(passes)],
        "overall": {"no_error": stat(sum(passes), 10 * len(passes))},
        "latency_p50": 1234567,
        "latency_p95": 2345678,
        "provenance": {
            "model_id": "m",
            "temperature": 0,
            "seed": 0,
            "timestamp": "2026-07-01T12:00:00.123456789Z",
            "case_set_hash": HASH,
        },
    }
    return json.dumps(report)


@pytest.mark.parametrize("test", ["pooled", "stratified", "sign_flip"])
def test_it_compares_and_gates(test: Any) -> None:
    old = Report.from_json(as_go_writes_it([9, 10, 9, 10, 8, 9, 10, 9]))
    new = Report.from_json(as_go_writes_it([4, 5, 3, 6, 2, 5, 4, 5]))

    compare(old, old, test=test).gate()
    with pytest.raises(Regression, match="no_error went from 74/80"):
        compare(old, new, test=test).gate()


def test_it_gates_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(as_go_writes_it([9, 10, 9]))
    (tmp_path / "new.json").write_text(as_go_writes_it([1, 0, 2]))

    assert main.run(["diff", str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == 1


def test_a_report_that_lost_its_hash_is_inconclusive() -> None:
    report = Report.from_json(as_go_writes_it([9, 10]).replace(HASH, ""))

    with pytest.raises(Inconclusive, match="case sets differ"):
        compare(report, report).gate()


def test_ours_has_the_same_keys_and_types() -> None:
    ours = json.loads(Report.from_json(as_go_writes_it([9, 10])).to_json())
    theirs = json.loads(as_go_writes_it([9, 10]))

    assert set(ours) - set(theirs) == {"by_tag", "extensions"}
    for key in set(theirs) - {"provenance", "cases"}:
        assert ours[key] == theirs[key]
    assert set(ours["provenance"]) == set(theirs["provenance"])
