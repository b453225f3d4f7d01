"""A certification as a document: the verdict, every case with what was wrong, the tool calls, what regressed."""

from __future__ import annotations

from collections.abc import Iterator

from eval_assets.analysis.conformance import baseline as baselines
from eval_assets.analysis.conformance import tool_calls
from eval_assets.analysis.document import Cell, Column, Document, Heading, Paragraph, Table
from eval_assets.errors import NothingMeasured
from eval_assets.model.conformance import CaseConformance, ConformanceReport

_COLUMNS = (
    Column("case"),
    Column("result"),
    Column("latency", "right"),
    Column("tool called"),
    Column("what was wrong, and what to know"),
)


def conformance_document(
    report: ConformanceReport, *, title: str, baseline: ConformanceReport | None = None
) -> Document:
    """Show a certification; against an earlier one, where there is one."""
    return (
        Heading(title),
        _verdict(report),
        Table(_COLUMNS, tuple(_row(result) for result in report.results)),
        Paragraph(tool_call_sentence(report)),
        *(_since(baseline, report) if baseline is not None else ()),
    )


def tool_call_sentence(report: ConformanceReport) -> str:
    """Precision, recall and F1 of the tool calls, or why there are none."""
    try:
        score = tool_calls.tool_call_f1(report.results)
    except NothingMeasured as error:
        return f"Tool calls: {error}."
    left_out = sum(result.called_any_tool is None for result in report.results)
    apart = f", {left_out} of {len(report.results)} cases left out as unknown" if left_out else ""
    return f"Tool calls: precision {score.precision:.3f}, recall {score.recall:.3f}, F1 {score.f1:.3f}{apart}."


def _verdict(report: ConformanceReport) -> Paragraph:
    counts = f"{len(report.passing)} of {len(report.results)} cases passed, {len(report.failing)} failed"
    if report.unmeasured:
        counts += f", {len(report.unmeasured)} not measured"
    score = "" if report.score is None else f"; score {report.score:.1%} of those measured"
    if report.passed:
        return Paragraph(f"Certified: {counts}{score}.", "good")
    return Paragraph(f"Not certified: {counts}{score}.", "bad" if report.failing else "unsure")


def _row(result: CaseConformance) -> tuple[Cell, ...]:
    said = [*result.failures, *([f"not certified: {result.unmeasured}"] if result.unmeasured else []), *result.notes]
    return (
        Cell(result.id),
        _result(result),
        Cell("unknown" if result.latency_s is None else f"{result.latency_s:.2f} s"),
        _tool(result),
        Cell("; ".join(said)),
    )


def _result(result: CaseConformance) -> Cell:
    if result.passed:
        return Cell("✓ passed", "good")
    return Cell("? not measured", "unsure") if result.unmeasured else Cell("✗ failed", "bad")


def _tool(result: CaseConformance) -> Cell:
    if result.called_any_tool is None:
        return Cell("unknown", "unsure")
    if not result.called_any_tool:
        return Cell("none", "quiet")
    return Cell(result.tool_called or "a tool without a name")


def _since(baseline: ConformanceReport, report: ConformanceReport) -> Iterator[Paragraph]:
    regressed = baselines.diff_baseline(baseline, report)
    missing = baselines.missing_since(baseline, report)
    unmeasured = baselines.unmeasured_since(baseline, report)
    if regressed:
        yield Paragraph(f"Passed before and fails now: {', '.join(regressed)}.", "bad")
    if missing:
        yield Paragraph(f"In the baseline and not asked now: {', '.join(missing)}.", "unsure")
    if unmeasured:
        yield Paragraph(f"Passed before and not measured now: {', '.join(unmeasured)}.", "unsure")
    if not regressed and not missing and not unmeasured:
        yield Paragraph("Nothing that passed before fails or is missing now.", "quiet")
