"""A secret is found however it travels, and what is none is left as it is."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from eval_assets.model.runs import RunOutput, ToolCall, Trajectory
from eval_assets.targets.redaction import Redactor, without_what_varies

KEY = 'sk-a/b+"c"=é7'


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        json.dumps(KEY)[1:-1],
        json.dumps(KEY, ensure_ascii=False)[1:-1],
        quote(KEY),
        quote(KEY, safe=""),
        quote(KEY, safe="").lower().replace("sk", "sk"),
        KEY.encode().hex(),
    ],
)
def test_a_secret_is_blacked_out_in_every_form(form: str) -> None:
    assert Redactor([KEY]).text(f"with {form}, it said") == "with ***, it said"


@pytest.mark.parametrize("before", ["", "u", "me", "me:", "user:"])
def test_what_basic_encodes_is_blacked_out(before: str) -> None:
    encoded = base64.b64encode(f"{before}pass-canary-91b0 and more".encode()).decode()
    plain = base64.b64encode(b"pass-canary-91b0").decode()

    assert plain[5:15] not in Redactor(["pass-canary-91b0"]).text(encoded)
    assert "***" in Redactor(["pass-canary-91b0"]).text(encoded)


def test_of_two_secrets_the_longer_goes_whole() -> None:
    assert Redactor(["sk-123", "sk-123456"]).text("sk-123456 sk-123") == "*** ***"


def test_everything_that_came_back_is_searched() -> None:
    call = {"id": "c sk-123456", "type": "function", "function": {"name": "f", "arguments": '{"a": "sk-123456"}'}}
    output = RunOutput(
        final="sk-123456",
        messages=({"role": "assistant", "content": [{"type": "text", "text": "sk-123456"}], "tool_calls": [call]},),
        error="sk-123456",
        trace_error=None,
        finish_reason="sk-123456",
        response_id="r sk-123456",
        scores={"sk-123456": True},
        trajectory=Trajectory(steps=1, tool_calls=(ToolCall(name="f", arguments="sk-123456"),)),
    )
    assert output.trajectory.tool_calls

    clean = Redactor(["sk-123456"]).output(output)

    assert "sk-123456" not in clean.model_dump_json(by_alias=True)
    assert "sk-123456" not in str(clean.trajectory)
    assert clean.messages[0]["tool_calls"][0]["function"]["arguments"] == '{"a": "***"}'


def test_the_trajectory_is_read_anew_from_what_is_left() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "sk-123456"}}
    output = RunOutput(messages=({"role": "assistant", "content": None, "tool_calls": [call]},))
    assert output.trajectory.tool_calls[0].arguments == "sk-123456"

    assert Redactor(["sk-123456"]).output(output).trajectory.tool_calls[0].arguments == "***"


def test_an_output_without_secrets_is_the_very_same() -> None:
    output = RunOutput(final="fine", messages=({"role": "assistant", "content": "fine"},))

    assert Redactor(["sk-123456"]).output(output) is output
    assert Redactor([]).output(output) is output


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("request id: req_011CSHoEe", "request id: req_9x7ABBf2"),
        ("trace 4bf92f3577b34da6a3ce929d0e0e4736", "trace 00f067aa0ba902b7a3ce929d0e0e4799"),
        ("at 2026-05-01T10:00:12Z", "at 2026-06-11T09:00:12.123+02:00"),
        ("Please try again in 1.503s.", "Please try again in 6m0s."),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 923e4567-e89b-12d3-a456-426614174009"),
    ],
)
def test_the_same_trouble_reads_the_same(one: str, other: str) -> None:
    assert without_what_varies(one) == without_what_varies(other)


@pytest.mark.parametrize(
    "text",
    ["the model gpt-4-1106 does not exist", "context length is 4097 tokens", "request-level error", "in 3 places"],
)
def test_what_says_what_is_wrong_is_kept(text: str) -> None:
    assert without_what_varies(text) == text
