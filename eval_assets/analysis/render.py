"""Reports, comparisons and verdicts as documents: the words and numbers a person decides by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from eval_assets.analysis import words
from eval_assets.analysis.document import Cell, Column, Document, Heading, Paragraph, Table, Tone
from eval_assets.model.reports import CaseReport, MetricStat, Report
from eval_assets.model.runs import Provenance
from eval_assets.model.verdicts import Comparison, Direction, MetricComparison, Verdict

CAUTION = "A pass rate is evidence about a model's judgement on these cases, not a proof."

_SHOWN_REPEATS = 5
_MOST_CASES = 20  # A person reads the worst ones; the JSON has all of them.
_SMALLEST_SHOWN = 0.0001  # A p is never 0, however it rounds.
_NANOSECONDS = 1_000_000_000
_STAT_COLUMNS = (
    Column("passed", "right"),
    Column("of scored", "right"),
    Column("of asked", "right"),
    Column("rate", "right"),
    Column("95 % interval", "right"),
)
_DIRECTIONS: Mapping[Direction, Cell] = {
    "regression": Cell("✗ regression", "bad"),
    "improvement": Cell("✓ improvement", "good"),
    "flat": Cell("= flat", "quiet"),
    "inconclusive": Cell("? inconclusive", "unsure"),
}
_FLOORS: Mapping[str, Cell] = {
    "held": Cell("✓ held", "good"),
    "missed": Cell("✗ missed", "bad"),
    "inconclusive": Cell("? open", "unsure"),
}
_NOT_ASKED = Cell("·", "quiet")
_NOT_KNOWN = Cell("–", "quiet")
_OUTCOMES: Mapping[str, Tone] = {"pass": "good", "regression": "bad", "inconclusive": "unsure"}


def report_document(report: Report, *, title: str) -> Document:
    """Show a report: what was measured, overall and per tag, the worst cases, latency, provenance."""
    blocks: list[Heading | Paragraph | Table] = [
        Heading(title),
        Paragraph(f"{len(report.cases)} cases × {report.runs_per_case} runs. {_provenance(report.provenance)}"),
        *_replayed(report.extensions),
        _stat_table("metric", report.overall.items()),
        *_unavailable(report.extensions),
        *_reach(report.extensions),
        *_governance(report),
    ]
    blocks += [
        *_by_tag(report),
        *_worst_cases(report),
        Paragraph(latency_sentence(report)),
        *_money(report),
        Paragraph(CAUTION, "quiet"),
    ]
    return tuple(blocks)


def comparison_document(comparison: Comparison, verdict: Verdict, *, title: str) -> Document:
    """Show a comparison: the verdict first, then why, then every metric."""
    blocks: list[Heading | Paragraph | Table] = [
        Heading(title),
        Paragraph(f"Verdict: {verdict.outcome}", _OUTCOMES[verdict.outcome]),
        *(Paragraph(reason) for reason in verdict.reasons),
        _comparison_table(comparison),
        *_floors(comparison),
    ]
    notes = [f"{metric.metric}: {metric.note}" for metric in comparison.metrics if metric.note]
    already = " ".join(verdict.reasons)
    blocks += [Paragraph(note) for note in notes if note.partition(": ")[2] not in already]
    blocks.append(Paragraph(_method(comparison), "quiet"))
    return tuple(blocks)


def metric_table(report: Report) -> Document:
    """Only the overall table of a report and why runs were not answered, for places with little room."""
    return (_stat_table("metric", report.overall.items()), *_unavailable(report.extensions))


def comparison_table(comparison: Comparison) -> Document:
    """Only the table of a comparison, for places with little room."""
    return (_comparison_table(comparison),)


def percent(rate: float) -> str:
    """A rate in per cent, one decimal."""
    return f"{rate:.1%}"


def seconds(nanoseconds: int | None) -> str:
    """A latency as a person says it; unknown where it is."""
    if nanoseconds is None:
        return "unknown"
    value = nanoseconds / _NANOSECONDS
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def _stat_table(first: str, stats: Iterable[tuple[str, MetricStat]]) -> Table:
    rows = tuple((Cell(name), *_stat_cells(stat)) for name, stat in stats)
    return Table((Column(first), *_STAT_COLUMNS), rows)


def _stat_cells(stat: MetricStat) -> tuple[Cell, ...]:
    rate = Cell(percent(stat.rate)) if stat.scored else Cell("not measured", "unsure")
    return (
        Cell(str(stat.passes)),
        Cell(str(stat.scored), "unsure" if stat.unscored else "plain"),
        Cell(str(stat.expected)),
        rate,
        Cell(f"{percent(stat.ci_low)} – {percent(stat.ci_high)}"),
    )


def _by_tag(report: Report) -> list[Heading | Paragraph | Table]:
    """A column per tag: passed/scored, rate and interval."""
    if not report.by_tag:
        return []
    columns = (Column("metric"), *(Column(tag, "right") for tag in report.by_tag))
    rows = tuple(
        (Cell(metric), *(_tag_cell(stats.get(metric)) for stats in report.by_tag.values())) for metric in report.overall
    )
    return [Heading("by tag: passed/scored, rate, 95 % interval"), Table(columns, rows)]


def _tag_cell(stat: MetricStat | None) -> Cell:
    if stat is None:
        return _NOT_ASKED
    if not stat.scored:
        return Cell(f"0 of {stat.unscored} scored", "unsure")
    missing = f" +{stat.unscored}?" if stat.unscored else ""
    return Cell(
        f"{stat.passes}/{stat.scored}{missing} {stat.rate:.0%} ({100 * stat.ci_low:.0f}–{100 * stat.ci_high:.0f})",
        "unsure" if missing else "plain",
    )


def _provenance(provenance: Provenance) -> str:
    parts = [
        f"model {provenance.model_id}" if provenance.model_id else "model unknown",
        "" if provenance.temperature is None else f"temperature {provenance.temperature:g}",
        "" if provenance.seed is None else f"seed {provenance.seed}",
        f"{provenance.timestamp:%Y-%m-%d %H:%M %Z}" if provenance.timestamp else "",
        f"case set {provenance.case_set_hash[:12] or 'none'}",
    ]
    return ", ".join(part for part in parts if part) + "."


def _replayed(extensions: Mapping[str, Any]) -> list[Paragraph]:
    cassette = extensions.get("replayed_from")
    if cassette is None:
        return []
    return [Paragraph(f"Replayed from {cassette}: no target was asked, and this is no new evidence.", "unsure")]


def _reach(extensions: Mapping[str, Any]) -> list[Heading | Paragraph | Table]:
    """How far each rate reaches: to cases like these, and over repeats of a case."""
    found: Mapping[str, Mapping[str, Any]] = extensions.get("metrics") or {}
    if not any(metric["icc"] is not None or metric["measured"] < metric["expected"] for metric in found.values()):
        return []
    columns = (
        Column("metric"),
        Column("cases like these", "right"),
        Column("effective runs", "right"),
        Column("ICC", "right"),
        Column("design effect", "right"),
        Column("all of k pass, k = 1, 2, …", "right"),
        Column("if unscored had failed … passed", "right"),
    )
    return [Heading("how far the rates reach"), Table(columns, tuple(map(_reach_row, found, found.values())))]


def _reach_row(name: str, metric: Mapping[str, Any]) -> tuple[Cell, ...]:
    alike = metric["cases_like_these"]
    copied = metric["effective_runs"] < metric["measured"]
    bounds = f"{percent(metric['worst_rate'])} … {percent(metric['best_rate'])}"
    return (
        Cell(name),
        Cell(f"{percent(alike['rate'])} ({percent(alike['ci_low'])} – {percent(alike['ci_high'])})"),
        Cell(f"{metric['effective_runs']} of {metric['measured']}", "unsure" if copied else "plain"),
        _NOT_KNOWN if metric["icc"] is None else Cell(f"{metric['icc']:.2f}"),
        _NOT_KNOWN if metric["design_effect"] is None else Cell(f"{metric['design_effect']:.2f}"),
        Cell(", ".join(f"{rate:.2f}" for rate in metric["pass_hat"][:_SHOWN_REPEATS])),
        Cell(bounds, "unsure") if metric["measured"] < metric["expected"] else _NOT_KNOWN,
    )


def _governance(report: Report) -> list[Heading | Paragraph | Table]:
    """The model's judgement beside what was let through: two numbers, and the gap that containment closed."""
    found = report.extensions.get("governance") or {}
    return [Paragraph(_gap(report, gap)) for gap in found.get("gaps") or ()]


