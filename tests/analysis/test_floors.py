from __future__ import annotations

from collections.abc import Callable

import pytest

from eval_assets import GatePolicy, Inconclusive, Regression, Report
from eval_assets.analysis import compare, gate

Make = Callable[..., Report]


def judged(report: Report, floor: str, wanted: float, **policy: float) -> tuple[str, str, str]:
    comparison = compare.compare_under(GatePolicy(floors={floor: wanted}, **policy), report, report)
    (found,) = comparison.floors
    return found.finding, found.note, comparison.outcome


def test_a_floor_is_held_when_the_whole_interval_is_above_it(make_report: Make) -> None:
    assert judged(make_report({"m": [(95, 100, 0)]}), "m", 0.85) == ("held", "", "pass")


def test_two_of_two_is_no_evidence_for_85_percent(make_report: Make) -> None:
    """C08: the bound of 2/2 is 34 %."""
    finding, note, outcome = judged(make_report({"m": [(2, 2, 0)]}), "tag:all/m", 0.85)

    assert (finding, outcome) == ("inconclusive", "inconclusive")
    assert "2 of 2 passed, 95 % interval 34.2% to 100.0%; 22 runs at this rate would clear it" in note


def test_a_floor_above_the_whole_interval_is_missed(make_report: Make) -> None:
    report = make_report({"m": [(50, 100, 0)]})
    comparison = compare.compare_under(GatePolicy(floors={"m": 0.85}), report, report)

    with pytest.raises(Regression, match=r"m is below its floor 85\.0%"):
        comparison.gate()
    assert gate.decide(comparison).exit_code == 1


def test_no_number_of_runs_clears_a_floor_that_is_the_rate(make_report: Make) -> None:
    _, note, _ = judged(make_report({"m": [(85, 100, 0)]}), "m", 0.85)

    assert "no number of runs would clear it" in note


def test_unscored_runs_leave_a_floor_open(make_report: Make) -> None:
    report = make_report({"m": [(990, 990, 10)]})

    assert judged(report, "m", 0.85)[0] == "inconclusive"
    assert judged(report, "m", 0.85, unscored_tolerance=0.02)[0] == "held"


@pytest.mark.parametrize("floor", ["other", "tag:nowhere/m", "tag:all/other"])
def test_a_floor_on_nothing_is_open(make_report: Make, floor: str) -> None:
    finding, note, outcome = judged(make_report({"m": [(10, 10, 0)]}), floor, 0.5)

    assert (finding, outcome) == ("inconclusive", "inconclusive")
    assert "is not in the new report" in note


def test_both_a_floor_and_a_metric_are_named(make_report: Make) -> None:
    report = make_report({"m": [(2, 2, 0)], "gone": [(0, 0, 2)]})
    comparison = compare.compare_under(GatePolicy(floors={"m": 0.85}), report, report)

    with pytest.raises(Inconclusive, match=r"gone is inconclusive.*; m leaves its floor"):
        comparison.gate()
