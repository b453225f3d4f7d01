from __future__ import annotations

from collections.abc import Callable

import pytest

from eval_assets import pipeline
from eval_assets.errors import NothingMeasured
from eval_assets.pipeline import Workspace

Measure = Callable[[str], None]


def test_a_baseline_without_a_report_has_no_drift(workspace: Workspace) -> None:
    with pytest.raises(NothingMeasured):
        pipeline.baseline_drift(workspace)


def test_the_first_report_has_none_before_it(workspace: Workspace, measure: Measure) -> None:
    measure("old")

    assert pipeline.baseline_drift(workspace) is None


def test_the_same_baseline_measured_again_is_compared_with_itself(workspace: Workspace, measure: Measure) -> None:
    measure("old")
    first = pipeline.latest_report(workspace, "old")
    measure("old")

    drift = pipeline.baseline_drift(workspace)

    assert drift is not None
    assert drift.verdict.outcome == "pass"
    assert drift.baseline.report_id == first.report_id != drift.candidate.report_id


def test_a_baseline_that_was_redefined_has_none_before_it(
    workspace: Workspace, measure: Measure, record: Callable[[str, int], None]
) -> None:
    measure("old")
    record("old", 1)
    measure("old")

    assert pipeline.baseline_drift(workspace) is None
