from __future__ import annotations

from collections.abc import Callable

import pytest

from eval_assets import Comparison, GatePolicy, Inconclusive, MetricComparison, Regression, Report, compare
from eval_assets.analysis import compare as comparing
from eval_assets.analysis import gate
from eval_assets.errors import RegressionAndInconclusive

Make = Callable[..., Report]


def compared(make_report: Make, **metrics: tuple[tuple[int, int, int], tuple[int, int, int]]) -> Comparison:
    old = make_report({name: [sides[0]] for name, sides in metrics.items()})
    return compare(old, make_report({name: [sides[1]] for name, sides in metrics.items()}))


def test_flat_and_better_passes(make_report: Make) -> None:
    comparison = compared(make_report, a=((50, 100, 0), (51, 100, 0)), b=((50, 100, 0), (90, 100, 0)))

    comparison.gate()
    verdict = gate.decide(comparison)

    assert (verdict.outcome, verdict.exit_code) == ("pass", 0)
    assert verdict.reasons == ("2 metrics compared, none worse by more than chance; improved: b",)


def test_a_regression_names_its_metric(make_report: Make) -> None:
    comparison = compared(make_report, a=((90, 100, 0), (50, 100, 0)), b=((50, 100, 0), (50, 100, 0)))

    with pytest.raises(Regression, match=r"a went from 90/100 \(90.0%\) to 50/100 \(50.0%\)") as caught:
        comparison.gate()

    assert caught.value.metrics == ("a",)
    assert gate.decide(comparison).exit_code == 1


def test_anything_not_measured_is_inconclusive(make_report: Make) -> None:
    comparison = compared(make_report, a=((90, 100, 0), (90, 99, 1)), b=((50, 100, 0), (90, 100, 0)))

    with pytest.raises(Inconclusive, match="a is inconclusive: 1 of 100 runs unscored"):
        comparison.gate()

    assert gate.decide(comparison).exit_code == 3


def test_a_direction_nobody_knows_never_passes(make_report: Make) -> None:
    comparison = compared(make_report, a=((50, 100, 0), (51, 100, 0)))
    odd = MetricComparison.model_construct(**{**comparison.metrics[0].__dict__, "direction": "sideways"})

    with pytest.raises(Inconclusive):
        Comparison.model_construct(**{**comparison.__dict__, "metrics": (odd,)}).gate()


def test_both_can_hold_and_every_metric_is_named(make_report: Make) -> None:
    comparison = compared(make_report, a=((90, 100, 0), (50, 100, 0)), b=((50, 100, 0), (0, 0, 100)))

    with pytest.raises(RegressionAndInconclusive) as caught:
        comparison.gate()

    assert caught.value.metrics == ("a", "b")
    assert isinstance(caught.value, Regression)
    assert isinstance(caught.value, Inconclusive)
    assert gate.decide(comparison).outcome == "regression"
    assert len(gate.decide(comparison).reasons) == 2


def test_a_comparison_of_nothing_never_passes(make_report: Make) -> None:
    empty = make_report({})
    comparison = comparing.compare_under(GatePolicy(test="pooled"), empty, empty)

    with pytest.raises(Inconclusive, match="nothing was compared"):
        comparison.gate()

    assert gate.decide(comparison).outcome == "inconclusive"
