"""
The steps as functions: read from the store, call the core, append to the store.

All sync, and the same for the command line and for Dagster.

    workspace.py   a suite, and where what it measures is kept
    measure.py     execute → score → summarize one target
    decide.py      compare → decide → promote a candidate
    drift.py       whether the baseline moved
    budget.py      what an evaluation may spend
    certify.py     whether a target is fit to be evaluated
    candidates.py  which candidates wait to be measured
"""

from eval_assets.pipeline.candidates import CandidateToEvaluate, candidates_to_evaluate
from eval_assets.pipeline.certify import (
    Certified,
    certification_due,
    certify_target,
    is_certifiable,
    require_certified,
)
from eval_assets.pipeline.decide import (
    Compared,
    Decided,
    compare_candidate,
    decide_candidate,
    promote_candidate,
    verdicts_after,
)
from eval_assets.pipeline.drift import baseline_drift
from eval_assets.pipeline.measure import (
    Progress,
    Scoring,
    check_target,
    execute_target,
    latest_evaluation,
    latest_report,
    register_cases,
    score_target,
    summarize_target,
)
from eval_assets.pipeline.workspace import (
    HOME_VARIABLE,
    Workspace,
    home_for,
    instance_folder,
    open_workspace,
    with_cassette,
)

__all__ = [
    "HOME_VARIABLE",
    "CandidateToEvaluate",
    "Certified",
    "Compared",
    "Decided",
    "Progress",
    "Scoring",
    "Workspace",
    "baseline_drift",
    "candidates_to_evaluate",
    "certification_due",
    "certify_target",
    "check_target",
    "compare_candidate",
    "decide_candidate",
    "execute_target",
    "home_for",
    "instance_folder",
    "is_certifiable",
    "latest_evaluation",
    "latest_report",
    "open_workspace",
    "promote_candidate",
    "register_cases",
    "require_certified",
    "score_target",
    "summarize_target",
    "verdicts_after",
    "with_cassette",
]
