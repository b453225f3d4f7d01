"""
What a case's `expect` asks of a run, and each thing unmet as a sentence.

Here because metrics and analysis both need it and neither may see the other. Whether an unmet expectation fails a
metric or a certification is theirs to say, and so is what becomes of a run whose calls cannot be read.
"""

from __future__ import annotations

from collections.abc import Sequence

from eval_assets.model import json_values, trajectory_match
from eval_assets.model.cases import Expect, ExpectedCall
from eval_assets.model.runs import ToolCall

_LONGEST_EXCERPT = 80


def asks_about_calls(expect: Expect) -> bool:
    """Whether the tool calls must be known before one can say that nothing is unmet."""
    return (
        expect.tool_name is not None
        or bool(expect.required_args)
        or expect.no_tool_call
        or expect.tool_calls is not None
    )


def unmet(expect: Expect, final: str | None, calls: Sequence[ToolCall]) -> tuple[str, ...]:
    """What an answer left unmet, a sentence each; empty where it did all that was asked."""
    return (*unmet_by_text(expect, final, calls), *unmet_by_calls(expect, calls))


def unmet_by_text(expect: Expect, final: str | None, calls: Sequence[ToolCall] = ()) -> tuple[str, ...]:
    """What the final text left unmet; a call stands in for it only where the expectation says so."""
    found = final or ""
    stands_in = expect.tool_call_is_content and bool(calls)
    is_empty = expect.non_empty_content and not found.strip() and not stands_in
    missing = [text for text in expect.contains if text.casefold() not in found.casefold()]
    return (
        *(("the final text is empty",) if is_empty else ()),
        *(f"the final text does not contain {text!r}: {_excerpt(found)!r}" for text in missing),
    )


def unmet_by_calls(expect: Expect, calls: Sequence[ToolCall]) -> tuple[str, ...]:
    """What the tool calls left unmet, whatever was said."""
    unwanted = (f"no tool was to be called (called: {_names(calls)})",) if expect.no_tool_call and calls else ()
    return (*unwanted, *_unmet_tool(expect, calls), *_unmet_trajectory(expect, calls))


def _unmet_tool(expect: Expect, calls: Sequence[ToolCall]) -> tuple[str, ...]:
    """One good call of the tool will do; where there is none, the one that came nearest says what is wrong."""
    if expect.tool_name is None and not expect.required_args:
        return ()
    candidates = [call for call in calls if expect.tool_name in (None, call.name)]
    if not candidates:
        tool = "a tool" if expect.tool_name is None else f"the tool {expect.tool_name!r}"
        return (f"{tool} was not called (called: {_names(calls)})",)
    return min((_unmet_by_arguments(call, expect.required_args) for call in candidates), key=len)


def _unmet_by_arguments(call: ToolCall, required: Sequence[str]) -> tuple[str, ...]:
    try:
        # A tool without arguments is called with an empty text by some models.
        given = json_values.parse(call.arguments.strip() or "{}")
    except ValueError:
        given = None
    if not isinstance(given, dict):
        return (f"the arguments of {call.name!r} are not a JSON object: {_excerpt(call.arguments)}",)
    return tuple(f"the call of {call.name!r} lacks the argument {key!r}" for key in required if key not in given)


def _unmet_trajectory(expect: Expect, calls: Sequence[ToolCall]) -> tuple[str, ...]:
    if expect.tool_calls is None:
        return ()
    matched = trajectory_match.match(expect.tool_calls, calls)
    return (
        *(f"an expected call was not made: {_expected(call)}" for call in matched.missing),
        *(f"a call was not expected: {call.name}({_excerpt(call.arguments)})" for call in matched.unexpected),
    )


def _expected(call: ExpectedCall) -> str:
    return call.name if call.arguments is None else f"{call.name}({_excerpt(json_values.text(call.arguments))})"


def _names(calls: Sequence[ToolCall]) -> str:
    return ", ".join(call.name or "a tool without a name" for call in calls) or "none"


def _excerpt(text: str) -> str:
    return text if len(text) <= _LONGEST_EXCERPT else text[: _LONGEST_EXCERPT - 1] + "…"
