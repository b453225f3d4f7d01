"""How many runs or cases it takes to see a drop, from how a baseline varied: what `eval-assets plan` says."""

from __future__ import annotations

from eval_assets.analysis.document import Cell, Column, Document, Heading, Paragraph, Table
from eval_assets.errors import ConfigError, OutOfRange
from eval_assets.model.reports import Report
from eval_assets.stats import power as power_analysis
from eval_assets.stats.power import Plan

_COLUMNS = (
    Column("metric"),
    Column("rate", "right"),
    Column("runs now", "right"),
    Column("runs for these cases", "right"),
    Column("that is per case", "right"),
    Column("cases for cases like these", "right"),
    Column("advice"),
)


def plan_document(report: Report, *, drop: float, alpha: float, power: float) -> Document:
    """
    Say for each metric of a baseline's report what it takes to see a drop.

    Raises:
        ConfigError: The drop or the power is not in (0, 1).
    """
    rows = tuple(_row(report, metric, drop=drop, alpha=alpha, power=power) for metric in report.overall)
    return (
        Heading(f"to see a drop of {100 * drop:g} points, {power:.0%} of the time, at alpha {alpha:g}"),
        Table(_COLUMNS, rows),
        Paragraph(
            "Runs are per report, over all cases together, and answer whether these very cases got worse (test "
            "stratified). Cases are run as often as now, and answer whether cases like these would (test sign_flip).",
            "quiet",
        ),
    )


def _row(report: Report, metric: str, *, drop: float, alpha: float, power: float) -> tuple[Cell, ...]:
    stat = report.overall[metric]
    if not stat.scored:
        return (Cell(metric), Cell("not measured", "unsure"), *(Cell("–", "quiet") for _ in _COLUMNS[2:]))
    found = _plan(report, metric, drop=drop, alpha=alpha, power=power)
    return (
        Cell(metric),
        Cell(f"{stat.rate:.1%}"),
        Cell(str(stat.scored)),
        Cell(str(found.runs_per_arm)),
        Cell(str(found.runs_per_case)),
        Cell(str(found.cases)),
        _advice(found, stat.scored),
    )


def _plan(report: Report, metric: str, *, drop: float, alpha: float, power: float) -> Plan:
    stats = [case.metrics[metric] for case in report.cases if metric in case.metrics]
    passes, scored = [stat.passes for stat in stats], [stat.scored for stat in stats]
    try:
        return power_analysis.plan(passes, scored, drop=drop, alpha=alpha, power=power)
    except OutOfRange as error:
        raise ConfigError(f"no plan can be made: {error}") from error


def _advice(found: Plan, runs: int) -> Cell:
    if found.buy_cases:
        return Cell("buy cases, not runs: runs of a case say little more")
    if runs >= found.runs_per_arm:
        return Cell("enough runs for these cases", "good")
    return Cell(f"{found.runs_per_arm - runs} runs more for these cases")
