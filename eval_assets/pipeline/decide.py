"""Decide on a candidate: compare its latest report with the baseline's, store the verdict, promote on it."""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime
from typing import NamedTuple

from eval_assets.analysis import compare, gate
from eval_assets.errors import ConfigError, NothingMeasured, Problem, PromotionRefused
from eval_assets.model.reports import StoredReport
from eval_assets.model.verdicts import Comparison, GatePolicy, Promotion, StoredVerdict, Verdict
from eval_assets.pipeline import measure
from eval_assets.pipeline.workspace import Workspace
from eval_assets.targets import opening


class Compared(NamedTuple):
    """A comparison, what follows from it, and the two reports it is of."""

    comparison: Comparison
    verdict: Verdict
    baseline: StoredReport
    candidate: StoredReport


class Decided(NamedTuple):
    """A comparison and the verdict on it, as stored."""

    stored_verdict: StoredVerdict
    compared: Compared


def compare_candidate(workspace: Workspace, candidate: str) -> Compared:
    """
    Compare a candidate's latest report with the baseline's under the suite's gate. Stores nothing.

    Raises:
        ConfigError: The suite has no such candidate.
        NothingMeasured: Either has no report, or none of what the suite describes now.
    """
    baseline, measured = _reports(workspace, candidate)
    expected = [metric.name for metric in workspace.suite.metrics]
    comparison = compare.compare_under(workspace.suite.gate, baseline.report, measured.report, expected=expected)
    return Compared(comparison, gate.decide(comparison), baseline, measured)


def decide_candidate(workspace: Workspace, candidate: str, *, decided_by: str) -> Decided:
    """
    Compare a candidate as `compare_candidate` does, and store the comparison and the verdict.

    Args:
        workspace: The suite and its home.
        candidate: One of the suite's candidates.
        decided_by: Who asks: `cli`, or `dagster:<dagster_run_id>`.

    Raises:
        As `compare_candidate`.
    """
    compared = compare_candidate(workspace, candidate)
    suite = workspace.suite
    verdict = StoredVerdict(
        verdict_id=secrets.token_hex(16),
        comparison_id=_comparison_id(suite.gate, compared.baseline, compared.candidate),
        suite=suite.name,
        candidate=candidate,
        baseline_report_id=compared.baseline.report_id,
        candidate_report_id=compared.candidate.report_id,
        verdict=compared.verdict,
        decided_by=decided_by,
        decided_at=datetime.now(UTC),
    )
    workspace.store.append_comparison(
        verdict.comparison_id,
        suite=suite.name,
        candidate=candidate,
        baseline_report_id=verdict.baseline_report_id,
        candidate_report_id=verdict.candidate_report_id,
        policy=suite.gate,
        comparison=compared.comparison,
        compared_at=verdict.decided_at,
    )
    workspace.store.append_verdict(verdict)
    return Decided(verdict, compared)


def promote_candidate(workspace: Workspace, candidate: str, *, reason: str, promoted_by: str) -> Promotion:
    """
    Promote a candidate, on a stored passing verdict of exactly its and the baseline's latest reports.

    The verdict is read here and nowhere else: a check that passed or failed in some other run says nothing about the
    reports of now.

    Raises:
        ConfigError: The suite has no such candidate, or `reason` is empty.
        PromotionRefused: There is no such verdict, it does not pass, or a report it rests on was replayed.
    """
    if not reason.strip():
        raise ConfigError("a promotion needs a reason; say why in a sentence")
    try:
        baseline, measured = _reports(workspace, candidate)
    except NothingMeasured as error:
        raise PromotionRefused(f"{candidate!r} is not promoted: {error}") from error
    verdict = _passing_verdict(workspace, candidate, baseline, measured)
    for stored in (baseline, measured):
        _refuse_a_replay(workspace, candidate, stored)
    promotion = Promotion(
        promotion_id=secrets.token_hex(16),
        verdict_id=verdict.verdict_id,
        suite=workspace.suite.name,
        candidate=candidate,
        baseline_report_id=baseline.report_id,
        candidate_report_id=measured.report_id,
        reason=reason,
        promoted_by=promoted_by,
        promoted_at=datetime.now(UTC),
    )
    workspace.store.append_promotion(promotion)
    return promotion


