"""
Decide, with evidence, whether a new model, prompt or agent may replace the one in production.

Read the boundary first. An evaluation measures the *judgement* of a target, statistically: labelled cases, run many
times, scored by metrics, reported as pass rates with intervals. A pass rate is evidence about that judgement on those
cases. It is not a proof, and it says nothing about inputs that are not in the case set.

    report = evaluate(run, cases, [metrics.no_error(), metrics.contains("4")], runs=20)
    comparison = compare(old_report, new_report)
    comparison.gate()        # returns, or raises Regression or Inconclusive

Names are imported when they are first used, because the command line must not pay for what it does not need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eval_assets import conformance, metrics
    from eval_assets.agent_runs import agent_runner
    from eval_assets.analysis.compare import compare
    from eval_assets.errors import ConfigError, EvalError, FormatError, GateError, Inconclusive, Regression
    from eval_assets.in_memory import evaluate, evaluate_async
    from eval_assets.model.cases import Case, CaseSet, hash_cases
    from eval_assets.model.reports import REPORT_FORMAT, MetricStat, Report
    from eval_assets.model.runs import Provenance, RunOutput, ToolCall, Trajectory, Usage
    from eval_assets.model.verdicts import Comparison, GatePolicy, MetricComparison, Verdict
    from eval_assets.stats.power import required_runs

_HOMES = {
    "eval_assets.agent_runs": ("agent_runner",),
    "eval_assets.analysis.compare": ("compare",),
    "eval_assets.errors": ("ConfigError", "EvalError", "FormatError", "GateError", "Inconclusive", "Regression"),
    "eval_assets.in_memory": ("evaluate", "evaluate_async"),
    "eval_assets.model.cases": ("Case", "CaseSet", "hash_cases"),
    "eval_assets.model.reports": ("REPORT_FORMAT", "MetricStat", "Report"),
    "eval_assets.model.runs": ("Provenance", "RunOutput", "ToolCall", "Trajectory", "Usage"),
    "eval_assets.model.verdicts": ("Comparison", "GatePolicy", "MetricComparison", "Verdict"),
    "eval_assets.stats.power": ("required_runs",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "REPORT_FORMAT",
    "Case",
    "CaseSet",
    "Comparison",
    "ConfigError",
    "EvalError",
    "FormatError",
    "GateError",
    "GatePolicy",
    "Inconclusive",
    "MetricComparison",
    "MetricStat",
    "Provenance",
    "Regression",
    "Report",
    "RunOutput",
    "ToolCall",
    "Trajectory",
    "Usage",
    "Verdict",
    "agent_runner",
    "compare",
    "conformance",
    "evaluate",
    "evaluate_async",
    "hash_cases",
    "metrics",
    "required_runs",
]


def __getattr__(name: str) -> Any:
    if name in {"conformance", "metrics"}:
        return importlib.import_module(f"eval_assets.{name}")
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
