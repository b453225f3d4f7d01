"""
Expected tool calls against actual ones: precision, recall and F1, by a one-to-one matching.

Here because metrics and analysis both need it and neither may see the other. What follows from a match is theirs.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

from eval_assets.model import json_values
from eval_assets.model.cases import Expect, ExpectedCall
from eval_assets.model.runs import RunOutput, ToolCall

Arguments = Literal["exact", "ignored"]
"""Whether the arguments of an expected call, where it states some, must be those of the actual one."""


class Overlap(NamedTuple):
    """How many of the expected calls were made. All three shares are 1 where nothing was expected and nothing made."""

    matched: int
    """Pairs of an expected and an actual call; each call is in one pair at most."""
    expected: int
    actual: int

    @property
    def precision(self) -> float:
        """The share of actual calls that were expected, in [0, 1]; 0 where calls were expected and none made."""
        return self._share(self.actual)

    @property
    def recall(self) -> float:
        """The share of expected calls that were made, in [0, 1]; 0 where calls were made and none expected."""
        return self._share(self.expected)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, in [0, 1]."""
        total = self.expected + self.actual
        return 2 * self.matched / total if total else 1.0

    def _share(self, size: int) -> float:
        return self.matched / size if size else float(self.expected == self.actual)


class TrajectoryMatch(NamedTuple):
    """The calls a case expects against those a run made; its own precision, recall and F1 are those of any order."""

    any_order: Overlap
    """The largest one-to-one matching: [A, A, B] and [A, B, B] share two calls."""
    in_order: Overlap
    """The largest one that keeps the order: [A, B, C, D] and [A, C, B, D] share three."""
    missing: tuple[ExpectedCall, ...]
    """Expected calls without a partner in any order, in the order they were expected."""
    unexpected: tuple[ToolCall, ...]
    """Actual calls without a partner in any order, in the order they were made."""

    @property
    def precision(self) -> float:
        return self.any_order.precision

    @property
    def recall(self) -> float:
        return self.any_order.recall

    @property
    def f1(self) -> float:
        return self.any_order.f1

    @property
    def follows_order(self) -> bool:
        """Whether every expected call was made, in the expected order; others may stand between."""
        return self.in_order.matched == self.in_order.expected


def match(
    expected: Sequence[ExpectedCall | str], actual: Sequence[ToolCall], *, arguments: Arguments = "exact"
) -> TrajectoryMatch:
    """
    Match expected calls one to one with actual ones: by name, and by arguments where the expected call states them.

    Arguments are equal as JSON values: 1 is 1.0, true is not 1, the order of keys is none. Arguments that were left
    empty are {}; arguments that are not JSON equal nothing.

    Args:
        expected: The calls to be made; a text is the name of a call with whatever arguments.
        actual: The calls that were made.
        arguments: `ignored` looks at names alone.
    """
    wanted = [ExpectedCall.model_validate(call) for call in expected]
    if arguments == "ignored":
        wanted = [ExpectedCall(name=call.name) for call in wanted]
    pairs = _largest_matching([_wanted_key(call) for call in wanted], [_made_key(call) for call in actual])
    return TrajectoryMatch(
        any_order=Overlap(len(pairs), len(wanted), len(actual)),
        in_order=Overlap(_longest_common(wanted, actual), len(wanted), len(actual)),
        missing=tuple(call for position, call in enumerate(wanted) if position not in pairs),
        unexpected=tuple(call for position, call in enumerate(actual) if position not in pairs.values()),
    )


def of_run(expect: Expect | None, output: RunOutput, *, arguments: Arguments = "exact") -> TrajectoryMatch | None:
    """Match a run's calls with those its case expects. None is unscored: nothing expected, or the calls are unknown."""
    if expect is None or expect.tool_calls is None or output.unavailable:
        return None
    try:
        return match(expect.tool_calls, calls_of(output), arguments=arguments)
    except ValueError:
        return None


def calls_of(output: RunOutput) -> tuple[ToolCall, ...]:
    """
    Every tool call of a run, in order.

    Raises:
        ValueError: The trajectory could not be read, and why.
    """
    if output.trace_error is not None:
        raise ValueError(output.trace_error)
    return output.trajectory.tool_calls


class _Key(NamedTuple):
    """What a call is matched by. `arguments` is None where any will do."""

    name: str
    arguments: Hashable | None


def _wanted_key(call: ExpectedCall) -> _Key:
    return _Key(call.name, None if call.arguments is None else json_values.identity(call.arguments))


def _made_key(call: ToolCall) -> _Key:
    try:
        return _Key(call.name, json_values.identity(json_values.parse(call.arguments.strip() or "{}")))
    except (ValueError, RecursionError):
        return _Key(call.name, ("not JSON", call.arguments))


def _largest_matching(wanted: Sequence[_Key], made: Sequence[_Key]) -> dict[int, int]:
    """
    Positions of `wanted` to positions of `made`.

    A call that states its arguments fits only calls equal to it, and one that does not fits every call of its name.
    So the matching is the largest there is when those that state them choose first.
    """
    equal_calls: defaultdict[_Key, deque[int]] = defaultdict(deque)
    for position, key in enumerate(made):
        equal_calls[key].append(position)
    pairs = {
        position: equal_calls[key].popleft()
        for position, key in enumerate(wanted)
        if key.arguments is not None and equal_calls[key]
    }
    left: defaultdict[str, deque[int]] = defaultdict(deque)
    for position in sorted(set(range(len(made))) - set(pairs.values())):
        left[made[position].name].append(position)
    anyhow = [(position, key.name) for position, key in enumerate(wanted) if key.arguments is None]
    return pairs | {position: left[name].popleft() for position, name in anyhow if left[name]}


def _longest_common(wanted: Sequence[ExpectedCall], actual: Sequence[ToolCall]) -> int:
    """Length of the longest common subsequence: row by row of the textbook's table."""
    keys = [_made_key(call) for call in actual]
    above = [0] * (len(keys) + 1)
    for call in wanted:
        key, row = _wanted_key(call), [0]
        for column, made in enumerate(keys):
            fits = key.name == made.name and key.arguments in (None, made.arguments)
            row.append(above[column] + 1 if fits else max(row[column], above[column + 1]))
        above = row
    return above[-1]
