"""What a suite may say about a target, and what is refused before anything is looked up."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from eval_assets.targets.specs import BY_KIND, OpenAIChat, TargetSpec

SPEC: TypeAdapter[TargetSpec] = TypeAdapter(TargetSpec)
CHAT = {"kind": "openai_chat", "base_url": "http://127.0.0.1:8000/v1", "model": "m"}
AGENT = {"kind": "agent", "model": "m"}
RECORDED = {"kind": "recorded", "path": "runs.jsonl"}
PYTHON = {"kind": "python", "function": "pkg.mod:name"}


@pytest.mark.parametrize("spec", [CHAT, AGENT, RECORDED, PYTHON], ids=lambda spec: spec["kind"])
def test_the_smallest_spec_of_each_kind(spec: dict[str, Any]) -> None:
    assert SPEC.validate_python(spec).kind == spec["kind"]


def test_by_kind_names_every_kind() -> None:
    union = get_args(get_args(TargetSpec)[0])

    assert {kind.model_fields["kind"].default: kind for kind in union} == BY_KIND


def test_defaults_are_the_promised_ones() -> None:
    spec = SPEC.validate_python(CHAT)

    assert isinstance(spec, OpenAIChat)
    assert (spec.timeout_s, spec.max_attempts, spec.temperature, spec.seed) == (120, 3, None, None)


def test_numbers_may_come_as_text() -> None:
    """A suite writes `${TEMPERATURE}`, and what comes out of the environment is text."""
    spec = SPEC.validate_python({**CHAT, "temperature": "0.7", "seed": "3"})

    assert isinstance(spec, OpenAIChat)
    assert (spec.temperature, spec.seed) == (0.7, 3)


@pytest.mark.parametrize(
    ("base", "change", "found"),
    [
        (CHAT, {"kind": "openai"}, "openai_chat"),
        (CHAT, {"temprature": 1}, "Extra inputs"),
        (CHAT, {"model": ""}, "at least 1 character"),
        (CHAT, {"base_url": "localhost:8000/v1"}, "wanted a URL such as"),
        (CHAT, {"base_url": "http:///v1"}, "wanted a URL such as"),
        (CHAT, {"base_url": "http://me:pw@host/v1"}, "without user, password"),
        (CHAT, {"base_url": "http://host/v1#part"}, "without user, password"),
        (CHAT, {"base_url": "http://host:port/v1"}, "Port"),
        (CHAT, {"temperature": -0.1}, "greater than or equal to 0"),
        (CHAT, {"temperature": float("nan")}, "finite number"),
        (CHAT, {"seed": True}, "found true or false, wanted a number"),
        (CHAT, {"seed": 1.5}, "integer"),
        (CHAT, {"max_tokens": 0}, "greater than or equal to 1"),
        (CHAT, {"max_attempts": 0}, "greater than or equal to 1"),
        (CHAT, {"timeout_s": 0}, "greater than 0"),
        (CHAT, {"headers": {"a b": "x"}}, "not the name of an HTTP header"),
        (CHAT, {"headers": {"x-key": "a\r\nb"}}, "the value of x-key holds a line break"),
        (CHAT, {"tools": [{"type": "function"}]}, "wanted tools as"),
        (CHAT, {"extra": {"stream": True, "seed": 1}}, "seed, stream cannot stand under extra"),
        (AGENT, {"max_turns": 0}, "greater than or equal to 1"),
        (AGENT, {"tools": [{"name": "a"}]}, "tool a needs either `function` or `results`"),
        (AGENT, {"tools": [{"name": "a", "function": "m:f", "results": []}]}, "needs either"),
        (AGENT, {"tools": [{"name": "a", "function": "m.f"}]}, "wanted a function as `package.module:name`"),
        (AGENT, {"tools": [{"name": "a b", "results": []}]}, "pattern"),
        (AGENT, {"tools": [{"name": "a", "results": []}] * 2}, "tool names repeat: a"),
        (PYTHON, {"function": "pkg/mod.py"}, "wanted a function as `package.module:name`"),
        (RECORDED, {"runs": []}, "`runs` is empty"),
        (RECORDED, {"runs": [0, -1]}, "found run -1"),
        (RECORDED, {"runs": [1, 0, 1]}, "a run is listed twice"),
        (RECORDED, {"runs": 2}, "valid tuple"),
        (RECORDED, {"path": ""}, "at least 1 character"),
    ],
)
def test_what_cannot_be_meant_is_refused(base: dict[str, Any], change: dict[str, Any], found: str) -> None:
    with pytest.raises(ValidationError, match=found):
        SPEC.validate_python({**base, **change})


def test_a_refused_header_does_not_show_its_value() -> None:
    with pytest.raises(ValidationError) as caught:
        OpenAIChat.model_validate({**CHAT, "headers": {"authorization": "Bearer sk-secret\n"}})

    assert "sk-secret" not in str(caught.value)


def test_a_trailing_slash_means_nothing() -> None:
    spec = SPEC.validate_python({**CHAT, "base_url": "http://127.0.0.1:8000/v1/"})

    assert isinstance(spec, OpenAIChat)
    assert spec.base_url == "http://127.0.0.1:8000/v1"
