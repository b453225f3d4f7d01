"""Certify a target before it is relied on: ask it the suite's conformance cases, store what came of it."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from typing import NamedTuple

from eval_assets import conformance
from eval_assets.analysis.conformance import baseline as baselines
from eval_assets.analysis.conformance.canonical import canonical_cases
from eval_assets.errors import ConfigError, NothingMeasured, Problem
from eval_assets.model import gojson
from eval_assets.model.cases import CaseSet
from eval_assets.model.conformance import ConformanceReport, StoredConformance
from eval_assets.pipeline.workspace import Workspace
from eval_assets.suite import Suite
from eval_assets.targets import opening


class Certified(NamedTuple):
    """A certification, and what came of it since the last one that passed."""

    stored: StoredConformance
    before: StoredConformance | None
    """The target's last certification that passed. None where there is none."""

    @property
    def report(self) -> ConformanceReport:
        return self.stored.report

    @property
    def regressed(self) -> list[str]:
        """Cases that passed then and fail now."""
        return [] if self.before is None else baselines.diff_baseline(self.before.report, self.report)

    @property
    def exit_code(self) -> int:
        """0 where every case passed, 1 where any failed, 3 where none failed and some were not measured."""
        if self.report.failing:
            return 1
        return 0 if self.report.passed else 3


def certify_target(workspace: Workspace, target: str) -> Certified:
    """
    Ask a target every conformance case of the suite once, and append the report to the store.

    Raises:
        ConfigError: The suite has no `conformance` or no such target, or the target cannot be asked as it is described.
    """
    suite = workspace.suite
    cases = _cases(suite)
    _check(suite, target, cases)
    report = asyncio.run(_ask(suite, target, cases))
    before = workspace.store.latest_conformance(suite.name, target, passed_only=True)
    stored = StoredConformance(
        certification_id=secrets.token_hex(16),
        suite=suite.name,
        target=target,
        target_fingerprint=opening.fingerprint(target, suite.targets, folder=suite.folder),
        cases_digest=_digest(cases),
        report=report,
    )
    workspace.store.append_conformance(stored)
    return Certified(stored, before)


def is_certifiable(suite: Suite, target: str) -> bool:
    """Whether there is anyone to ask: runs that happened elsewhere answer no further case."""
    return opening.is_live(target, suite.targets)


def require_certified(workspace: Workspace, target: str) -> None:
    """
    Make sure that a target, as it is described now, passed the suite's conformance cases as they are now.

    Nothing is required where the suite has no `conformance`, or where there is no one to ask.

    Raises:
        NothingMeasured: It was not certified; the message says what is missing.
    """
    suite = workspace.suite
    if suite.conformance is None or not is_certifiable(suite, target):
        return
    latest = workspace.store.latest_conformance(suite.name, target)
    certify = f"certify it: eval-assets certify {suite.path} {target}"
    if latest is None:
        raise NothingMeasured(f"{target!r} was never certified, and the suite asks for it; {certify}")
    fingerprint = opening.fingerprint(target, suite.targets, folder=suite.folder)
    if (latest.target_fingerprint, latest.cases_digest) != (fingerprint, _digest(_cases(suite))):
        raise NothingMeasured(f"{target!r} or the conformance cases changed since it was certified; {certify}")
    if not latest.report.passed:
        said = ", ".join(result.id for result in (*latest.report.failing, *latest.report.unmeasured))
        raise NothingMeasured(f"{target!r} did not pass its certification ({said}); mend it, then {certify}")


def certification_due(workspace: Workspace, target: str) -> str | None:
    """
    What identifies the certification that a target lacks: its definition and the cases. None where it lacks none.

    Equal as long as both stay as they are, so that one that failed is not made again and again.
    """
    try:
        require_certified(workspace, target)
    except NothingMeasured:
        suite = workspace.suite
        return f"{opening.fingerprint(target, suite.targets, folder=suite.folder)}:{_digest(_cases(suite))}"
    return None


async def _ask(suite: Suite, target: str, cases: CaseSet) -> ConformanceReport:
    concurrency = min(suite.concurrency, len(cases.cases))
    async with opening.open_target(target, suite.targets, folder=suite.folder, concurrency=concurrency) as opened:
        return await conformance.certify_async(opened, cases, name=target, concurrency=concurrency)


def _cases(suite: Suite) -> CaseSet:
    if suite.conformance is None:
        message = "the suite has no `conformance`; add `conformance: canonical`, or name a file of cases there"
        raise ConfigError(Problem(message, suite.path))
    return CaseSet(cases=canonical_cases()) if suite.conformance == "canonical" else suite.conformance


def _check(suite: Suite, target: str, cases: CaseSet) -> None:
    suite.check_has(target)
    if not is_certifiable(suite, target):
        message = f"target {target!r} replays runs that happened elsewhere; there is no one to certify"
        raise ConfigError(Problem(message, suite.path))
    found = opening.problems(target, suite.targets, folder=suite.folder, case_set=cases, runs=1)
    if found:
        raise ConfigError(Problem(f"target {target!r}: {problem}", suite.path) for problem in dict.fromkeys(found))


def _digest(cases: CaseSet) -> str:
    """Of all that is asked and expected; a case set's own hash leaves expectations out."""
    return hashlib.sha256(gojson.utf8(cases.model_dump_json())).hexdigest()
