"""
Runs that happened elsewhere, read from OpenTelemetry GenAI spans: JSON lines as the OTLP file exporter writes them.

A run is the outermost span that names its case, with all spans below it; what other spans say of it is ignored. The
spans of one trace may stand on several lines, and in any order.

Source:
    OpenTelemetry semantic conventions for generative AI: spans, events, and the JSON of messages.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from eval_assets.errors import ConfigError
from eval_assets.model.cases import Case, CaseSet, Message
from eval_assets.model.runs import RunOutput, Usage
from eval_assets.targets import wire
from eval_assets.targets.specs import Otel
from eval_assets.targets.target import clean, final_text

_ERROR_STATUSES = (2, "STATUS_CODE_ERROR")
_UNAVAILABLE = re.compile(
    r"(?i)time-?d?.?out|connect|rate.?limit|overloaded|unavailable|internal.?server|gateway|\b(408|425|429|5\d\d)\b"
)
"""Types of errors that say no answer was to be had, as clients name them."""
_NAMED_AT_MOST = 10


class _Span(NamedTuple):
    """One span, its attributes as plain values."""

    trace: str
    id: str
    parent: str
    began: int
    ended: int
    attributes: dict[str, Any]
    error: str | None
    events: list[tuple[str, dict[str, Any]]]

    @property
    def operation(self) -> Any:
        return self.attributes.get("gen_ai.operation.name")


class OtelTarget:
    """Replays runs out of a trace file. Made by `open_otel`."""

    def __init__(self, path: Path, runs: dict[str, dict[int, RunOutput]]) -> None:
        self._path = path
        self._runs = runs

    async def ask(self, case: Case, run_index: int, run_id: str) -> RunOutput:  # noqa: ARG002  # part of Target
        runs = self._runs.get(case.name, {})
        if run_index >= len(runs):
            reason = f"{self._path} holds {len(runs)} runs of case {case.name!r}, and run {run_index} was asked for"
            return RunOutput(error=reason, unavailable=True)
        return runs[sorted(runs)[run_index]]


@contextlib.asynccontextmanager
async def open_otel(spec: Otel, *, folder: Path) -> AsyncIterator[OtelTarget]:
    """
    Open the traces for one evaluation.

    Raises:
        ConfigError: The file is missing, or holds a line that is no JSON.
    """
    runs, found = _read(spec, folder / spec.path)
    if found:
        raise ConfigError("\n".join(found))
    yield OtelTarget(folder / spec.path, runs)


def problems(spec: Otel, *, folder: Path, case_set: CaseSet, runs: int) -> list[str]:
    """What is wrong with the traces, for these cases and this many runs of each."""
    path = folder / spec.path
    recorded, found = _read(spec, path)
    if found:
        return found
    if not recorded:
        return [f"{path}: no span has the attribute {spec.case}; set `case` to the one that names a run's case"]
    known = {case.name for case in case_set.cases}
    strangers = [repr(name) for name in recorded if name not in known]
    short = [
        f"{case.name!r} (has {has})" for case in case_set.cases if (has := len(recorded.get(case.name, ()))) < runs
    ]
    if strangers:
        found.append(f"{path}: runs of {_named(strangers)} are not in the case set; add the cases to the suite's")
    if short:
        found.append(f"{path}: the suite asks for {runs} runs of every case, but fewer are there for {_named(short)}")
    return found


def _named(names: list[str]) -> str:
    more = len(names) - _NAMED_AT_MOST
    return ", ".join(names[:_NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")


def _read(spec: Otel, path: Path) -> tuple[dict[str, dict[int, RunOutput]], list[str]]:
    """The runs by case and number, and what is wrong with the file."""
    spans: list[_Span] = []
    found: list[str] = []
    try:
        with path.open("rb") as file:
            for position, line in enumerate(file, start=1):
                try:
                    spans.extend(_spans(line) if line.strip() else ())
                except ValueError as error:
                    found.append(f"{path}:{position}: {error}")
    except OSError as error:
        found.append(f"cannot read the traces in {path}: {error.strerror}")
    runs: dict[str, dict[int, RunOutput]] = {}
    below = _below(spans)
    for root in sorted(_roots(spans, spec.case), key=lambda span: (span.began, span.id)):
        of_case = runs.setdefault(str(root.attributes[spec.case]), {})
        number = len(of_case) if spec.run is None else wire.count(root.attributes.get(spec.run))
        if number is None:
            found.append(f"{path}: span {root.id}: {spec.run} is no run number from 0")
        elif number in of_case:
            found.append(
                f"{path}: span {root.id}: run {number} of case {root.attributes[spec.case]!r} was there before"
            )
        else:
            of_case[number] = _output(root, below)
    return runs, found


def _spans(line: bytes) -> Iterator[_Span]:
    try:
        document = clean(json.loads(line))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise ValueError(f"found {type(document).__name__}, wanted an object with resourceSpans")
    for resource in wire.objects(document.get("resourceSpans")):
        for scope in wire.objects(resource.get("scopeSpans")):
            yield from map(_span, wire.objects(scope.get("spans")))


def _span(found: dict[str, Any]) -> _Span:
    status, attributes = wire.mapping(found.get("status")), _attributes(found)
    failed = status.get("code") in _ERROR_STATUSES
    said = [str(text) for text in (attributes.get("error.type"), status.get("message")) if text]
    return _Span(
        trace=str(found.get("traceId")),
        id=str(found.get("spanId")),
        parent=str(found.get("parentSpanId") or ""),
        began=int(found.get("startTimeUnixNano") or 0),
        ended=int(found.get("endTimeUnixNano") or 0),
        attributes=attributes,
        error=(": ".join(said) or "the span failed") if failed else None,
        events=[(str(event.get("name")), _attributes(event)) for event in wire.objects(found.get("events"))],
    )


def _attributes(found: dict[str, Any]) -> dict[str, Any]:
    return {str(entry.get("key")): _plain(entry.get("value")) for entry in wire.objects(found.get("attributes"))}


def _plain(value: Any) -> Any:
    """An attribute's value without its type. 64-bit integers come as text."""
    kind, inner = next(iter(wire.mapping(value).items()), ("", None))
    match kind:
        case "intValue":
            return int(str(inner))
        case "arrayValue":
            return [_plain(item) for item in wire.mapping(inner).get("values") or ()]
        case "kvlistValue":
            return {
                str(entry.get("key")): _plain(entry.get("value"))
                for entry in wire.objects(wire.mapping(inner).get("values"))
            }
    return inner


