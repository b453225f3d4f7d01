"""Case × output → how the target did on that case. Tolerant in reading, strict in passing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from eval_assets.model import expectations, gojson, trajectory_match
from eval_assets.model.cases import Case, Expect, Message
from eval_assets.model.conformance import CaseConformance
from eval_assets.model.runs import RunOutput, ToolCall

_CUT_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS", "max_output_tokens"})
"""Finish reasons that say an answer ended where its tokens did, as providers spell them."""


def judge(case: Case, output: RunOutput) -> CaseConformance:
    """
    Say whether an output does what its case expects. A case that expects nothing asks for an answer without an error.

    A target that was unavailable, or whose tool calls cannot be read where they matter, has not failed: nothing is
    known, and it is not certified.
    """
    expect = case.expect or Expect()
    calls, unread = _read_calls(output)
    failures = _failures(expect, output, calls)
    unmeasured = _unmeasured(expect, output, unread) if not failures else None
    tool_called, correct = _right_tool(expect, calls or ())
    return CaseConformance(
        id=case.name,
        passed=not failures and unmeasured is None,
        failures=failures,
        error=output.error,
        unmeasured=unmeasured,
        latency_s=output.latency_s,
        tool_called=tool_called,
        expected_tool=_expects_a_tool(expect),
        called_any_tool=None if calls is None else bool(calls),
        correct_tool=None if calls is None else correct,
        notes=tuple(_notes(output)),
        reply=_reply(output),
    )


def _read_calls(output: RunOutput) -> tuple[tuple[ToolCall, ...] | None, str | None]:
    """The calls, or None and why they are unknown."""
    if output.unavailable:
        return None, f"unavailable: {output.error}"
    try:
        return trajectory_match.calls_of(output), None
    except ValueError as error:
        return None, f"the tool calls could not be read: {error}"


def _failures(expect: Expect, output: RunOutput, calls: Sequence[ToolCall] | None) -> tuple[str, ...]:
    if output.unavailable:
        return ()
    if output.error is not None:
        return (f"the target failed: {output.error}",)
    if calls is None:
        # Unread calls may have been there, so an empty text that a call may stand in for is no failure.
        known = expect.model_copy(update={"non_empty_content": False}) if expect.tool_call_is_content else expect
        return expectations.unmet_by_text(known, output.final)
    return expectations.unmet(expect, output.final, calls)


def _unmeasured(expect: Expect, output: RunOutput, unread: str | None) -> str | None:
    stands_in = expect.tool_call_is_content and expect.non_empty_content and not (output.final or "").strip()
    matters = output.unavailable or expectations.asks_about_calls(expect) or stands_in
    return unread if matters else None


def _expects_a_tool(expect: Expect) -> bool:
    return bool(expect.tool_name is not None or expect.required_args or expect.tool_calls)


def _right_tool(expect: Expect, calls: Sequence[ToolCall]) -> tuple[str | None, bool]:
    """The tool to show, and whether what was expected was called, arguments aside."""
    names = [call.name for call in calls]
    if not names:
        return None, False
    if expect.tool_name is not None:
        called = expect.tool_name in names
        return (expect.tool_name if called else names[0]), called
    if expect.tool_calls:
        return names[0], not trajectory_match.match(expect.tool_calls, calls, arguments="ignored").missing
    return names[0], bool(expect.required_args)


def _notes(output: RunOutput) -> Iterator[str]:
    if output.finish_reason in _CUT_OFF:
        yield f"the answer was cut off (finish reason {output.finish_reason}); give the target more tokens"
    if any(_has_object_arguments(message) for message in output.messages):
        yield "the arguments of a tool call came as an object, not as its JSON text; they were read all the same"


def _has_object_arguments(message: Message) -> bool:
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return any(isinstance(function, dict) and isinstance(function.get("arguments"), dict) for function in functions)


def _reply(output: RunOutput) -> tuple[Message, ...]:
    answered = [message for message in output.messages if message.get("role") in ("assistant", "tool")]
    if not answered and output.final is not None:
        answered = [{"role": "assistant", "content": output.final}]
    return tuple(_as_json(message) for message in answered)


def _as_json(message: Message) -> dict[str, Any]:
    """The message as it can be written; a function of the user's may have put anything into it."""
    try:
        written: dict[str, Any] = json.loads(gojson.dumps(message))
    except (TypeError, ValueError, RecursionError) as error:
        return {"role": message.get("role"), "content": None, "unreadable": str(error)}
    return written
