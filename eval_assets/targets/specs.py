"""
What a suite file may say about a target, kind by kind: names, types and ranges.

Whether a named file, variable or function exists is asked in `opening`; nothing here touches the world.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import parse_qsl, urlsplit

from pydantic import BeforeValidator, ConfigDict, Field, field_validator, model_validator

from eval_assets.model.base import Noun
from eval_assets.model.money import Price

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def _no_boolean(value: Any) -> Any:
    # Python counts true as 1; a suite that says `seed: true` means something else.
    if isinstance(value, bool):
        raise ValueError("found true or false, wanted a number")
    return value


def _function_path(path: str) -> str:
    if not _FUNCTION.fullmatch(path):
        raise ValueError(f"found {path!r}, wanted a function as `package.module:name`")
    return path


def _http_url(url: str) -> str:
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname or " " in url.strip():
        raise ValueError("wanted a URL such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("wanted a URL without user, password or #; put a key into api_key_env or headers")
    _ = parts.port
    return url.strip()


Temperature = Annotated[float, BeforeValidator(_no_boolean), Field(ge=0)]
Count = Annotated[int, BeforeValidator(_no_boolean), Field(ge=1)]
Integer = Annotated[int, BeforeValidator(_no_boolean)]
Seconds = Annotated[float, BeforeValidator(_no_boolean), Field(gt=0)]
PerMinute = Annotated[float, BeforeValidator(_no_boolean), Field(gt=0)]
Megabytes = Annotated[float, BeforeValidator(_no_boolean), Field(gt=0)]


class _Spec(Noun):
    # A refused header would otherwise be quoted in the error, key and all.
    model_config = ConfigDict(hide_input_in_errors=True)


class _TargetSpec(_Spec):
    price: Price | None = Field(default=None, exclude=True)
    """What its tokens cost. Kept apart from the description: a new price makes no other target."""


class EndpointSpec(_TargetSpec):
    """What every target has in common that is asked over HTTP."""

    api_key_env: str | None = Field(default=None, min_length=1)
    """The environment variable that holds the key; the key itself never stands in a suite."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Sent with every request. The values are treated as secrets."""
    timeout_s: Seconds = 120.0
    """Seconds one attempt may take, from connecting to the last byte."""
    max_attempts: Count = 3
    """HTTP tries of one request, the first included."""
    query: dict[str, str] = Field(default_factory=dict)
    """Added to every URL, as is what stands after `?` in the URL itself. The values are treated as secrets."""
    max_wait_s: Seconds = 60.0
    """Ceiling of one wait; a run whose server tells a longer one is unavailable at once."""
    max_run_wait_s: Seconds = 300.0
    """Ceiling of all that one run waits before further attempts."""
    requests_per_minute: PerMinute | None = None
    """Evenly spaced. Two targets on one key share the lower."""
    tokens_per_minute: PerMinute | None = None
    """In and out together, by the provider's count where it counts."""
    max_body_mb: Megabytes = 32.0
    """A larger reply is not read to its end."""

    @model_validator(mode="before")
    @classmethod
    def _query_stands_apart(cls, data: Any) -> Any:
        # A key after `?` must not be where a URL is: that is described, fingerprinted and shown in errors.
        if not isinstance(data, dict):
            return data
        apart = dict(data)
        query: dict[str, str] = {}
        for name in ("base_url", "url"):
            url = data.get(name)
            if isinstance(url, str) and "?" in url:
                apart[name], _, written = url.partition("?")
                query.update(parse_qsl(written, keep_blank_values=True))
        own = apart.get("query")
        return {**apart, "query": {**query, **(own if isinstance(own, dict) else {})}} if query else apart

    @field_validator("headers")
    @classmethod
    def _headers_can_be_sent(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not _HEADER_NAME.fullmatch(name):
                raise ValueError(f"{name!r} is not the name of an HTTP header")
            if not is_sendable(value):
                raise ValueError(f"the value of {name} holds a line break or a character outside ASCII")
        return headers


ASKING_KEYS = frozenset(
    {
        "api_key_env",
        "timeout_s",
        "max_attempts",
        "max_wait_s",
        "max_run_wait_s",
        "requests_per_minute",
        "tokens_per_minute",
        "max_body_mb",
    }
)
"""How a target is asked, which changes none of its answers."""


class ModelSpec(EndpointSpec):
    """What every hosted model has in common, whatever its wire format."""

    own_keys: ClassVar[frozenset[str]] = frozenset()
    """Keys of the request body that a target sets itself, and `extra` may not."""

    base_url: str
    model: str = Field(min_length=1)
    system: str | None = None
    """A system prompt, or a file when it names one."""
    temperature: Temperature | None = None
    seed: Integer | None = None
    """Sent where the wire format has one: chat completions and Gemini. Elsewhere it is provenance."""
    max_tokens: Count | None = None
    stream: bool = False
    """Ask for the reply in pieces. What is read is the same; a reply that is cut off is noticed."""
    tools: tuple[dict[str, Any], ...] = ()
    """JSON-schema function tools offered with every case, beside the case's own."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Further keys of the request body, as the provider names them."""

    @field_validator("base_url")
    @classmethod
    def _is_an_http_url(cls, url: str) -> str:
        return _http_url(url).rstrip("/")

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
        if own := sorted(cls.own_keys & extra.keys()):
            raise ValueError(f"{', '.join(own)} cannot stand under extra; a target sets them itself")
        return extra


class OpenAIChat(ModelSpec):
    """A model behind `{base_url}/chat/completions`, as OpenAI, vLLM, Ollama, llama.cpp and many others serve it."""

    own_keys = frozenset({"model", "messages", "temperature", "seed", "max_tokens", "tools", "stream"})

    kind: Literal["openai_chat"] = "openai_chat"
    base_url: str
    """Ends in `/v1` with nearly every server."""


class OpenAIResponses(ModelSpec):
    """A model behind `{base_url}/responses`."""

    own_keys = frozenset({"model", "input", "instructions", "temperature", "max_output_tokens", "tools", "stream"})

    kind: Literal["openai_responses"] = "openai_responses"
    base_url: str = "https://api.openai.com/v1"
    """Ends in `/v1`."""


class Anthropic(ModelSpec):
    """A model behind `{base_url}/v1/messages`."""

    own_keys = frozenset({"model", "messages", "system", "temperature", "max_tokens", "tools", "stream"})

    kind: Literal["anthropic"] = "anthropic"
    base_url: str = "https://api.anthropic.com"
    """The host alone."""


class Gemini(ModelSpec):
    """A model behind `{base_url}/v1beta/models/{model}:generateContent`."""

    own_keys = frozenset({"contents", "systemInstruction", "tools"})

    kind: Literal["gemini"] = "gemini"
    base_url: str = "https://generativelanguage.googleapis.com"
    """The host alone."""


class HttpRead(_Spec):
    """Where in the reply what stands: JMESPath expressions over its JSON."""

    final: str | None = None
    """The final text; a value that is no text is taken as its JSON."""
    messages: str | None = None
    """The conversation as OpenAI chat messages. Without `final`, its last assistant text is the answer."""
    tool_calls: str | None = None
    """A list of `{name, arguments}`, or of calls as chat messages have them."""
    usage: str | None = None
    """An object `{input_tokens, output_tokens}`, or with the names of chat completions."""
    error: str | None = None
    """The agent's own error; anything but null, false and an empty text fails the run."""
    finish_reason: str | None = None
    response_id: str | None = None

    @field_validator("*")
    @classmethod
    def _is_an_expression(cls, expression: str | None) -> str | None:
        if expression is not None:
            import jmespath

            try:
                jmespath.compile(expression)
            except jmespath.exceptions.JMESPathError as error:
                raise ValueError(f"{expression!r} is no JMESPath expression: {error}") from error
        return expression

    @model_validator(mode="after")
    def _finds_an_answer(self) -> Self:
        if self.final is None and self.messages is None:
            raise ValueError("wanted `final` or `messages`; without either there is no answer to read")
        return self


class Http(EndpointSpec):
    """A person's own agent behind one URL: a JSON body with places to fill, and where its answer stands."""

    kind: Literal["http"] = "http"
    url: str
    body: Any = Field(default_factory=lambda: {"input": "{{input}}"})
    """
    JSON, or its text. `{{input}}`, `{{messages}}`, `{{tools}}`, `{{case}}`, `{{run}}` and `{{run_id}}` are filled in:
    alone in a text as the value itself, within one as text.
    """
    read: HttpRead
    model: str = ""
    """Provenance: what answers behind the agent, where known."""
    temperature: Temperature | None = None
    seed: Integer | None = None

    @field_validator("url")
    @classmethod
    def _is_an_http_url(cls, url: str) -> str:
        return _http_url(url)

    @field_validator("body")
    @classmethod
    def _is_json(cls, body: Any) -> Any:
        if not isinstance(body, str):
            return body
        try:
            return json.loads(body)
        except ValueError as error:
            places = '{"messages": "{{messages}}"}'
            raise ValueError(f"the text is not JSON: {error}; places to fill stand in quotes: {places}") from error


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


class Agent(_TargetSpec):
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


class Python(_TargetSpec):
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


class Recorded(_TargetSpec):
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


class Otel(_TargetSpec):
    """Runs read from OpenTelemetry GenAI spans, as the OTLP file exporter writes them: JSON lines."""

    kind: Literal["otel"] = "otel"
    path: str = Field(min_length=1)
    case: str = Field(default="test.case.name", min_length=1)
    """The attribute of a run's outermost span that names its case."""
    run: str | None = Field(default=None, min_length=1)
    """The attribute that numbers the runs of a case from 0; null numbers them by when they began."""
    model: str = ""
    temperature: Temperature | None = None
    seed: Integer | None = None


AnySpec = OpenAIChat | OpenAIResponses | Anthropic | Gemini | Agent | Http | Python | Recorded | Otel
TargetSpec = Annotated[AnySpec, Field(discriminator="kind")]
"""A target as a suite file describes it, told apart by `kind`."""

BY_KIND: dict[str, type[AnySpec]] = {
    "openai_chat": OpenAIChat,
    "openai_responses": OpenAIResponses,
    "anthropic": Anthropic,
    "gemini": Gemini,
    "agent": Agent,
    "http": Http,
    "python": Python,
    "recorded": Recorded,
    "otel": Otel,
}


def is_sendable(value: str) -> bool:
    """Whether a text can be the value of an HTTP header."""
    return value.isascii() and value.isprintable()
