"""What is asked: a case, the ordered set of them, and the hash that says two sets are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from pydantic import Field, field_validator, model_validator

from eval_assets.model import gojson
from eval_assets.model.base import Noun

Message = dict[str, Any]
"""An OpenAI chat message: `role`, `content`, and for assistants perhaps `tool_calls`."""


class ExpectedCall(Noun):
    """A tool call that is expected. In a case file, a text alone is the name of a call with whatever arguments."""

    name: str = Field(min_length=1)
    """The exact name of the tool."""
    arguments: dict[str, Any] | None = None
    """The arguments it must carry, equal as JSON values. None accepts any; {} accepts none."""

    @model_validator(mode="before")
    @classmethod
    def _text_is_a_name(cls, data: Any) -> Any:
        return {"name": data} if isinstance(data, str) else data

    @field_validator("arguments")
    @classmethod
    def _is_json(cls, value: Any) -> Any:
        return _checked_json(value)


class Expect(Noun):
    """What a case expects of a reply, beside its `want`."""

    non_empty_content: bool = False
    """The final text must not be empty."""
    tool_call_is_content: bool = False
    """A tool call will do where `non_empty_content` is asked."""
    tool_name: str | None = None
    """The exact name of a tool that must be called."""
    required_args: tuple[str, ...] = ()
    """Argument keys that call must carry."""
    contains: tuple[str, ...] = ()
    """Texts the final text must contain, case-insensitively."""
    no_tool_call: bool = False
    """No tool may be called."""
    tool_calls: tuple[ExpectedCall, ...] | None = None
    """Every call of the trajectory, no more and no fewer, in any order. Empty expects none; None expects nothing."""

    @model_validator(mode="after")
    def _can_be_met(self) -> Expect:
        if self.no_tool_call and (self.tool_name is not None or self.required_args or self.tool_calls):
            raise ValueError("`no_tool_call` and an expected tool call cannot both be met; leave one out")
        return self


class Case(Noun):
    """One input with its expectation and tags."""

    name: str = Field(min_length=1)
    """Unique within its case set."""
    input: str = ""
    """The user's text. Empty where `messages` are given."""
    messages: tuple[Message, ...] | None = None
    """The conversation so far, where one text does not say it."""
    want: Any = None
    """What a right answer holds: any JSON value. None leaves the `want` metrics unscored."""
    tags: tuple[str, ...] = ()
    """Labels that reports and metrics group by."""
    tools: tuple[dict[str, Any], ...] = ()
    """JSON-schema function tools offered to the model with this case."""
    expect: Expect | None = None
    """What the `expectation` metric asks."""

    @field_validator("want", "messages", "tools")
    @classmethod
    def _is_json(cls, value: Any) -> Any:
        return _checked_json(value)

    @field_validator("tags")
    @classmethod
    def _tags_are_named(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        if any(not tag.strip() for tag in tags):
            raise ValueError("a tag is empty; give it a name or leave it out")
        return tags

    @model_validator(mode="after")
    def _one_question(self) -> Case:
        if self.messages is not None and self.input:
            raise ValueError("has both `input` and `messages`; give one")
        if self.messages is not None and not self.messages:
            raise ValueError("`messages` is empty; give at least one message")
        return self

    @property
    def asked(self) -> str:
        """The text that stands for this case's question in hashes; more than `input` only where a case is more."""
        if self.messages is None and not self.tools:
            return self.input
        question = self.input if self.messages is None else list(self.messages)
        return gojson.dumps({"ask": question, "tools": list(self.tools)} if self.tools else question)

    @cached_property
    def hash(self) -> str:
        """The hash of the case set that holds this case alone."""
        return hash_cases([self])

    def chat(self) -> list[Message]:
        """The conversation to send: `messages`, else the input as one user message."""
        if self.messages is not None:
            return [dict(message) for message in self.messages]
        return [{"role": "user", "content": self.input}]


class CaseSet(Noun):
    """Ordered cases with unique names. Never empty: an evaluation of nothing must not look like one that passed."""

    cases: tuple[Case, ...] = Field(min_length=1)
    """The cases, in the order of their file."""

    @model_validator(mode="after")
    def _names_are_unique(self) -> CaseSet:
        seen: set[str] = set()
        repeated = [case.name for case in self.cases if case.name in seen or seen.add(case.name)]  # type: ignore[func-returns-value]
        if repeated:
            raise ValueError(f"case names repeat: {', '.join(sorted(set(repeated)))}; each needs its own")
        return self

    @cached_property
    def hash(self) -> str:
        """Lower-case hex sha256 over names, inputs and wants, in order."""
        return hash_cases(self.cases)

    @property
    def tags(self) -> tuple[str, ...]:
        """Every tag once, sorted."""
        return tuple(sorted({tag for case in self.cases for tag in case.tags}))


def hash_cases(cases: Iterable[Case]) -> str:
    """
    Say whether two case sets ask the same: lower-case hex sha256 over the cases in order.

    Each case adds `len:name NUL len:input NUL len:want NUL`, lengths in UTF-8 bytes, `want` as Go's encoding/json
    writes it. Tags and expectations are labels of ours and move nothing; `messages` and `tools`, where a case has
    them, stand in for `input` as their JSON.

    Source:
        `HashCases` of the Go package that defines `bide.eval.report.v2`; agreement is tested to the byte.
    """
    digest = hashlib.sha256()
    for case in cases:
        for text in (case.name, case.asked, gojson.dumps(case.want)):
            encoded = gojson.utf8(text)
            digest.update(b"%d:" % len(encoded) + encoded + b"\x00")
    return digest.hexdigest()


def _checked_json(value: Any) -> Any:
    try:
        gojson.dumps(value)
    except TypeError as error:
        raise ValueError(str(error)) from error
    return value
