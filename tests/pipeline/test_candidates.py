from __future__ import annotations

from collections.abc import Callable

from eval_assets import pipeline
from eval_assets.pipeline import Workspace

Measure = Callable[[str], None]


def waiting(workspace: Workspace) -> list[str]:
    return [candidate.name for candidate in pipeline.candidates_to_evaluate(workspace)]


def test_none_waits_before_the_baseline_has_a_report(workspace: Workspace) -> None:
    assert waiting(workspace) == []


def test_a_candidate_waits_until_it_is_measured(workspace: Workspace, measure: Measure) -> None:
    measure("old")
    before = waiting(workspace)
    measure("new")

    assert (before, waiting(workspace)) == (["new"], [])


def test_a_changed_candidate_waits_again(
    workspace: Workspace, measure: Measure, record: Callable[[str, int], None]
) -> None:
    measure("old")
    measure("new")
    record("new", 3)

    assert waiting(workspace) == ["new"]
