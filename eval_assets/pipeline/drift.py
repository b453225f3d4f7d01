"""Did the baseline move although nobody changed it: its latest report against that of the evaluation before."""

from __future__ import annotations

from eval_assets.analysis import compare, gate
from eval_assets.pipeline import measure
from eval_assets.pipeline.decide import Compared
from eval_assets.pipeline.workspace import Workspace


def baseline_drift(workspace: Workspace) -> Compared | None:
    """
    Compare the baseline's latest report with the one before, under the suite's gate. None where there is none before.

    A report of another definition of the baseline is none before: what differs then was meant to. Nor is
    there anything to find in a replay: the baseline was not asked.

    Raises:
        NothingMeasured: The baseline has no report.
    """
    suite = workspace.suite
    latest = measure.latest_report(workspace, suite.baseline)
    if latest.replayed_from is not None:
        return None
    before = workspace.store.report_before(latest.report_id)
    if before is None:
        return None
    comparison = compare.compare_under(suite.gate, before.report, latest.report)
    return Compared(comparison, gate.decide(comparison), before, latest)
