"""An evaluation of a Python function with no suite, no store and no Dagster: what `eval_assets.evaluate` does."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from eval_assets.analysis import summarize, tally
from eval_assets.errors import ConfigError
from eval_assets.execution import executor
from eval_assets.execution.executor import PlannedRun
from eval_assets.metrics import scoring
from eval_assets.metrics.judge import JudgeMetric
from eval_assets.model.cases import Case, CaseSet
from eval_assets.model.reports import Report
from eval_assets.model.runs import Provenance, Run, RunOutput
from eval_assets.model.scores import Metric
from eval_assets.targets import functions

RunFunction = Callable[[str], "RunOutput | Awaitable[RunOutput]"]
"""Answers a case's input; sync or async."""


def evaluate(
    run: RunFunction,
    cases: Sequence[Case],
    metrics: Sequence[Metric],
    *,
    runs: int = 1,
    concurrency: int = 8,
    provenance: Provenance | None = None,
) -> Report:
    """
    Run every case through a function, score the outputs and report pass rates with intervals.

    Args:
        run: A function of the case's input that returns a RunOutput, sync or async. What it raises is the run's error.
        cases: The cases; names unique.
        metrics: The metrics; names unique.
        runs: Runs per case. Use many more than one: 4 of 5 is anything from 38 % to 96 %.
        concurrency: Runs in flight.
        provenance: The conditions, for the report; its case-set hash is always that of `cases`.

    Raises:
        ConfigError: Bad arguments; nothing was run.
    """
    evaluation = evaluate_async(run, cases, metrics, runs=runs, concurrency=concurrency, provenance=provenance)
    return asyncio.run(evaluation)


async def evaluate_async(
    run: RunFunction,
    cases: Sequence[Case],
    metrics: Sequence[Metric],
    *,
    runs: int = 1,
    concurrency: int = 8,
    provenance: Provenance | None = None,
) -> Report:
    """Evaluate as `evaluate` does, in a running event loop. A cancelled evaluation gives no report."""
    case_set = _check(run, cases, metrics, runs=runs, concurrency=concurrency)
    conditions = provenance or Provenance(timestamp=datetime.now(UTC))
    finished: list[Run] = []
    with functions.open_pool(concurrency) as pool:

        async def ask(planned: PlannedRun) -> RunOutput:
            started = time.perf_counter()
            output = await functions.call(run, pool, _asked(planned.case))
            return _with_latency(output, time.perf_counter() - started)

        await executor.execute(_planned(case_set, runs), ask, concurrency=concurrency, on_run=finished.append)
    by_hash = {case.hash: case for case in case_set.cases}
    rows = await scoring.score_runs(finished, by_hash, metrics, concurrency=concurrency)
    terms = scoring.terms(metrics)
    return summarize.summarize(
        case_set,
        tally.case_counts(rows, finished, temperature=conditions.temperature),
        runs_per_case=runs,
        latency=tally.latencies(finished),
        provenance=conditions,
        extensions={
            "unavailable": dict(Counter(r.output.error for r in finished if r.output.unavailable)),
            **terms.for_report(tally.governance_gaps(rows, terms.governance)),
        },
    )


def _check(
    run: RunFunction, cases: Sequence[Case], metrics: Sequence[Metric], *, runs: int, concurrency: int
) -> CaseSet:
    if not callable(run):
        raise ConfigError(f"run must be a function of the input, but got {run!r}")
    for name, value in (("runs", runs), ("concurrency", concurrency)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ConfigError(f"{name} must be a whole number from 1 up, but got {value!r}")
    scoring.check(metrics)
    _check_judges(metrics)
    try:
        return CaseSet(cases=tuple(cases))
    except ValidationError as error:
        raise ConfigError("; ".join(detail["msg"] for detail in error.errors())) from error


def _check_judges(metrics: Iterable[Metric]) -> None:
    for metric in metrics:
        if isinstance(metric, JudgeMetric) and metric.asks_target is not None:
            raise ConfigError(
                f"the judge of {metric.name!r} is {metric.asks_target!r}, a target of a suite, and there is no suite "
                "here; give the model as a function: metrics.judge(name, model, rubric)"
            )


def _planned(case_set: CaseSet, runs: int) -> Iterable[PlannedRun]:
    nonce = secrets.token_hex(8)
    for run_index in range(runs):
        for position, case in enumerate(case_set.cases):
            yield PlannedRun(case, run_index, f"{nonce}-{position * runs + run_index}")


def _asked(case: Case) -> Any:
    return case.input if case.messages is None else case.chat()


def _with_latency(output: RunOutput, latency_s: float) -> RunOutput:
    if not isinstance(output, RunOutput):
        raise TypeError(f"run returned {type(output).__name__}, wanted a RunOutput")
    return output if output.latency_s is not None else output.model_copy(update={"latency_s": latency_s})
