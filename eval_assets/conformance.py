"""
Certify that a target is fit to be evaluated, with no suite, no store and no Dagster.

    report = conformance.certify(target, conformance.canonical_cases())
    report.passed, report.score, conformance.to_markdown(report)

Here the target is asked; what its answers mean is analysis/conformance, whose names this module gathers.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime
from typing import Any

from eval_assets.analysis import markdown
from eval_assets.analysis.conformance import document as documents
from eval_assets.analysis.conformance.baseline import diff_baseline, missing_since, unmeasured_since
from eval_assets.analysis.conformance.canonical import canonical_cases
from eval_assets.analysis.conformance.judge import judge
from eval_assets.analysis.conformance.tool_calls import ToolCallScore, tool_call_f1
from eval_assets.errors import ConfigError
from eval_assets.execution import executor
from eval_assets.execution.executor import PlannedRun
from eval_assets.model import trajectory_match
from eval_assets.model.cases import Case, CaseSet, ExpectedCall
from eval_assets.model.cases import Expect as Expectation
from eval_assets.model.conformance import CONFORMANCE_FORMAT, CaseConformance, ConformanceReport
from eval_assets.model.runs import Run, RunOutput
from eval_assets.model.trajectory_match import Overlap, TrajectoryMatch
from eval_assets.targets import functions
from eval_assets.targets.target import Target

__all__ = [
    "CONFORMANCE_FORMAT",
    "CaseConformance",
    "ConformanceReport",
    "Expectation",
    "ExpectedCall",
    "Overlap",
    "ToolCallScore",
    "TrajectoryMatch",
    "canonical_cases",
    "certify",
    "certify_async",
    "diff_baseline",
    "judge",
    "match_trajectory",
    "missing_since",
    "score_trajectory",
    "to_markdown",
    "tool_call_f1",
    "unmeasured_since",
]

Certifiable = Target | Callable[[Case], "RunOutput | Awaitable[RunOutput]"]
"""What can be certified: a target, or a function of the case, sync or async."""

match_trajectory = trajectory_match.match


def certify(
    target: Certifiable, cases: Iterable[Case] | CaseSet, *, name: str = "", concurrency: int = 4
) -> ConformanceReport:
    """
    Ask a target every case once and say how it did. A target that is open in an event loop needs `certify_async`.

    Args:
        target: A function (case) -> RunOutput, sync or async, or an object with `ask(case, run_index, run_id)`. What
            it raises is its own error and fails the case.
        cases: The cases, such as `canonical_cases()`; at least one, names unique.
        name: What to call the target in the report.
        concurrency: Cases in flight.

    Raises:
        ConfigError: Bad arguments; nothing was asked.
    """
    return asyncio.run(certify_async(target, cases, name=name, concurrency=concurrency))


async def certify_async(
    target: Certifiable, cases: Iterable[Case] | CaseSet, *, name: str = "", concurrency: int = 4
) -> ConformanceReport:
    """Certify as `certify` does, in a running event loop. A cancelled certification gives no report."""
    asked = _check(target, cases, concurrency)
    began, nonce = datetime.now(UTC), secrets.token_hex(8)
    outputs: dict[str, RunOutput] = {}

    def keep(run: Run) -> None:
        outputs[run.case_name] = run.output

    with functions.open_pool(concurrency) as pool:
        planned = (PlannedRun(case, 0, f"{nonce}-{position}") for position, case in enumerate(asked))
        await executor.execute(planned, _asker(target, pool), concurrency=concurrency, on_run=keep)
    results = [judge(case, outputs[case.name]) for case in asked]
    return ConformanceReport.of(results, target=name, certified_at=began)


def to_markdown(
    report: ConformanceReport, *, title: str = "Conformance", baseline: ConformanceReport | None = None
) -> str:
    """The report as Markdown; against an earlier one, where there is one."""
    return markdown.markdown(documents.conformance_document(report, title=title, baseline=baseline))


def score_trajectory(
    case: Case, output: RunOutput, *, arguments: trajectory_match.Arguments = "exact"
) -> TrajectoryMatch | None:
    """
    Match a run's tool calls with the `tool_calls` its case expects.

    Returns:
        Precision, recall and F1 in any order and in order; None is unscored: the case expects no trajectory, the run
        was not answered, or its calls cannot be read.
    """
    return trajectory_match.of_run(case.expect, output, arguments=arguments)


def _check(target: Any, cases: Iterable[Case] | CaseSet, concurrency: Any) -> Sequence[Case]:
    if not callable(target) and not callable(getattr(target, "ask", None)):
        raise ConfigError(f"target must be a function of the case or have `ask`, but got {target!r}")
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
        raise ConfigError(f"concurrency must be a whole number from 1 up, but got {concurrency!r}")
    asked = cases.cases if isinstance(cases, CaseSet) else tuple(cases)
    if not asked:
        raise ConfigError("there are no cases; a certification of nothing must not look like one that passed")
    names = [case.name for case in asked]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"case names repeat: {', '.join(repeated)}; each needs its own")
    return asked


def _asker(target: Any, pool: Executor) -> executor.Ask:
    asks = getattr(target, "ask", None)

    async def ask(run: PlannedRun) -> RunOutput:
        started = time.perf_counter()
        if callable(asks):
            output = await functions.call(asks, pool, run.case, run.run_index, run.run_id)
        else:
            output = await functions.call(target, pool, run.case)
        return _checked(output, time.perf_counter() - started)

    return ask


def _checked(output: Any, latency_s: float) -> RunOutput:
    if not isinstance(output, RunOutput):
        raise TypeError(f"the target returned {type(output).__name__}, wanted a RunOutput")
    return output if output.latency_s is not None else output.model_copy(update={"latency_s": latency_s})
