"""What follows from a comparison. One rule decides the printed verdict, the stored one, the check and the exit code."""

from __future__ import annotations

from eval_assets.model.verdicts import Comparison, Verdict


def decide(comparison: Comparison) -> Verdict:
    """
    Decide on a comparison, and say why in one sentence per metric that decided it.

    A pass means that something was compared and nothing got worse by more than chance. It does not mean that nothing
    got worse: a drop too small for these runs to show passes too.
    """
    return Verdict(outcome=comparison.outcome, reasons=comparison.offences or (_summary(comparison),))


def _summary(comparison: Comparison) -> str:
    if not comparison.metrics:
        return "nothing was compared, so nothing is known: there is no metric in either report"
    better = [metric.metric for metric in comparison.metrics if metric.direction == "improvement"]
    improved = f"; improved: {', '.join(better)}" if better else ""
    count = len(comparison.metrics)
    return f"{count} metric{'s' if count > 1 else ''} compared, none worse by more than chance{improved}"