def _gap(report: Report, gap: Mapping[str, Any]) -> str:
    judged, held = gap["metric"], gap["governance"]
    return (
        f"{judged} {_rate_of(report, judged)}, {held} {_rate_of(report, held)}: of {gap['erred']} runs in which the "
        f"model erred, the outcome stayed compliant in {gap['erred_but_held']}."
    )


def _rate_of(report: Report, metric: str) -> str:
    stat = report.overall.get(metric)
    return percent(stat.rate) if stat and stat.scored else "not measured"


def _unavailable(extensions: Mapping[str, Any]) -> list[Paragraph | Table]:
    reasons = extensions.get("unavailable") or {}
    if not reasons:
        return []
    total = sum(reasons.values())
    rows = tuple(
        (Cell(str(count)), Cell(reason)) for reason, count in sorted(reasons.items(), key=lambda item: -item[1])
    )
    return [
        Paragraph(f"{total} runs got no answer; every metric leaves them unscored.", "unsure"),
        Table((Column("runs", "right"), Column("why")), rows),
    ]


def _worst_cases(report: Report) -> list[Heading | Paragraph | Table]:
    """The cases that failed most, a column per metric."""
    failing = [case for case in report.cases if _missed(case)]
    worst = sorted(failing, key=lambda case: (-_missed(case), case.name))[:_MOST_CASES]
    if not worst:
        return []
    metrics = [name for name in report.overall if any(name in case.metrics for case in worst)]
    rows = tuple((Cell(case.name), *(_count(case.metrics.get(name)) for name in metrics)) for case in worst)
    shown = f"the {len(worst)} worst of " if len(failing) > len(worst) else ""
    return [
        Heading(f"cases that failed ({shown}{len(failing)} of {len(report.cases)}), passed/scored"),
        Table((Column("case"), *(Column(name, "right") for name in metrics)), rows),
    ]


