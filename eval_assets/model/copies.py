"""
Which runs of a case are copies of one another. A copy is no further evidence.

Two runs are copies when they share a provider's reply id; when one entry of a cassette or cache served both; or when
they put out the same, text and tool calls to the byte, where the same says something: at temperature 0, or at an
unknown temperature where it is long, because short answers repeat by chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from eval_assets.model.runs import Run, RunOutput

TELLING_CHARACTERS = 200
"""From this length on, equal outputs are copies even where nobody knows the temperature."""


def first_of_each(runs: Sequence[Run], *, temperature: float | None) -> dict[int, int]:
    """
    Group the runs of one case by what they are copies of.

    Args:
        runs: Runs of the same case.
        temperature: What they were sampled at; None where unknown.

    Returns:
        For each run's index that of the first run it is a copy of: its own where it is none.
    """
    first = {run.run_index: run.run_index for run in runs}
    for _ in range(2):  # as often as the store's query hands the first run on
        for group in _sharing(runs, temperature):
            earliest = min(first[index] for index in group)
            first.update(dict.fromkeys(group, earliest))
    return first


def _sharing(runs: Iterable[Run], temperature: float | None) -> Iterator[list[int]]:
    """Indices of the runs that share a reply's id, of those one entry served, and of those that share an output."""
    replies: dict[str, list[int]] = {}
    entries: dict[str, list[int]] = {}
    outputs: dict[str, list[int]] = {}
    for run in runs:
        if run.output.response_id is not None:
            replies.setdefault(run.output.response_id, []).append(run.run_index)
        if run.output.served_by is not None:
            entries.setdefault(run.output.served_by, []).append(run.run_index)
        digest = _telling_digest(run.output, temperature)
        if digest is not None:
            outputs.setdefault(digest, []).append(run.run_index)
    yield from replies.values()
    yield from entries.values()
    yield from outputs.values()


def _telling_digest(output: RunOutput, temperature: float | None) -> str | None:
    try:
        said = output.said
    except ValueError:
        return None
    if said is None or (temperature is not None and temperature != 0):
        return None
    return said.digest if temperature == 0 or said.characters >= TELLING_CHARACTERS else None
