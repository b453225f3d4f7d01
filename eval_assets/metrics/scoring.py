"""Ask metrics of runs, and hold the rules all of them share."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
from collections import Counter
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, NamedTuple

from eval_assets.errors import ConfigError
from eval_assets.metrics import arguments
from eval_assets.metrics.judge import JudgeMetric
from eval_assets.model.cases import Case
from eval_assets.model.runs import Run, RunOutput
from eval_assets.model.scores import Failed, Metric, Passed, Score, ScoreRow, ScoringTerms, Unscored
from eval_assets.model.verdicts import UnavailableAs

_SCORES = (Passed, Failed, Unscored)
_ANSWERS = (bool, *_SCORES)
_NOT_YET = Unscored("not asked yet")


class _Question(NamedTuple):
    """A metric that is yet to be asked of a run, and the row its score belongs in."""

    row: int
    metric: Metric
    case: Case
    run: Run


def check(metrics: Sequence[Metric]) -> None:
    """
    Refuse a list of metrics that no report could key.

    Raises:
        ConfigError: There is none, or two share a name.
    """
    if not metrics:
        raise ConfigError("no metric is given; an evaluation without one measures nothing")
    repeated = sorted(name for name, times in Counter(metric.name for metric in metrics).items() if times > 1)
    if repeated:
        raise ConfigError(f"metric names repeat: {', '.join(repeated)}; a report keys metrics by name")


def terms(metrics: Sequence[Metric], *, unavailable_as: UnavailableAs = "unscored") -> ScoringTerms:
    """What scores by these metrics rest on."""
    return ScoringTerms(
        metrics=tuple(metric.name for metric in metrics),
        governance=tuple(metric.name for metric in metrics if metric.kind == "governance"),
        judges={metric.name: metric.provenance() for metric in metrics if isinstance(metric, JudgeMetric)},
        unavailable_as=unavailable_as,
    )


async def score_runs(
    runs: Iterable[Run],
    cases: Mapping[str, Case],
    metrics: Sequence[Metric],
    *,
    concurrency: int = 8,
    unavailable_as: UnavailableAs = "unscored",
) -> list[ScoreRow]:
    """
    Score every run with every metric that is asked of its case.

    Args:
        runs: The runs.
        cases: Case by case hash; holds the case of every run.
        metrics: The metrics, names unique.
        concurrency: Questions in flight, >= 1, of the metrics that wait for someone; the others are asked in turn.
        unavailable_as: `fail` puts a run that was never answered to the metrics as one that ended in an error.

    Returns:
        One row per run and metric, in that order. A row whose `passed` is None is unscored and says why.
    """
    asked = {case_hash: [metric for metric in metrics if metric.asks(case)] for case_hash, case in cases.items()}
    rows: list[ScoreRow] = []
    waiting: list[_Question] = []
    for run in runs:
        case = cases[run.case_hash]
        errored = _as_errored(run) if unavailable_as == "fail" else run
        for metric in asked[run.case_hash]:
            put = run if metric.asks_unavailable else errored
            if metric.waits:
                waiting.append(_Question(len(rows), metric, case, put))
                rows.append(_row(run, metric, _NOT_YET))
            else:
                answer = _asked(metric, case, put.output)
                score = answer if isinstance(answer, _SCORES) else await _awaited(answer)
                rows.append(_row(run, metric, score))
    if waiting:
        await _answer(waiting, rows, concurrency)
    return rows


async def score_output(metric: Metric, case: Case, output: RunOutput, *, pool: Executor | None = None) -> Score:
    """
    Ask one metric of one output.

    An output that was never had is unscored, whatever the metric. So is one whose metric raised or did not answer with
    a bool; the reason is kept.

    Args:
        metric: The question.
        case: What the run was asked.
        output: What came back.
        pool: Where a sync metric that waits for someone is asked, so that it does not hold up the others.
    """
    if pool is None or arguments.is_async(metric.function):
        answer = _asked(metric, case, output)
    else:
        asked = functools.partial(contextvars.copy_context().run, _asked, metric, case, output)
        answer = await asyncio.get_running_loop().run_in_executor(pool, asked)
    return answer if isinstance(answer, _SCORES) else await _awaited(answer)


def _as_errored(run: Run) -> Run:
    if not run.output.unavailable:
        return run
    return run.model_copy(update={"output": run.output.model_copy(update={"unavailable": False})})


def _asked(metric: Metric, case: Case, output: RunOutput) -> Score | Awaitable[Any]:
    """What the metric says, or what has to be awaited first."""
    if output.unavailable and not metric.asks_unavailable:
        return Unscored(f"unavailable: {output.error}")
    try:
        answer = metric.function(case, output)
    except Exception as error:  # noqa: BLE001  a metric may be anyone's code, and must not end the scoring of others
        return _raised(error)
    # Asked of bools last, because looking for __await__ takes longer than most metrics do.
    if isinstance(answer, _ANSWERS) or not inspect.isawaitable(answer):
        return _score(answer)
    return answer


async def _awaited(answer: Awaitable[Any]) -> Score:
    try:
        return _score(await answer)
    except asyncio.CancelledError as error:
        if _is_being_cancelled():
            raise
        # A TaskGroup takes a stray CancelledError for a worker told to stop, and the rest would never be asked.
        return _raised(error)
    except Exception as error:  # noqa: BLE001  as above
        return _raised(error)


def _raised(error: BaseException) -> Unscored:
    return Unscored(f"{type(error).__name__}: {error}")


async def _answer(waiting: Iterable[_Question], rows: list[ScoreRow], concurrency: int) -> None:
    """Put the questions, `concurrency` at a time, and each score into its row."""
    questions = iter(waiting)
    with _pool(concurrency) as pool:

        async def work() -> None:
            for row, metric, case, run in questions:
                rows[row] = _row(run, metric, await score_output(metric, case, run.output, pool=pool))

        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(concurrency):
                    workers.create_task(work())
        except BaseExceptionGroup as group:
            # Only an interrupt gets here; callers know it by its own name.
            raise group.exceptions[0] from None


@contextlib.contextmanager
def _pool(concurrency: int) -> Iterator[Executor]:
    pool = ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="metric")
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _score(answer: Any) -> Score:
    if isinstance(answer, _SCORES):
        return answer
    if isinstance(answer, bool) or type(answer).__name__ == "bool":  # numpy's bool is not Python's
        return Passed() if answer else Failed()
    return Unscored(f"the metric returned {answer!r} ({type(answer).__name__}), wanted True or False")


def _row(run: Run, metric: Metric, score: Score) -> ScoreRow:
    return ScoreRow(run.case_hash, run.run_index, metric.name, _passed(score), _reason(score), score.detail)


def _passed(score: Score) -> bool | None:
    return None if isinstance(score, Unscored) else isinstance(score, Passed)


def _reason(score: Score) -> str | None:
    return None if isinstance(score, Passed) else score.reason
