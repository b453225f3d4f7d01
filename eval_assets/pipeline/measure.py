"""Measure one target: execute its evaluation, score the runs, summarize the scores into a report."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from eval_assets.analysis import summarize
from eval_assets.errors import ConfigError, EvaluationIncomplete, NothingMeasured, Problem
from eval_assets.execution import executor, journal
from eval_assets.execution.executor import PlannedRun
from eval_assets.execution.journal import Journal
from eval_assets.metrics import scoring
from eval_assets.model.cases import CaseSet
from eval_assets.model.reports import Report, StoredReport
from eval_assets.model.runs import Evaluation, Provenance, Run
from eval_assets.model.scores import ScoreRow, ScoringTerms
from eval_assets.pipeline import budget as budgets
from eval_assets.pipeline import judges
from eval_assets.pipeline.budget import Budget
from eval_assets.pipeline.workspace import Workspace
from eval_assets.suite import Suite
from eval_assets.targets import cassette, opening


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an evaluation is."""

    finished: int
    expected: int
    errored: int
    """Finished runs in which the target itself failed."""
    unavailable: int
    """Finished runs that got no answer."""


class Scoring(NamedTuple):
    """One pass of the suite's metrics over one evaluation."""

    evaluation_id: str
    scoring_id: str
    scored: int
    unscored: int


class _Scored(NamedTuple):
    terms: ScoringTerms
    rows: list[ScoreRow]


def register_cases(workspace: Workspace) -> CaseSet:
    """Append the suite's case set to the store, unless it is there."""
    workspace.store.append_case_set(workspace.suite.name, workspace.suite.case_set)
    return workspace.suite.case_set


def check_target(suite: Suite, target: str) -> None:
    """
    Find what would stop a target from being asked, or the suite's judges after it, before any of them is.

    Raises:
        ConfigError: The suite has no such target, or every problem of it at once.
    """
    suite.check_has(target)
    found = opening.problems(target, suite.targets, folder=suite.folder, case_set=suite.case_set, runs=suite.runs)
    found += budgets.problems(suite, target)
    problems = [*(Problem(f"target {target!r}: {problem}", suite.path) for problem in found), *judges.problems(suite)]
    if problems:
        raise ConfigError(dict.fromkeys(problems))


