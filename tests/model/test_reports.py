from __future__ import annotations

import json
from typing import Any

import pytest

from eval_assets import Case, FormatError, Report, RunOutput, evaluate, metrics


@pytest.fixture
def report() -> Report:
    cases = [Case(name="a", input="x", tags=("t",)), Case(name="b", input="y")]
    return evaluate(lambda text: RunOutput(final=text), cases, [metrics.contains("x"), metrics.no_error()], runs=2)


def test_reads_back_what_it_wrote(report: Report) -> None:
    assert Report.from_json(report.to_json()) == report


def test_layout_has_the_promised_keys(report: Report) -> None:
    written = json.loads(report.to_json())

    assert list(written) == [
        "format",
        "runs_per_case",
        "total_runs",
        "cases",
        "overall",
        "by_tag",
        "latency_p50",
        "latency_p95",
        "provenance",
        "extensions",
    ]
    assert written["format"] == "bide.eval.report.v2"
    assert set(written["cases"][0]) == {"name", "hash", "metrics"}
    assert set(written["overall"]["no_error"]) == {"passes", "scored", "unscored", "rate", "ci_low", "ci_high"}
    assert set(written["provenance"]) == {"model_id", "temperature", "seed", "timestamp", "case_set_hash"}
    assert isinstance(written["latency_p50"], int)


def test_reads_what_go_leaves_out(report: Report) -> None:
    """Go leaves out an empty by_tag, writes an absent list as null, and knows no extensions."""
    written = json.loads(report.to_json())
    del written["by_tag"], written["extensions"]
    written["cases"], written["overall"] = None, None

    assert Report.from_json(json.dumps(written)).cases == ()


def stat(**changed: Any) -> dict[str, Any]:
    return {"passes": 2, "scored": 4, "unscored": 0, "rate": 0.5, "ci_low": 0.1, "ci_high": 0.9, **changed}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "bide.eval.report.v1"}, "the format is 'bide.eval.report.v1', wanted 'bide.eval.report.v2'"),
        ({"format": None}, "the format is None"),
        ({"overall": {"no_error": stat(passes=5)}}, "5 passes of 4"),
        ({"overall": {"no_error": stat(rate=0.75)}}, "the rate is 0.75"),
        ({"overall": {"no_error": stat(rate=1.5)}}, "less than or equal to 1"),
        ({"overall": {"no_error": stat(ci_low=0.6)}}, "does not hold the rate"),
        ({"overall": {"no_error": stat(scored=-1)}}, "greater than or equal to 0"),
        ({"overall": {"no_error": stat()}}, "its cases add up to"),
        ({"overall": {}}, "its cases add up to"),
        ({"latency_p50": -1}, "latency_p50"),
        ({"runs_per_case": 0}, "runs_per_case"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_report_that_cannot_be_true_is_refused(report: Report, change: dict[str, Any], says: str) -> None:
    written = {**json.loads(report.to_json()), **change}

    with pytest.raises(FormatError, match=says):
        Report.from_json(json.dumps(written))


@pytest.mark.parametrize("text", ["", "<html>", "[]", "null", '{"format": NaN}', "1"])
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        Report.from_json(text)
