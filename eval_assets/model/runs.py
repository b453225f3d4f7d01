"""What came back: the output of a run, its trajectory and usage, and the run and evaluation it belongs to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from pydantic import Field, model_validator

from eval_assets.model import gojson
from eval_assets.model.base import Noun
from eval_assets.model.cases import Message
from eval_assets.model.money import Price


class ToolCall(Noun):
    """One call of a tool, as the model wrote it."""

    name: str
    """The tool's name; empty where the model left it out."""
    arguments: str = ""
    """The arguments as the model wrote them: JSON, if it kept to the format."""
    id: str | None = None
    """The provider's id of the call, where it gave one."""


class Trajectory(Noun):
    """Steps (model turns) and tool calls of a run, in order."""

    steps: int = Field(default=0, ge=0)
    """Model turns: assistant messages."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Every call of every turn, in order."""

    @classmethod
    def from_messages(cls, messages: Iterable[Message]) -> Trajectory:
        """
        Read the trajectory off OpenAI chat messages.

        Raises:
            ValueError: A message is not an object, or its `tool_calls` are not a list of objects.
        """
        turns = [message for message in messages if _role(message) == "assistant"]
        calls = tuple(_tool_call(call) for turn in turns for call in _tool_calls(turn))
        return cls(steps=len(turns), tool_calls=calls)

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the called tools, in order, repeats kept."""
        return tuple(call.name for call in self.tool_calls)


def _role(message: Message) -> Any:
    if not isinstance(message, dict):
        raise ValueError(f"a message must be an object with a role, found {type(message).__name__}")
    return message.get("role")


def _tool_calls(turn: Message) -> list[Any]:
    calls = turn.get("tool_calls") or []
    if not isinstance(calls, list | tuple):
        raise ValueError(f"`tool_calls` must be a list, found {type(calls).__name__}")
    return list(calls)


def _tool_call(call: Any) -> ToolCall:
    if not isinstance(call, dict):
        raise ValueError(f"a tool call must be an object, found {type(call).__name__}")
    function = call.get("function") or {}
    if not isinstance(function, dict):
        raise ValueError(f"a tool call's `function` must be an object, found {type(function).__name__}")
    arguments = function.get("arguments")
    identity = call.get("id")
    return ToolCall(
        name=str(function.get("name") or ""),
        arguments=arguments if isinstance(arguments, str) else "" if arguments is None else _as_json(arguments),
        id=None if identity is None else str(identity),
    )


def _as_json(arguments: Any) -> str:
    """Some providers send the arguments themselves instead of their JSON."""
    return json.dumps(arguments, ensure_ascii=False, default=str)


class Usage(Noun):
    """Tokens a run used by the provider's own count. None where the provider did not say: unknown, never 0."""

    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)


class Said(NamedTuple):
    """A run's output, its text and tool calls, as something to find again: two that are equal are equal to the byte."""

    digest: str
    """Hex BLAKE2b of the final text and the calls' names and arguments; the ids of calls are left out."""
    characters: int
    """How long that is. Short answers repeat by chance."""


class RunOutput(Noun):
    """
    What came back from one run: an answer, the target's own error, or word that no answer was to be had.

    Three kinds of run are told apart, because they count differently:
    answered (`error` is None), failed by the target itself (`error` is set: the run fails), and *unavailable*
    (`unavailable` is True: refused, timed out, 5xx; every metric leaves the run unscored, `error` says why).
    """

    final: str | None = None
    """The last assistant text. None where there is none."""
    messages: tuple[Message, ...] = ()
    """The whole conversation as OpenAI chat messages."""
    usage: Usage = Usage()
    """Tokens, where known."""
    latency_s: float | None = Field(default=None, ge=0)
    """Seconds from asking to the final answer. None where unknown."""
    error: str | None = None
    """The target's own error, or why it was unavailable."""
    unavailable: bool = False
    """No answer was to be had; what the target would have said is unknown."""
    trace_error: str | None = None
    """Why the trajectory could not be read; trajectory metrics then leave the run unscored."""
    finish_reason: str | None = None
    """Why the model stopped, in the provider's word."""
    response_id: str | None = None
    """The provider's id of the last reply; two runs that share it are copies."""
    served_by: str | None = None
    """The entry of a cassette or cache that answered, where one did; two runs that share it are copies."""
    attempts: int = Field(default=1, ge=1)
    """HTTP tries of the last request, the answered one included."""
    scores: dict[str, bool | None] = Field(default_factory=dict)
    """Verdicts that came with a recorded run, by name. None is unscored."""
    stated_trajectory: Trajectory | None = Field(default=None, alias="trajectory")
    """The trajectory, where whoever made the output knows it otherwise than from `messages`."""

    @model_validator(mode="after")
    def _unavailable_says_why(self) -> RunOutput:
        if self.unavailable and not self.error:
            raise ValueError("an unavailable run needs `error` to say why it was not answered")
        return self

    @cached_property
    def trajectory(self) -> Trajectory:
        """Steps and tool calls: as stated, else read off `messages`. Empty where `trace_error` says why."""
        if self.trace_error:
            return Trajectory()
        return self.stated_trajectory or Trajectory.from_messages(self.messages)

    @property
    def said(self) -> Said | None:
        """What the run put out, to tell copies by. None where it was not recorded, which says nothing."""
        calls = self.trajectory.tool_calls
        if self.final is None and not calls:
            return None
        text = "\x00".join([self.final or "", *(f"{call.name}\x00{call.arguments}" for call in calls)])
        return Said(hashlib.blake2b(gojson.utf8(text), digest_size=16).hexdigest(), len(text))


class Run(Noun):
    """One case executed once within an evaluation."""

    case_name: str
    case_hash: str
    run_index: int = Field(ge=0)
    """0 … runs per case - 1."""
    run_id: str
    """Unique over all evaluations: the evaluation's nonce, and the run's place in it."""
    started_at: datetime
    """When it was asked, with a time zone."""
    output: RunOutput


class Evaluation(Noun):
    """One target over one case set, `runs_per_case` times each. In the store only once it is whole."""

    evaluation_id: str
    suite: str
    target: str
    """The target's name in the suite."""
    case_set_hash: str
    target_fingerprint: str
    """Hash of everything about the target that may change its answers."""
    target_spec: dict[str, Any]
    """The target as the suite describes it, secrets left out."""
    runs_per_case: int = Field(ge=1)
    total_runs: int = Field(ge=1)
    nonce: str
    """Drawn once per evaluation, so that a second one samples again and never replays the first."""
    model_id: str = ""
    temperature: float | None = None
    seed: int | None = None
    started_at: datetime
    finished_at: datetime | None = None
    """None while runs are missing."""
    replayed_from: str | None = None
    """The cassette that answered, where one did: then nothing was measured anew."""
    price: Price | None = None
    """What the target's tokens cost when it was asked. None where nobody said."""


class Provenance(Noun):
    """What must be equal for two reports to be comparable, and what was different."""

    model_id: str = ""
    """The model that answered; empty where unknown."""
    temperature: float | None = None
    """Sampling temperature; None where unknown."""
    seed: int | None = None
    """Sampling seed; None where none was set."""
    timestamp: datetime | None = None
    """When the evaluation began, with a time zone."""
    case_set_hash: str = ""
    """The hash of the cases asked; empty in a report that never knew it."""