def execute_target(
    workspace: Workspace,
    target: str,
    *,
    new: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """
    Run every case against a target and append the evaluation to the store, whole.

    What finished is in a journal as soon as it finished. An interrupted evaluation of the same target, cases and runs
    is resumed: only what is missing is asked.

    Args:
        workspace: The suite and its home.
        target: The target's name in the suite.
        new: Begin a new evaluation even where one was interrupted; that one's journal is set aside.
        progress: Called once at the start and after each run.

    Raises:
        ConfigError: The target cannot be asked as the suite describes it; nothing was asked.
        EvaluationHeld: Another process is executing it.
        EvaluationIncomplete: Ctrl-C, or the budget is spent; what finished is kept.
    """
    with cassette.in_use(workspace.cassette):
        return _executed(workspace, target, new=new, progress=progress or _ignore)


def _executed(workspace: Workspace, target: str, *, new: bool, progress: Callable[[Progress], None]) -> Evaluation:
    check_target(workspace.suite, target)
    _check_passes_a_cassette(workspace, target)
    register_cases(workspace)
    with _journal(workspace, target, new=new) as kept:
        _begin_cassette(workspace, kept)
        budget = budgets.budget_of(workspace, kept)
        if budget is not None:
            budget.check_plan(kept)
        try:
            asyncio.run(_execute(workspace.suite, target, kept, budget, progress))
        except KeyboardInterrupt:
            raise _cut_short(kept) from None
        if budget is not None and len(kept.finished) < kept.evaluation.total_runs:
            raise budget.stopped(kept)
        evaluation = kept.evaluation.model_copy(update={"finished_at": _now()})
        workspace.store.append_evaluation(evaluation, kept.path)
        kept.discard()
    return evaluation


def score_target(workspace: Workspace, target: str) -> Scoring:
    """
    Score the latest evaluation of a target with the suite's metrics and append the scores.

    Judges are asked, once a run each, as many runs at a time as the suite's `concurrency`.

    Raises:
        ConfigError: A judge cannot be asked as the suite describes it; nothing was asked.
        NothingMeasured: The target was never evaluated.
    """
    evaluation = latest_evaluation(workspace, target)
    scoring_id = secrets.token_hex(16)
    with cassette.in_use(workspace.cassette):
        if workspace.cassette is not None:
            workspace.cassette.begin(
                suite=evaluation.suite, target=evaluation.target, evaluation_id=evaluation.evaluation_id
            )
        terms, rows = asyncio.run(_score(workspace, evaluation, scoring_id))
    workspace.store.append_scores(
        evaluation.evaluation_id,
        scoring_id,
        terms.metrics,
        rows,
        scored_at=_now(),
        governance=terms.governance,
        judges=terms.judges,
        unavailable_as=terms.unavailable_as,
    )
    unscored = sum(row.passed is None for row in rows)
    return Scoring(evaluation.evaluation_id, scoring_id, scored=len(rows) - unscored, unscored=unscored)


def summarize_target(workspace: Workspace, target: str) -> StoredReport:
    """
    Summarize the latest scores of a target's latest evaluation into a report and append it.

    Raises:
        NothingMeasured: The target was never evaluated, or its evaluation never scored.
    """
    with workspace.store.at_one_moment():
        evaluation = latest_evaluation(workspace, target)
        scoring_id = workspace.store.latest_scoring(evaluation.evaluation_id)
        if scoring_id is None:
            raise NothingMeasured(f"the latest evaluation of {target!r} has no scores yet; score it before a report")
        report = _report(workspace, evaluation, scoring_id)
    stored = StoredReport(
        report_id=_identity(evaluation.evaluation_id, scoring_id, report.format),
        suite=evaluation.suite,
        target=evaluation.target,
        evaluation_id=evaluation.evaluation_id,
        target_fingerprint=evaluation.target_fingerprint,
        report=report,
    )
    workspace.store.append_report(stored, scoring_id=scoring_id, created_at=_now())
    return stored


def latest_evaluation(workspace: Workspace, target: str) -> Evaluation:
    """
    The latest evaluation of a target, always whole.

    Raises:
        NothingMeasured: The target was never evaluated; the message says how to.
    """
    suite = workspace.suite
    evaluation = workspace.store.latest_evaluation(suite.name, target)
    if evaluation is None:
        raise NothingMeasured(f"{target!r} was never evaluated; do it: eval-assets run {suite.path} {target}")
    return evaluation


def latest_report(workspace: Workspace, target: str) -> StoredReport:
    """
    The latest report of a target.

    Raises:
        ConfigError: The suite has no such target.
        NothingMeasured: There is none; the message says how to make it.
    """
    suite = workspace.suite
    suite.check_has(target)
    stored = workspace.store.latest_report(suite.name, target)
    if stored is None:
        raise NothingMeasured(f"{target!r} has no report yet; measure it: eval-assets run {suite.path} {target}")
    return stored


def _cases_of(workspace: Workspace, evaluation: Evaluation) -> CaseSet:
    """The suite's cases where they are still the ones asked, because tags may have changed; else those stored."""
    if workspace.suite.case_set.hash == evaluation.case_set_hash:
        return workspace.suite.case_set
    return workspace.store.case_set(evaluation.case_set_hash)


def _journal(workspace: Workspace, target: str, *, new: bool) -> Journal:
    """The journal to write: that of an interrupted evaluation of the very same thing, else a new one."""
    replayed_from = workspace.cassette.replayed_from if workspace.cassette else None
    fresh = _evaluation(workspace.suite, target, replayed_from=replayed_from)
    for path, evaluation in journal.interrupted(workspace.journals, suite=workspace.suite.name, target=target):
        if workspace.store.has_evaluation(evaluation.evaluation_id):
            Journal.resume(path).discard()  # killed between the store's commit and the journal's end
        elif new:
            journal.set_aside(path)
        elif _asks_the_same(evaluation, fresh):
            return Journal.resume(path)
    return Journal.start(workspace.journals, fresh)


def _asks_the_same(one: Evaluation, other: Evaluation) -> bool:
    return all(
        getattr(one, field) == getattr(other, field)
        for field in ("case_set_hash", "target_fingerprint", "runs_per_case", "replayed_from")
    )


def _check_passes_a_cassette(workspace: Workspace, target: str) -> None:
    """Refuse a cassette that nothing would pass, because its file would come to hold nothing and be relied on."""
    suite = workspace.suite
    asked = [target, *judges.targets(suite)]
    if workspace.cassette is not None and not any(opening.is_asked_over_http(name, suite.targets) for name in asked):
        raise ConfigError(
            Problem(f"target {target!r} is not asked over HTTP, so no cassette can record or replay it", suite.path)
        )


def _begin_cassette(workspace: Workspace, kept: Journal) -> None:
    if workspace.cassette is None:
        return
    evaluation = kept.evaluation
    held = workspace.cassette.begin(
        suite=evaluation.suite, target=evaluation.target, evaluation_id=evaluation.evaluation_id
    )
    is_recorded = opening.is_asked_over_http(evaluation.target, workspace.suite.targets)
    missing = len(kept.finished - held)
    if is_recorded and missing and evaluation.replayed_from is None:
        raise ConfigError(
            f"{missing} runs of the interrupted evaluation in {kept.path} finished without being recorded in "
            f"{workspace.cassette.path}; begin again with --new, or resume without --record"
        )


def _evaluation(suite: Suite, target: str, *, replayed_from: str | None) -> Evaluation:
    fingerprint = opening.fingerprint(target, suite.targets, folder=suite.folder)
    model_id, temperature, seed = opening.provenance_of(target, suite.targets)
    nonce = secrets.token_hex(8)
    return Evaluation(
        evaluation_id=_identity(suite.case_set.hash, fingerprint, str(suite.runs), str(seed), nonce),
        suite=suite.name,
        target=target,
        case_set_hash=suite.case_set.hash,
        target_fingerprint=fingerprint,
        target_spec=opening.describe(target, suite.targets),
        runs_per_case=suite.runs,
        total_runs=suite.runs * len(suite.case_set.cases),
        nonce=nonce,
        model_id=model_id,
        temperature=temperature,
        seed=seed,
        started_at=_now(),
        replayed_from=replayed_from,
        price=opening.price_of(target, suite.targets),
    )


async def _execute(
    suite: Suite, target: str, kept: Journal, budget: Budget | None, progress: Callable[[Progress], None]
) -> None:
    tally = _Tally(expected=kept.evaluation.total_runs, finished=len(kept.finished), progress=progress)
    tally.tell()

    def on_run(run: Run) -> None:
        kept.append(run)
        tally.add(run)
        if budget is not None:
            budget.finished(run)

    planned = _planned(suite.case_set, kept)
    if budget is not None:
        planned = budget.affordable(planned)
    async with opening.open_target(target, suite.targets, folder=suite.folder, concurrency=suite.concurrency) as opened:
        await executor.execute(
            planned,
            lambda run: opened.ask(run.case, run.run_index, run.run_id),
            concurrency=suite.concurrency,
            on_run=on_run,
        )


def _planned(case_set: CaseSet, kept: Journal) -> Iterator[PlannedRun]:
    """Every missing run, one round over all cases at a time, so that a slow hour of a provider hits all cases alike."""
    finished = frozenset(kept.finished)
    evaluation = kept.evaluation
    for run_index in range(evaluation.runs_per_case):
        for position, case in enumerate(case_set.cases):
            if (case.hash, run_index) not in finished:
                number = position * evaluation.runs_per_case + run_index
                yield PlannedRun(case, run_index, f"{evaluation.nonce}-{number}")


class _Tally:
    """Counts finished runs for whoever watches."""

    def __init__(self, *, expected: int, finished: int, progress: Callable[[Progress], None]) -> None:
        self.expected = expected
        self.finished = finished
        self.errored = 0
        self.unavailable = 0
        self.progress = progress

    def add(self, run: Run) -> None:
        self.finished += 1
        self.unavailable += run.output.unavailable
        self.errored += run.output.error is not None and not run.output.unavailable
        self.tell()

    def tell(self) -> None:
        self.progress(Progress(self.finished, self.expected, self.errored, self.unavailable))


async def _score(workspace: Workspace, evaluation: Evaluation, scoring_id: str) -> _Scored:
    by_hash = {case.hash: case for case in _cases_of(workspace, evaluation).cases}
    rows: list[ScoreRow] = []
    unavailable_as = workspace.suite.gate.unavailable
    with executor.callbacks_may_interrupt():
        async with judges.opened(workspace.suite, scoring_id=scoring_id) as metrics:
            for runs in workspace.store.runs(evaluation.evaluation_id):
                rows += await scoring.score_runs(
                    runs, by_hash, metrics, concurrency=workspace.suite.concurrency, unavailable_as=unavailable_as
                )
    return _Scored(scoring.terms(metrics, unavailable_as=unavailable_as), rows)


def _cut_short(kept: Journal) -> EvaluationIncomplete:
    finished, expected = len(kept.finished), kept.evaluation.total_runs
    message = f"interrupted: {finished} of {expected} runs are kept in {kept.path}; the same command resumes there"
    return EvaluationIncomplete(message, finished=finished, expected=expected)


def _report(workspace: Workspace, evaluation: Evaluation, scoring_id: str) -> Report:
    store = workspace.store
    terms = store.scoring_terms(scoring_id)
    cost = store.cost(evaluation.evaluation_id)
    gaps = store.governance_gaps(scoring_id, terms.governance) if terms.governance else []
    return summarize.summarize(
        _cases_of(workspace, evaluation),
        store.case_counts(scoring_id),
        runs_per_case=evaluation.runs_per_case,
        latency=store.latencies(evaluation.evaluation_id),
        provenance=_provenance(evaluation),
        extensions={
            "suite": evaluation.suite,
            "target": evaluation.target,
            "evaluation_id": evaluation.evaluation_id,
            "target_fingerprint": evaluation.target_fingerprint,
            "replayed_from": evaluation.replayed_from,
            "errored_runs": store.error_count(evaluation.evaluation_id),
            "unavailable": store.unavailable_reasons(evaluation.evaluation_id),
            "usage": store.usage_totals(evaluation.evaluation_id),
            **({} if cost is None else {"cost_usd": cost.model_dump()}),
            **terms.for_report(gaps),
        },
    )


def _provenance(evaluation: Evaluation) -> Provenance:
    return Provenance(
        model_id=evaluation.model_id,
        temperature=evaluation.temperature,
        seed=evaluation.seed,
        timestamp=evaluation.started_at,
        case_set_hash=evaluation.case_set_hash,
    )


def _identity(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:32]


def _ignore(_: Progress) -> None:
    pass


def _now() -> datetime:
    return datetime.now(UTC)
