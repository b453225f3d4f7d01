"""What things are called in Dagster: asset keys and names that other tools may rely on. No definitions here."""

from typing import Literal

import dagster as dg

Step = Literal["outputs", "scores", "report"]
"""A step that baseline and candidates go through alike."""
STEPS: tuple[Step, ...] = ("outputs", "scores", "report")


def case_set(suite: str) -> dg.AssetKey:
    """The asset of the cases asked."""
    return dg.AssetKey([suite, "case_set"])


def conformance(suite: str) -> dg.AssetKey:
    """The asset of a target's certification, in suites that ask for one."""
    return dg.AssetKey([suite, "conformance"])


def baseline(suite: str, step: Step) -> dg.AssetKey:
    """An asset of the baseline's measurement."""
    return dg.AssetKey([suite, f"baseline_{step}"])


def candidate(suite: str, step: Step) -> dg.AssetKey:
    """An asset of a candidate's measurement."""
    return dg.AssetKey([suite, f"candidate_{step}"])


def comparison(suite: str) -> dg.AssetKey:
    """The asset of a candidate's comparison with the baseline."""
    return dg.AssetKey([suite, "comparison"])


def promotion(suite: str) -> dg.AssetKey:
    """The asset of a candidate's promotion."""
    return dg.AssetKey([suite, "promotion"])


def gate(suite: str) -> dg.AssetCheckKey:
    """The check that shows a candidate's verdict."""
    return dg.AssetCheckKey(comparison(suite), "gate")


def baseline_selection(suite: str, *, certifies: bool = False) -> dg.AssetSelection:
    """What measuring the baseline materializes, with the checks on it."""
    measured = (baseline(suite, step) for step in STEPS)
    certification = [conformance(suite)] if certifies else []
    return dg.AssetSelection.assets(case_set(suite), *certification, *measured)


def candidate_keys(suite: str) -> list[dg.AssetKey]:
    """What measuring and judging a candidate materializes. Never its promotion: that is for a person to ask."""
    return [*(candidate(suite, step) for step in STEPS), comparison(suite)]
