"""Nouns as what the Dagster UI shows of them: facts, numbers to plot, a Markdown table. Words come from `analysis`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dagster as dg

from eval_assets.analysis import markdown, render
from eval_assets.analysis.conformance.document import conformance_document
from eval_assets.analysis.conformance.tool_calls import tool_call_f1
from eval_assets.analysis.document import Cell, Column, Document, Table
from eval_assets.errors import NothingMeasured
from eval_assets.model.cases import CaseSet
from eval_assets.model.conformance import ConformanceReport
from eval_assets.model.reports import Report, StoredReport
from eval_assets.model.runs import Evaluation
from eval_assets.model.scores import CaseCount
from eval_assets.model.verdicts import Comparison, MetricComparison, Promotion, StoredVerdict, Verdict
from eval_assets.pipeline import Certified

Metadata = dict[str, Any]


def of_case_set(case_set: CaseSet) -> Metadata:
    """How many cases, of which tags, and the hash they are known by."""
    tagged = [(tag, sum(tag in case.tags for case in case_set.cases)) for tag in case_set.tags]
    counts = [("(all)", len(case_set.cases)), *tagged]
    return {
        "cases": len(case_set.cases),
        "case_set_hash": case_set.hash,
        "cases_by_tag": _table(("tag", "cases"), counts),
    }


def of_evaluation(evaluation: Evaluation, *, errored: int, unavailable: Mapping[str, int]) -> Metadata:
    """What was asked of which model, when, and how many runs came back in which way."""
    unanswered = sum(unavailable.values())
    answered = evaluation.total_runs - errored - unanswered
    runs = [("answered", answered), ("failed by the target", errored)]
    return {
        "target": evaluation.target,
        "model": evaluation.model_id or "unknown",
        "evaluation_id": evaluation.evaluation_id,
        "case_set_hash": evaluation.case_set_hash,
        "target_fingerprint": evaluation.target_fingerprint,
        "runs": evaluation.total_runs,
        "runs_per_case": evaluation.runs_per_case,
        "errored_runs": errored,
        "unavailable_runs": unanswered,
        "started_at": dg.MetadataValue.timestamp(evaluation.started_at),
        "finished_at": dg.MetadataValue.timestamp(evaluation.finished_at or evaluation.started_at),
        "runs_by_ending": _table(
            ("ending", "runs"), [*runs, *((f"no answer: {reason}", count) for reason, count in unavailable.items())]
        ),
    }


def of_certification(certified: Certified) -> Metadata:
    """Which cases passed, what failed in a sentence each, what got worse, and how well tools were called."""
    report = certified.report
    before = None if certified.before is None else certified.before.report
    document = conformance_document(report, title=f"conformance of {report.target}", baseline=before)
    return {
        "target": report.target,
        "certification_id": certified.stored.certification_id,
        "target_fingerprint": certified.stored.target_fingerprint,
        "passed_cases": len(report.passing),
        "failed_cases": len(report.failing),
        "unmeasured_cases": len(report.unmeasured),
        "failures": [f"{result.id}: {failure}" for result in report.failing for failure in result.failures],
        "regressions": certified.regressed,
        **({} if report.score is None else {"score": report.score}),
        **_tool_calls(report),
        "conformance": _markdown(document),
    }


def of_scores(evaluation_id: str, scoring_id: str, counts: Sequence[CaseCount]) -> Metadata:
    """How often each metric passed and how often it could not score."""
    names = sorted({count.metric for count in counts})
    sums = [
        (
            name,
            sum(count.passes for count in counts if count.metric == name),
            sum(count.scored for count in counts if count.metric == name),
            sum(count.unscored for count in counts if count.metric == name),
        )
        for name in names
    ]
    return {
        "evaluation_id": evaluation_id,
        "scoring_id": scoring_id,
        "metrics": len(names),
        "scored": sum(scored for _, _, scored, _ in sums),
        "unscored": sum(unscored for _, _, _, unscored in sums),
        "scores_by_metric": _table(("metric", "passes", "scored", "unscored"), sums),
    }


def of_report(stored: StoredReport) -> Metadata:
    """The report itself, and a number per metric that the UI plots over time."""
    report, provenance = stored.report, stored.report.provenance
    return {
        "target": stored.target,
        "model": provenance.model_id or "unknown",
        "report_id": stored.report_id,
        "evaluation_id": stored.evaluation_id,
        "case_set_hash": provenance.case_set_hash,
        "runs": report.total_runs,
        **_latencies(report),
        **{f"rate {name}": stat.rate for name, stat in report.overall.items() if stat.scored},
        **{f"unscored {name}": stat.unscored for name, stat in report.overall.items()},
        "report": _markdown(render.report_document(report, title=f"report of {stored.target} in {stored.suite}")),
    }


def of_verdict(stored: StoredVerdict, comparison: Comparison) -> Metadata:
    """The verdict with its reasons, what it is bound to, and every metric side by side."""
    title = f"{stored.candidate} in {stored.suite}"
    return {
        "verdict": stored.verdict.outcome,
        "verdict_id": stored.verdict_id,
        "comparison_id": stored.comparison_id,
        "baseline_report_id": stored.baseline_report_id,
        "candidate_report_id": stored.candidate_report_id,
        "case_set_hash": comparison.new.case_set_hash,
        "model": comparison.new.model_id or "unknown",
        "decided_by": stored.decided_by,
        "decided_at": dg.MetadataValue.timestamp(stored.decided_at),
        **{f"rate {metric.metric}": metric.new_rate for metric in comparison.metrics if metric.new_scored},
        **{f"change {metric.metric}": metric.rate_delta for metric in comparison.metrics if _was_tested(metric)},
        "comparison": _markdown(render.comparison_document(comparison, stored.verdict, title=title)),
    }


def of_drift(comparison: Comparison, verdict: Verdict, *, before: StoredReport) -> Metadata:
    """How the baseline's report differs from the one before it."""
    title = f"{before.target} against itself, before"
    return {
        "compared_with": before.report_id,
        "outcome": verdict.outcome,
        "drift": _markdown(render.comparison_document(comparison, verdict, title=title)),
    }


def of_promotion(promotion: Promotion) -> Metadata:
    """Who promoted what, why, and on which verdict."""
    facts = promotion.model_dump(mode="json")
    return {
        **facts,
        "promoted_at": dg.MetadataValue.timestamp(promotion.promoted_at),
        "promotion": _table(("fact", "value"), facts.items()),
    }


def _tool_calls(report: ConformanceReport) -> Metadata:
    # What was not measured is left out; plotted as 0 it would look like a fall.
    try:
        score = tool_call_f1(report.results)
    except NothingMeasured:
        return {}
    return {
        "tool_call_precision": score.precision,
        "tool_call_recall": score.recall,
        "tool_call_f1": score.f1,
    }


def _was_tested(metric: MetricComparison) -> bool:
    # The change of a metric that cannot be judged is unknown; plotted as 0 it would look like a calm week.
    return metric.direction != "inconclusive"


def _latencies(report: Report) -> Metadata:
    known = {"latency_p50_ms": report.latency_p50, "latency_p95_ms": report.latency_p95}
    return {name: nanoseconds / 1_000_000 for name, nanoseconds in known.items() if nanoseconds is not None}


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> dg.MarkdownMetadataValue:
    cells = tuple(tuple(Cell(str(value)) for value in row) for row in rows)
    first, *others = columns
    return _markdown((Table((Column(first), *(Column(name, "right") for name in others)), cells),))


def _markdown(document: Document) -> dg.MarkdownMetadataValue:
    return dg.MetadataValue.md(markdown.markdown(document))