def verdicts_after(workspace: Workspace, decided_at: datetime | None, *, limit: int = 1000) -> list[StoredVerdict]:
    """The suite's verdicts after a moment, oldest first; none where nothing was ever stored."""
    return workspace.store.verdicts_after(workspace.suite.name, decided_at=decided_at, limit=limit)


def _reports(workspace: Workspace, candidate: str) -> tuple[StoredReport, StoredReport]:
    """The latest report of the baseline and of the candidate, each of what the suite describes now."""
    suite = workspace.suite
    if candidate not in suite.candidates:
        known = ", ".join(suite.candidates) or "none"
        raise ConfigError(Problem(f"{candidate!r} is not a candidate (candidates: {known})", suite.path))
    with workspace.store.at_one_moment():
        baseline, measured = (measure.latest_report(workspace, name) for name in (suite.baseline, candidate))
    for stored in (baseline, measured):
        _check_current(workspace, stored)
    return baseline, measured


def _check_current(workspace: Workspace, stored: StoredReport) -> None:
    suite = workspace.suite
    again = f"measure it as it is now: eval-assets run {suite.path} {stored.target}"
    if stored.target_fingerprint != opening.fingerprint(stored.target, suite.targets, folder=suite.folder):
        raise NothingMeasured(f"the latest report of {stored.target!r} is of an earlier definition of it; {again}")
    asked = stored.report.provenance.case_set_hash
    if asked != suite.case_set.hash and not suite.gate.allow_case_set_mismatch:
        raise NothingMeasured(
            f"the latest report of {stored.target!r} is of other cases ({asked[:12]}, the suite has "
            f"{suite.case_set.hash[:12]}); {again}"
        )
    scored_as = stored.report.unavailable_as
    if scored_as != suite.gate.unavailable:
        raise NothingMeasured(
            f"the latest report of {stored.target!r} was scored with `unavailable: {scored_as}`, the gate now says "
            f"`{suite.gate.unavailable}`; {again}"
        )


def _refuse_a_replay(workspace: Workspace, candidate: str, stored: StoredReport) -> None:
    if stored.replayed_from is not None:
        raise PromotionRefused(
            f"{candidate!r} is not promoted: the latest report of {stored.target!r} was replayed from "
            f"{stored.replayed_from}, which is no new evidence; measure it: eval-assets run {workspace.suite.path} "
            f"{stored.target}, then decide again"
        )


def _passing_verdict(
    workspace: Workspace, candidate: str, baseline: StoredReport, measured: StoredReport
) -> StoredVerdict:
    suite = workspace.suite
    decide = f"decide first: eval-assets gate {suite.path} {candidate}"
    with workspace.store.at_one_moment():
        found = workspace.store.verdict_on(
            suite.name, candidate, baseline_report_id=baseline.report_id, candidate_report_id=measured.report_id
        )
        latest = workspace.store.latest_verdict(suite.name, candidate)
    if found is None:
        older = "" if latest is None else f"; the latest ({latest.verdict.outcome}) is on older reports"
        raise PromotionRefused(f"{candidate!r} is not promoted: its latest report has no verdict{older}; {decide}")
    if found.comparison_id != _comparison_id(suite.gate, baseline, measured):
        raise PromotionRefused(f"{candidate!r} is not promoted: its verdict is under another gate policy; {decide}")
    if found.verdict.outcome != "pass":
        first, *others = found.verdict.reasons
        more = f"; and {len(others)} more" if others else ""
        raise PromotionRefused(f"{candidate!r} is not promoted: the verdict is {found.verdict.outcome}: {first}{more}")
    return found


def _comparison_id(policy: GatePolicy, baseline: StoredReport, candidate: StoredReport) -> str:
    parts = (baseline.report_id, candidate.report_id, policy.model_dump_json())
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:32]