def _missed(case: CaseReport) -> int:
    return sum(stat.scored - stat.passes for stat in case.metrics.values())


def _count(stat: MetricStat | None) -> Cell:
    if stat is None or not stat.expected:
        return _NOT_ASKED
    missing = f" +{stat.unscored}?" if stat.unscored else ""
    return Cell(f"{stat.passes}/{stat.scored}{missing}", "plain" if stat.passes == stat.scored else "bad")


def latency_sentence(report: Report) -> str:
    """How long runs took, and apart how long failing did."""
    errored = report.extensions.get("latency_errored_p50")
    apart = "" if errored is None else f" Runs that errored or were not answered: p50 {seconds(errored)}."
    return f"Latency p50 {seconds(report.latency_p50)}, p95 {seconds(report.latency_p95)}.{apart}"


def _money(report: Report) -> list[Paragraph]:
    """Tokens and dollars, where a price or a count is known; what is unknown is said, never 0."""
    usage: Mapping[str, Any] = report.extensions.get("usage") or {}
    unknown = usage.get("runs_without_usage")
    if unknown is None or ("cost_usd" not in report.extensions and unknown == report.total_runs):
        return []
    tokens = ", ".join(
        f"{'unknown' if usage[key] is None else usage[key]} {word}"
        for key, word in (("input_tokens", "in"), ("output_tokens", "out"))
    )
    silent = f" {unknown} of {report.total_runs} runs did not say what they used." if unknown else ""
    return [Paragraph(f"Tokens: {tokens}.{_dollars(report.extensions.get('cost_usd'))}{silent}")]


def _dollars(cost: Mapping[str, Any] | None) -> str:
    if cost is None:
        return ""
    if cost["total"] is not None:
        return f" Cost: ${cost['total']:.4f}."
    return f" Cost: unknown, at least ${cost['known']:.4f}."


def _comparison_table(comparison: Comparison) -> Table:
    columns = (
        Column("metric"),
        Column("baseline", "right"),
        Column("candidate", "right"),
        Column("change", "right"),
        Column("p", "right"),
        Column("adjusted p", "right"),
        Column("finding"),
        Column("it could see"),
    )
    return Table(columns, tuple(_comparison_row(metric) for metric in comparison.metrics))


def _comparison_row(metric: MetricComparison) -> tuple[Cell, ...]:
    tested = metric.direction != "inconclusive"
    return (
        Cell(metric.metric),
        Cell(_side(metric.old_passes, metric.old_scored, metric.old_unscored)),
        Cell(_side(metric.new_passes, metric.new_scored, metric.new_unscored)),
        Cell(f"{100 * metric.rate_delta:+.1f} pp" if tested else "–"),
        Cell(_probability(metric.p_value) if tested else "–"),
        Cell(_probability(metric.adjusted_p) if tested else "–"),
        _DIRECTIONS[metric.direction],
        Cell(words.could_see(metric.extensions) or "–", "quiet"),
    )


def _probability(p_value: float) -> str:
    return f"{p_value:.4f}" if p_value >= _SMALLEST_SHOWN else f"< {_SMALLEST_SHOWN}"


def _side(passes: int, scored: int, unscored: int) -> str:
    if not scored:
        return f"0 of {unscored} scored" if unscored else "missing"
    missing = f", {unscored} unscored" if unscored else ""
    return f"{passes}/{scored} ({percent(passes / scored)}{missing})"


def _floors(comparison: Comparison) -> list[Heading | Paragraph | Table]:
    if not comparison.floors:
        return []
    columns = (
        Column("floor"),
        Column("wanted", "right"),
        Column("passed", "right"),
        Column("95 % interval", "right"),
        Column("finding"),
    )
    rows = tuple(
        (
            Cell(floor.floor),
            Cell(percent(floor.wanted)),
            Cell(_side(floor.passes, floor.scored, floor.unscored)),
            Cell(f"{percent(floor.ci_low)} – {percent(floor.ci_high)}"),
            _FLOORS[floor.finding],
        )
        for floor in comparison.floors
    )
    return [Heading("floors, held where the whole interval is above them"), Table(columns, rows)]


def _method(comparison: Comparison) -> str:
    test, alpha = comparison.extensions.get("test"), comparison.extensions.get("alpha")
    return (
        f"Test {test}, two-sided, Benjamini-Hochberg over {comparison.extensions.get('compared_metrics')} metrics, "
        f"alpha {alpha}. {CAUTION}"
    )
