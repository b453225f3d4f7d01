"""The targets of a suite that judge: what would keep them from being asked, and metrics bound to them while open."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator

from eval_assets.errors import Problem
from eval_assets.metrics.judge import ChatModel, JudgeMetric
from eval_assets.model import gojson
from eval_assets.model.cases import Case, Message
from eval_assets.model.runs import RunOutput
from eval_assets.model.scores import Metric
from eval_assets.suite import Suite
from eval_assets.targets import opening
from eval_assets.targets.target import Target


def problems(suite: Suite) -> list[Problem]:
    """Everything wrong with the suite's judges that can be found before one is asked."""
    return [
        Problem(f"target {name!r}: {problem}", suite.path)
        for name in targets(suite)
        for problem in opening.problems(
            name, suite.targets, folder=suite.folder, case_set=suite.case_set, runs=suite.runs
        )
    ]


@contextlib.asynccontextmanager
async def opened(suite: Suite, *, scoring_id: str) -> AsyncIterator[tuple[Metric, ...]]:
    """
    The suite's metrics, those that ask a target bound to it for as long as the block runs.

    Raises:
        ConfigError: Something a judge needs is missing; `problems` says so beforehand.
    """
    run_ids = (f"{scoring_id}-{number}" for number in itertools.count())
    async with contextlib.AsyncExitStack() as stack:
        models: dict[str, ChatModel] = {}
        for name in targets(suite):
            target = opening.open_target(name, suite.targets, folder=suite.folder, concurrency=suite.concurrency)
            models[name] = _model(await stack.enter_async_context(target), run_ids)
        yield tuple(_bound(metric, suite, models) for metric in suite.metrics)


def targets(suite: Suite) -> list[str]:
    """The targets that the suite's metrics ask, each once."""
    asked = [metric.asks_target for metric in suite.metrics if isinstance(metric, JudgeMetric)]
    return list(dict.fromkeys(name for name in asked if name is not None))


def _model(target: Target, run_ids: Iterator[str]) -> ChatModel:
    """A target asked as a judge: each question a case of its own, a question that is asked again its next run."""
    times: Counter[str] = Counter()

    async def ask(messages: list[Message]) -> RunOutput:
        question = hashlib.sha256(gojson.utf8(json.dumps(messages, ensure_ascii=False))).hexdigest()[:16]
        run_index = times[question]
        times[question] += 1
        return await target.ask(Case(name=f"judge {question}", messages=tuple(messages)), run_index, next(run_ids))

    return ask


def _bound(metric: Metric, suite: Suite, models: dict[str, ChatModel]) -> Metric:
    if not isinstance(metric, JudgeMetric) or metric.asks_target is None:
        return metric
    name = metric.asks_target
    model_id, _, _ = opening.provenance_of(name, suite.targets)
    fingerprint = opening.fingerprint(name, suite.targets, folder=suite.folder)
    return metric.bind(models[name], model_id=model_id, fingerprint=fingerprint)
