"""
What a suite file may say about a target, kind by kind: names, types and ranges.

Whether a named file, variable or function exists is asked in `opening`; nothing here touches the world.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, ConfigDict, Field, field_validator, model_validator

from eval_assets.model.base import Noun

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_OWN_KEYS = frozenset({"model", "messages", "temperature", "seed", "max_tokens", "tools", "stream"})


def _no_boolean(value: Any) -> Any:
    # Python counts true as 1; a suite that says `seed: true` means something else.
    if isinstance(value, bool):
        raise ValueError("found true or false, wanted a number")
    return value


def _function_path(path: str) -> str:
    if not _FUNCTION.fullmatch(path):
        raise ValueError(f"found {path!r}, wanted a function as `package.module:name`")
    return path


Temperature = Annotated[float, BeforeValidator(_no_boolean), Field(ge=0)]
Count = Annotated[int, BeforeValidator(_no_boolean), Field(ge=1)]
Integer = Annotated[int, BeforeValidator(_no_boolean)]
Seconds = Annotated[float, BeforeValidator(_no_boolean), Field(gt=0)]


class _Spec(Noun):
    # A refused header would otherwise be quoted in the error, key and all.
    model_config = ConfigDict(hide_input_in_errors=True)


class OpenAIChat(_Spec):
    """A model behind `{base_url}/chat/completions`, as OpenAI, vLLM, Ollama, llama.cpp and many others serve it."""

    kind: Literal["openai_chat"] = "openai_chat"
    base_url: str
    """Ends in `/v1` with nearly every server."""
    model: str = Field(min_length=1)
    api_key_env: str | None = Field(default=None, min_length=1)
    """The environment variable that holds the key; the key itself never stands in a suite."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Sent with every request. The values are treated as secrets."""
    system: str | None = None
    """A system prompt, or a file when it names one."""
    temperature: Temperature | None = None
    seed: Integer | None = None
    max_tokens: Count | None = None
    tools: tuple[dict[str, Any], ...] = ()
    """JSON-schema function tools offered with every case, beside the case's own."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Further keys of the request body, as the provider names them."""
    timeout_s: Seconds = 120.0
    """Seconds one attempt may take, from connecting to the last byte."""
    max_attempts: Count = 3
    """HTTP tries of one request, the first included."""

    @field_validator("base_url")
    @classmethod
    def _is_an_http_url(cls, url: str) -> str:
        parts = urlsplit(url.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname or " " in url.strip():
            raise ValueError("wanted a URL such as http://127.0.0.1:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("wanted a URL without user, password, ? or #; put a key into api_key_env or headers")
        _ = parts.port
        return url.strip().rstrip("/")

    @field_validator("headers")
    @classmethod
    def _headers_can_be_sent(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not _HEADER_NAME.fullmatch(name):
                raise ValueError(f"{name!r} is not the name of an HTTP header")
            if not is_sendable(value):
                raise ValueError(f"the value of {name} holds a line break or a character outside ASCII")
        return headers

    @field_validator("tools")
    @classmethod
    def _tools_have_names(cls, tools: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        for tool in tools:
            function = tool.get("function", tool)
            if not isinstance(function, dict) or not isinstance(function.get("name"), str):
                raise ValueError("wanted tools as {type: function, function: {name, description, parameters}}")
        return tools

    @field_validator("extra")
    @classmethod
    def _extra_is_extra(cls, extra: dict[str, Any]) -> dict[str, Any]:
        if own := sorted(_OWN_KEYS & extra.keys()):
            raise ValueError(f"{', '.join(own)} cannot stand under extra; a target sets them itself")
        return extra


class RecordedResult(_Spec):
    """What a tool answered once."""

    arguments: dict[str, Any] = Field(default_factory=dict)
    result: Any = None


class AgentTool(_Spec):
    """A tool an agent may call: a Python function, or results recorded earlier."""

    name: str = Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")
    description: str | None = None
    parameters: dict[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})
    """JSON schema of the arguments."""
    function: str | None = None
    """`package.module:name`, sync or async, called with the arguments by name."""
    results: tuple[RecordedResult, ...] | str | None = None
    """Recorded results, or a file of them as JSON lines. Asked again with the same arguments, the next one answers."""

    @field_validator("function")
    @classmethod
    def _names_a_function(cls, path: str | None) -> str | None:
        return path if path is None else _function_path(path)

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.function is None) == (self.results is None):
            raise ValueError(f"tool {self.name} needs either `function` or `results`")
        return self


class Agent(_Spec):
    """A model target in a tool loop: asked until it answers without calling a tool."""

    kind: Literal["agent"] = "agent"
    model: str = Field(min_length=1)
    """The name of another target of the suite."""
    tools: tuple[AgentTool, ...] = ()
    max_turns: Count = 10
    """Model turns after which a run without a final answer has failed."""
    system: str | None = None
    """A system prompt, or a file when it names one; takes the place of the model's own."""

    @field_validator("tools")
    @classmethod
    def _tool_names_are_unique(cls, tools: tuple[AgentTool, ...]) -> tuple[AgentTool, ...]:
        names = [tool.name for tool in tools]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"tool names repeat: {', '.join(repeated)}")
        return tools


class Python(_Spec):
    """A function of the user's: gets the input, returns the final text or a RunOutput."""

    kind: Literal["python"] = "python"
    function: str
    """`package.module:name`, sync or async."""
    model: str = ""
    """Provenance: what answers behind the function, where known."""
    temperature: Temperature | None = None
    seed: Integer | None = None

    @field_validator("function")
    @classmethod
    def _names_a_function(cls, path: str) -> str:
        return _function_path(path)


class Recorded(_Spec):
    """Runs that happened elsewhere, replayed."""

    kind: Literal["recorded"] = "recorded"
    path: str = Field(min_length=1)
    """JSON lines, one object a run."""
    runs: tuple[Integer, ...] | None = None
    """Which recorded runs of each case to replay, in order; null is all that are found."""
    model: str = ""
    temperature: Temperature | None = None
    seed: Integer | None = None

    @field_validator("runs")
    @classmethod
    def _runs_are_a_choice(cls, runs: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if runs is None:
            return None
        if not runs:
            raise ValueError("`runs` is empty; list run numbers, or leave it out to replay all")
        if min(runs) < 0:
            raise ValueError(f"found run {min(runs)}, wanted run numbers from 0")
        if len(set(runs)) < len(runs):
            raise ValueError("a run is listed twice; a copy is no further evidence")
        return runs


TargetSpec = Annotated[OpenAIChat | Agent | Python | Recorded, Field(discriminator="kind")]
"""A target as a suite file describes it, told apart by `kind`."""

BY_KIND: dict[str, type[OpenAIChat | Agent | Python | Recorded]] = {
    "openai_chat": OpenAIChat,
    "agent": Agent,
    "python": Python,
    "recorded": Recorded,
}


def is_sendable(value: str) -> bool:
    """Whether a text can be the value of an HTTP header."""
    return value.isascii() and value.isprintable()
