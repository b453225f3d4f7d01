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

from eval_assets.analysis import summarize
from eval_assets.errors import ConfigError
from eval_assets.execution import executor
from eval_assets.execution.executor import PlannedRun
from eval_assets.metrics import scoring
from eval_assets.model.cases import Case, CaseSet
from eval_assets.model.reports import LatencySummary, Report
from eval_assets.model.runs import Provenance, Run, RunOutput
from eval_assets.model.scores import CaseCount, Metric, ScoreRow
from eval_assets.stats import quantiles
from eval_assets.targets import functions

RunFunction = Callable[[str], "RunOutput | Awaitable[RunOutput]"]
"""Answers a case's input; sync or async."""

_NANOSECONDS = 1_000_000_000


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
    began = datetime.now(UTC)
    finished: list[Run] = []
    with functions.open_pool(concurrency) as pool:

        async def ask(planned: PlannedRun) -> RunOutput:
            started = time.perf_counter()
            output = await functions.call(run, pool, _asked(planned.case))
            return _with_latency(output, time.perf_counter() - started)

        await executor.execute(_planned(case_set, runs), ask, concurrency=concurrency, on_run=finished.append)
    by_hash = {case.hash: case for case in case_set.cases}
    rows = await scoring.score_runs(finished, by_hash, metrics)
    return summarize.summarize(
        case_set,
        _counts(rows),
        runs_per_case=runs,
        latency=_latency(finished),
        provenance=provenance or Provenance(timestamp=began),
        extensions={"unavailable": dict(Counter(r.output.error for r in finished if r.output.unavailable))},
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
    try:
        return CaseSet(cases=tuple(cases))
    except ValidationError as error:
        raise ConfigError("; ".join(detail["msg"] for detail in error.errors())) from error


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


def _counts(rows: Iterable[ScoreRow]) -> list[CaseCount]:
    tallies: dict[tuple[str, str], Counter[bool | None]] = {}
    for row in rows:
        tallies.setdefault((row.case_hash, row.metric), Counter())[row.passed] += 1
    return [
        CaseCount(case_hash, metric, tally[True], tally[True] + tally[False], tally[None])
        for (case_hash, metric), tally in tallies.items()
    ]


def _latency(runs: Sequence[Run]) -> LatencySummary:
    every = _nanoseconds(runs)
    errored = _nanoseconds([run for run in runs if run.output.error is not None])
    return LatencySummary(
        p50=quantiles.nearest_rank(every, 50),
        p95=quantiles.nearest_rank(every, 95),
        errored_p50=quantiles.nearest_rank(errored, 50),
        errored_p95=quantiles.nearest_rank(errored, 95),
    )


def _nanoseconds(runs: Sequence[Run]) -> list[int]:
    known = (run.output.latency_s for run in runs)
    return sorted(round(latency * _NANOSECONDS) for latency in known if latency is not None)
