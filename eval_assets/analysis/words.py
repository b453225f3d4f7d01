"""What the numbers of a comparison mean, in sentences: disagreement of tests, copies, drops that are not ruled out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eval_assets.model.verdicts import GatePolicy, Test

if TYPE_CHECKING:
    from eval_assets.analysis.evidence import Evidence
    from eval_assets.analysis.pairing import Pair

_SEES: Mapping[Test, str] = {
    "pooled": "taking runs as independent (pooled)",
    "stratified": "on these very cases (stratified)",
    "sign_flip": "for cases like these (sign_flip)",
}
_BECAUSE: Mapping[tuple[Test, Test], str] = {
    ("pooled", "stratified"): "the pooled test ignores that runs of a case are alike, and misses what each case shows",
    ("pooled", "sign_flip"): "the pooled test ignores that runs of a case are alike, and misses what each case shows",
    ("stratified", "pooled"): "much of the pooled difference is between cases, not within them",
    ("stratified", "sign_flip"): "many cases moved a little, each by no more than its runs may",
    ("sign_flip", "stratified"): "few cases moved, and others like them might not",
    ("sign_flip", "pooled"): "few cases moved, and others like them might not",
}


def disagreement(adjusted: Mapping[Test, float], policy: GatePolicy) -> str:
    """Where another test comes to another finding than the deciding one: which, and what that usually means."""
    decides = policy.test
    significant = {test: p < policy.alpha for test, p in adjusted.items()}
    others = [test for test, found in significant.items() if found != significant[decides]]
    if not others:
        return ""
    seen = "a change" if significant[others[0]] else "no change"
    which = " and ".join(_SEES[test] for test in others)
    silent, loud = (decides, others[0]) if significant[others[0]] else (others[0], decides)
    p_values = ", ".join(f"{test} {p:.3g}" for test, p in adjusted.items())
    return f"the tests disagree: {seen} {which}; {_BECAUSE[silent, loud]} (adjusted p: {p_values})"


def copies(pair: Pair, policy: GatePolicy) -> str:
    """Say that runs are copies of others, and what that does to the deciding test."""
    if not pair.has_copies:
        return ""
    runs = int(pair.counts.old_scored.sum() + pair.counts.new_scored.sum())
    effective = int(pair.effective.old_scored.sum() + pair.effective.new_scored.sum())
    found = f"{runs} runs are {effective} effective ones: the others are copies"
    if policy.test == "pooled":
        return f"{found}, which the pooled test counts as evidence all the same"
    return found


def not_ruled_out(evidence: Evidence, policy: GatePolicy) -> str:
    """With a margin: that a drop as large is not ruled out, and what would settle it. Empty where it is."""
    if policy.margin is None or evidence.ruled_out[policy.test].holds:
        return ""
    found = evidence.ruled_out[policy.test]
    points = f"a drop of {100 * policy.margin:g} points is not ruled out (p = {found.p_value:.3g})"
    if found.needed is None:
        return f"{points}: the drop that was seen is about as large, so no number of {found.unit} would rule it out"
    return f"{points}: about {found.needed} {found.unit} would settle it"


def could_see(extensions: Mapping[str, Any]) -> str:
    """What "flat" is worth: the drop the deciding test had 80 % power to see."""
    found = (extensions.get("tests") or {}).get(extensions.get("test"))
    if found is None:
        return ""
    drop = found["smallest_drop"]
    if drop is None:
        return "no drop at all"
    return f"a drop of {100 * drop:.1f} points"


def judge(provenance: Mapping[str, Any]) -> str:
    """A judge by its model and the beginning of its rubric's hash."""
    if not provenance:
        return "none"
    return f"{provenance.get('model') or 'of unknown model'} with rubric {str(provenance.get('rubric_sha256'))[:8]}"
