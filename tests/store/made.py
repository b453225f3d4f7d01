"""Small nouns and journals for the store's tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from eval_assets.model.cases import CaseSet
from eval_assets.model.reports import REPORT_FORMAT, CaseReport, MetricStat, Report, StoredReport
from eval_assets.model.runs import Evaluation, Provenance, Run, RunOutput, Usage
from eval_assets.model.verdicts import Promotion

START = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def made_evaluation(case_set: CaseSet, *, number: int = 1, runs_per_case: int = 2, target: str = "prod") -> Evaluation:
    return Evaluation(
        evaluation_id=f"evaluation-{number}",
        suite="support",
        target=target,
        case_set_hash=case_set.hash,
        target_fingerprint=f"fingerprint-{number}",
        target_spec={"kind": "openai_chat", "temperature": 0.7},
        runs_per_case=runs_per_case,
        total_runs=runs_per_case * len(case_set.cases),
        nonce=f"nonce-{number}",
        model_id="triage-1",
        temperature=0.7,
        seed=None,
        started_at=START + timedelta(hours=number),
        finished_at=START + timedelta(hours=number, minutes=1),
    )


def made_runs(evaluation: Evaluation, case_set: CaseSet, output: Callable[[int], RunOutput]) -> list[Run]:
    """Runs in the order of cases and run indexes."""
    return [
        Run(
            case_name=case.name,
            case_hash=case.hash,
            run_index=run_index,
            run_id=f"{evaluation.nonce}-{place * evaluation.runs_per_case + run_index}",
            started_at=START,
            output=output(place * evaluation.runs_per_case + run_index),
        )
        for place, case in enumerate(case_set.cases)
        for run_index in range(evaluation.runs_per_case)
    ]


def journal_lines(evaluation: Evaluation, runs: Iterable[Run]) -> list[dict[str, Any]]:
    """A journal as execution writes it."""
    header = {"format": "eval_assets.journal.v1", "evaluation": evaluation.model_dump(mode="json")}
    return [header, *(_journal_line(run) for run in runs)]


def _journal_line(run: Run) -> dict[str, Any]:
    trajectory = run.output.trajectory if run.output.messages and not run.output.trace_error else None
    return {
        "run": run.model_dump(mode="json", by_alias=True),
        "steps": None if trajectory is None else trajectory.steps,
        "tool_calls": None if trajectory is None else list(trajectory.tool_names),
    }


def write_journal(path: Path, lines: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def answered(place: int) -> RunOutput:
    return RunOutput(final=f"answer {place}", latency_s=place / 10, usage=Usage(input_tokens=10, output_tokens=place))


def made_report(case_set: CaseSet, *, number: int = 1, target: str = "prod", passes: int = 3) -> StoredReport:
    stat = MetricStat(passes=passes, scored=4, unscored=1, rate=passes / 4, ci_low=0.0, ci_high=1.0)
    report = Report(
        format=REPORT_FORMAT,
        runs_per_case=5,
        total_runs=5,
        cases=(CaseReport(name="zeta", hash=case_set.cases[0].hash, metrics={"no_error": stat}),),
        overall={"no_error": stat},
        by_tag={"refund": {"no_error": stat}},
        latency_p50=5,
        provenance=Provenance(model_id="triage-1", timestamp=START, case_set_hash=case_set.hash),
        extensions={"note": "kept"},
    )
    return StoredReport(
        report_id=f"report-{number}",
        suite="support",
        target=target,
        evaluation_id="evaluation-1",
        target_fingerprint="fingerprint-1",
        report=report,
    )


def made_promotion(number: int) -> Promotion:
    return Promotion(
        promotion_id=f"promotion-{number}",
        verdict_id="verdict-1",
        suite="support",
        candidate="next",
        baseline_report_id="old",
        candidate_report_id="new",
        reason="it is better",
        promoted_by="cli",
        promoted_at=START + timedelta(minutes=number),
    )
