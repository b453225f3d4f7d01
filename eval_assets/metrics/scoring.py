"""Ask metrics of runs, and hold the rules all of them share."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eval_assets.errors import ConfigError
from eval_assets.model.cases import Case
from eval_assets.model.runs import Run, RunOutput
from eval_assets.model.scores import Failed, Metric, Passed, Score, ScoreRow, Unscored


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


async def score_runs(runs: Iterable[Run], cases: Mapping[str, Case], metrics: Sequence[Metric]) -> list[ScoreRow]:
    """
    Score every run with every metric that is asked of its case.

    Args:
        runs: The runs.
        cases: Case by case hash; holds the case of every run.
        metrics: The metrics, names unique.

    Returns:
        One row per run and metric, in that order. A row whose `passed` is None is unscored and says why.
    """
    asked = {case_hash: [metric for metric in metrics if metric.asks(case)] for case_hash, case in cases.items()}
    rows = []
    for run in runs:
        for metric in asked[run.case_hash]:
            score = await score_output(metric, cases[run.case_hash], run.output)
            rows.append(ScoreRow(run.case_hash, run.run_index, metric.name, _passed(score), _reason(score)))
    return rows


async def score_output(metric: Metric, case: Case, output: RunOutput) -> Score:
    """
    Ask one metric of one output.

    An output that was never had is unscored, whatever the metric. So is one whose metric raised or did not answer with
    a bool; the reason is kept.
    """
    if output.unavailable and not metric.asks_unavailable:
        return Unscored(f"unavailable: {output.error}")
    try:
        answer = metric.function(case, output)
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as error:  # noqa: BLE001  a metric may be anyone's code, and must not end the scoring of others
        return Unscored(f"{type(error).__name__}: {error}")
    return _score(answer)


def _score(answer: Any) -> Score:
    if isinstance(answer, (Passed, Failed, Unscored)):
        return answer
    if isinstance(answer, bool) or type(answer).__name__ == "bool":  # numpy's bool is not Python's
        return Passed() if answer else Failed()
    return Unscored(f"the metric returned {answer!r} ({type(answer).__name__}), wanted True or False")


def _passed(score: Score) -> bool | None:
    return None if isinstance(score, Unscored) else isinstance(score, Passed)


def _reason(score: Score) -> str | None:
    return None if isinstance(score, Passed) else score.reason
