"""A certification against an earlier one: what no longer passes, what is no longer asked, what is no longer known."""

from __future__ import annotations

from eval_assets.model.conformance import ConformanceReport


def diff_baseline(baseline: ConformanceReport, current: ConformanceReport) -> list[str]:
    """Ids that passed before and fail now, in the order of the baseline. Those that are missing now are not here."""
    failed = {result.id for result in current.failing}
    return [result.id for result in baseline.passing if result.id in failed]


def missing_since(baseline: ConformanceReport, current: ConformanceReport) -> list[str]:
    """Ids that the baseline has and the current report has not: a case that is no longer asked hides its failure."""
    asked = {result.id for result in current.results}
    return [result.id for result in baseline.results if result.id not in asked]


def unmeasured_since(baseline: ConformanceReport, current: ConformanceReport) -> list[str]:
    """Ids that passed before and about which nothing is known now."""
    unknown = {result.id for result in current.unmeasured}
    return [result.id for result in baseline.passing if result.id in unknown]