def _below(spans: Sequence[_Span]) -> dict[tuple[str, str], list[_Span]]:
    children: defaultdict[tuple[str, str], list[_Span]] = defaultdict(list)
    for span in spans:
        children[span.trace, span.parent].append(span)
    return children


def _roots(spans: Sequence[_Span], case: str) -> Iterator[_Span]:
    """The spans that name a case and stand below none that does."""
    known = {(span.trace, span.id): span for span in spans}
    for span in spans:
        above = known.get((span.trace, span.parent))
        while above is not None and case not in above.attributes:
            above = known.get((above.trace, above.parent))
        if case in span.attributes and above is None:
            yield span


def _output(root: _Span, below: dict[tuple[str, str], list[_Span]]) -> RunOutput:
    spans = sorted(_descendants(root, below), key=lambda span: (span.began, span.ended))
    chats = [span for span in spans if span.operation in ("chat", "generate_content", "text_completion")]
    said = _messages(root, "gen_ai.output.messages")
    messages = _conversation(root, spans, said)
    answers = said or [message for message in messages if message.get("role") == "assistant"]
    final = next((text for message in reversed(answers) if (text := final_text(message))), None)
    error, unavailable = root.error, root.error is not None and bool(_UNAVAILABLE.search(root.error))
    if error is None and not answers:
        error, unavailable = "its spans hold no messages: the content of messages was not captured", True
    last = chats[-1] if chats else root
    reasons = root.attributes.get("gen_ai.response.finish_reasons") or last.attributes.get(
        "gen_ai.response.finish_reasons"
    )
    return RunOutput(
        final=final,
        messages=tuple(messages),
        usage=_usage(root, chats),
        latency_s=max(0, root.ended - root.began) / 1e9 if root.began and root.ended and not unavailable else None,
        error=error,
        unavailable=unavailable,
        finish_reason=str(reasons[-1]) if isinstance(reasons, list) and reasons else None,
        response_id=wire.identity_or_none(last.attributes.get("gen_ai.response.id")),
        scores=_scores([root, *spans]),
    )


