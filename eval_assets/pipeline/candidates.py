"""Which candidates wait to be measured."""

from __future__ import annotations

from typing import NamedTuple

from eval_assets.pipeline.workspace import Workspace
from eval_assets.targets import opening


class CandidateToEvaluate(NamedTuple):
    """A candidate that was never measured as it is described now."""

    name: str
    fingerprint: str
    """Hash of everything about it that may change its answers."""


def candidates_to_evaluate(workspace: Workspace) -> list[CandidateToEvaluate]:
    """
    The candidates without an evaluation of their present definition on the present cases.

    None until the baseline has a report: there would be nothing to compare with, and measuring the baseline is the
    deliberate act that begins to cost money.
    """
    suite, store = workspace.suite, workspace.store
    described = [
        CandidateToEvaluate(name, opening.fingerprint(name, suite.targets, folder=suite.folder))
        for name in suite.candidates
    ]
    with store.at_one_moment():
        if store.latest_report(suite.name, suite.baseline) is None:
            return []
        return [candidate for candidate in described if not _was_measured(workspace, candidate)]


def _was_measured(workspace: Workspace, candidate: CandidateToEvaluate) -> bool:
    suite = workspace.suite
    evaluation = workspace.store.latest_evaluation(
        suite.name,
        candidate.name,
        fingerprint=candidate.fingerprint,
        case_set_hash=suite.case_set.hash,
        live_only=True,
    )
    return evaluation is not None
