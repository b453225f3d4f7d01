"""How reliably a target calls the right tool: precision, recall and F1 over the cases of a certification."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from eval_assets.errors import NothingMeasured
from eval_assets.model.conformance import CaseConformance
from eval_assets.model.trajectory_match import Overlap


class ToolCallScore(NamedTuple):
    """Shares in [0, 1]; all 1 where no tool was expected and none called."""

    precision: float
    recall: float
    f1: float


def tool_call_f1(results: Iterable[CaseConformance]) -> ToolCallScore:
    """
    Score calling the right tool, a case at a time: whether, and which, not with what arguments.

    A case counts as a true positive when a tool was expected and it was called; as a false positive when one was called
    and none expected, or the wrong one; as a false negative when one was expected and none called, or the wrong one.
    Cases whose calls are unknown are left out: what was never answered is not wrong.

    Raises:
        NothingMeasured: No case counts, and one that was not measured might have; a perfect score would be made up.
    """
    every = list(results)
    known = [result for result in every if result.called_any_tool is not None]
    right = sum(result.expected_tool and result.correct_tool is True for result in known)
    expected = sum(result.expected_tool for result in known)
    called = sum(result.called_any_tool is True for result in known)
    unknown = [result for result in every if result.called_any_tool is None]
    if not expected and not called and any(result.expected_tool or not known for result in unknown):
        ids = ", ".join(result.id for result in unknown)
        raise NothingMeasured(f"no tool call was measured: what {ids} called is unknown; certify again")
    overlap = Overlap(right, expected, called)
    return ToolCallScore(overlap.precision, overlap.recall, overlap.f1)