def _descendants(root: _Span, below: dict[tuple[str, str], list[_Span]]) -> Iterator[_Span]:
    for span in below.get((root.trace, root.id), ()):
        yield span
        yield from _descendants(span, below)


def _conversation(root: _Span, spans: Sequence[_Span], said: list[Message]) -> list[Message]:
    """What was asked, then turns and tool results in the order they happened, then the answer."""
    first = next((span for span in spans if "gen_ai.input.messages" in span.attributes), None)
    asked = _messages(root, "gen_ai.input.messages") or (
        _messages(first, "gen_ai.input.messages") if first is not None else []
    )
    messages, called = list(asked), set[str]()
    for span in spans:
        if span.operation == "execute_tool":
            messages += _tool_messages(span, called)
        elif span.operation != "invoke_agent":
            turn = _messages(span, "gen_ai.output.messages")
            called |= {identity for message in turn for identity, _, _ in wire.called(message)}
            messages += turn
    return messages if said and messages[-len(said) :] == said else [*messages, *said]


def _tool_messages(span: _Span, called: set[str]) -> Iterator[Message]:
    """A tool's result; and its call, where no turn of the model's made it: then the agent did so itself."""
    identity = str(span.attributes.get("gen_ai.tool.call.id") or span.id)
    if identity not in called:
        arguments = span.attributes.get("gen_ai.tool.call.arguments")
        call = wire.tool_call(identity, span.attributes.get("gen_ai.tool.name"), arguments, 0)
        yield {"role": "assistant", "content": None, "tool_calls": [call]}
    result = span.attributes.get("gen_ai.tool.call.result")
    if span.error is not None:
        result = {"error": span.error}
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    yield {"role": "tool", "tool_call_id": identity, "content": text}


def _messages(span: _Span, name: str) -> list[Message]:
    """The messages in an attribute, as chat messages; it holds them as JSON text or as they are."""
    found = span.attributes.get(name)
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            return []
    return [message for item in wire.objects(found) for message in _chat_messages(item)]


def _chat_messages(found: dict[str, Any]) -> Iterator[Message]:
    parts = wire.objects(found.get("parts"))
    results = [part for part in parts if part.get("type") == "tool_call_response"]
    for part in results:
        said = part.get("response", part.get("result"))
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        yield {"role": "tool", "tool_call_id": str(part.get("id")), "content": text}
    if len(results) == len(parts) and parts:
        return
    texts = [str(part.get("content")) for part in parts if part.get("type") == "text"]
    message: Message = {"role": str(found.get("role")), "content": "".join(texts) if texts else None}
    calls = [part for part in parts if part.get("type") == "tool_call"]
    if calls:
        message["tool_calls"] = [
            wire.tool_call(part.get("id"), part.get("name"), part.get("arguments"), n) for n, part in enumerate(calls)
        ]
    yield message


def _usage(root: _Span, chats: Sequence[_Span]) -> Usage:
    """The run's own count, where it has one: an agent's span repeats what its chat spans say."""
    counts = {}
    for name in ("input_tokens", "output_tokens"):
        key = f"gen_ai.usage.{name}"
        total = wire.count(root.attributes.get(key))
        of_chats = [wire.count(span.attributes.get(key)) for span in chats]
        if total is None and of_chats and None not in of_chats:
            total = sum(count for count in of_chats if count is not None)
        counts[name] = total
    return Usage(**counts)


def _scores(spans: Sequence[_Span]) -> dict[str, bool | None]:
    """Verdicts that were recorded as events of the run's spans."""
    scores: dict[str, bool | None] = {}
    for name, attributes in (event for span in spans for event in span.events):
        if name == "gen_ai.evaluation.result" and (metric := attributes.get("gen_ai.evaluation.name")):
            scores[str(metric)] = _verdict(attributes)
    return scores


def _verdict(attributes: dict[str, Any]) -> bool | None:
    label = attributes.get("gen_ai.evaluation.score.label")
    value = attributes.get("gen_ai.evaluation.score.value")
    if attributes.get("error.type"):
        return None
    if isinstance(label, str) and label.lower() in ("pass", "passed", "fail", "failed", "true", "false"):
        return label.lower() in ("pass", "passed", "true")
    return bool(value) if value in (0, 1) else None
