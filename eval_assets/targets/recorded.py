"""Runs that happened elsewhere: a file of JSON lines, checked line by line, replayed run by run."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from eval_assets.errors import ConfigError
from eval_assets.model.cases import Case, CaseSet, Message
from eval_assets.model.runs import RunOutput, Trajectory, Usage
from eval_assets.targets.specs import Recorded
from eval_assets.targets.target import clean, final_text

_NAMED_AT_MOST = 10


class RecordedTarget:
    """Replays runs from the file as they are asked for. Made by `open_recorded`."""

    def __init__(self, spec: Recorded, recording: _Recording) -> None:
        self._runs = spec.runs
        self._recording = recording

    async def ask(self, case: Case, run_index: int, run_id: str) -> RunOutput:  # noqa: ARG002  # part of Target
        try:
            return _output(self._recording.read(case.name, self._chosen(case.name)[run_index]))
        except (LookupError, OSError, ValueError) as error:
            reason = f"{self._recording.path} holds no readable run {run_index} of case {case.name!r}: {error}"
            return RunOutput(error=reason, unavailable=True)

    def _chosen(self, case_name: str) -> Sequence[int]:
        return sorted(self._recording.places.get(case_name, {})) if self._runs is None else self._runs


class _Place(NamedTuple):
    """Where a run stands in its file."""

    line: int
    offset: int
    length: int


class _Recording:
    """Which runs a file holds and where. The runs themselves stay in the file, which may be larger than memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.places: dict[str, dict[int, _Place]] = {}
        self.problems: list[str] = []
        for place, line in _lines(path):
            try:
                self._add(place, _parse(line))
            except ValueError as error:
                self.problems.append(f"{path}:{place.line}: {error}")

    def read(self, case_name: str, run: int) -> dict[str, Any]:
        place = self.places[case_name][run]
        with self.path.open("rb") as file:
            file.seek(place.offset)
            return _parse(file.read(place.length))

    def _add(self, place: _Place, recorded: dict[str, Any]) -> None:
        _output(recorded)
        runs = self.places.setdefault(recorded["case"], {})
        first = runs.setdefault(recorded["run"], place)
        if first is not place:
            raise ValueError(
                f"run {recorded['run']} of case {recorded['case']!r} was already recorded on line {first.line}; "
                "a copy is no further evidence"
            )


@contextlib.asynccontextmanager
async def open_recorded(spec: Recorded, *, folder: Path) -> AsyncIterator[RecordedTarget]:
    """
    Open the recording for one evaluation.

    Raises:
        ConfigError: The file is missing, or holds a line that is no run.
    """
    recording = _read(folder / spec.path)
    if recording.problems:
        raise ConfigError("\n".join(recording.problems))
    yield RecordedTarget(spec, recording)


def problems(spec: Recorded, *, folder: Path, case_set: CaseSet, runs: int) -> list[str]:
    """What is wrong with a recording, for these cases and this many runs of each."""
    try:
        recording = _read(folder / spec.path)
    except ConfigError as error:
        return [str(error)]
    return [
        *recording.problems,
        *_strangers(recording, case_set),
        *_shortage(spec, recording, case_set, runs),
    ]


def _read(path: Path) -> _Recording:
    try:
        return _Recording(path)
    except OSError as error:
        raise ConfigError(f"cannot read the recorded runs in {path}: {error.strerror}") from error


def _lines(path: Path) -> Iterator[tuple[_Place, bytes]]:
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield _Place(number, offset, len(line)), line
            offset += len(line)


def _strangers(recording: _Recording, case_set: CaseSet) -> list[str]:
    known = {case.name for case in case_set.cases}
    strangers = [name for name in recording.places if name not in known]
    if not strangers:
        return []
    first = min(recording.places[strangers[0]].values())
    return [
        f"{recording.path}:{first.line}: recorded runs for {_named([repr(name) for name in strangers])}, not in the "
        "case set; add the case to the suite's cases, or take its runs out of the recording"
    ]


def _shortage(spec: Recorded, recording: _Recording, case_set: CaseSet, runs: int) -> list[str]:
    if spec.runs is not None and len(spec.runs) < runs:
        listed = f"the suite asks for {runs} runs per case, but this target's `runs` lists {len(spec.runs)}"
        return [f"{listed}; list more recorded runs, or set the suite's `runs` to {len(spec.runs)}"]
    has = {case.name: _count(spec.runs, recording.places.get(case.name, {}), runs) for case in case_set.cases}
    short = {name: count for name, count in has.items() if count < runs}
    if not short:
        return []
    wanted = f"{runs} runs" if spec.runs is None else f"the recorded runs {list(spec.runs[:runs])}"
    cases = _named([f"{name!r} (has {count})" for name, count in short.items()])
    fewest = min(short.values())
    otherwise = f", or set the suite's `runs` to {fewest}" if fewest and spec.runs is None else ""
    return [
        f"{recording.path}: the suite asks for {wanted} of every case, but fewer are recorded for {cases}; "
        f"record the missing runs{otherwise}"
    ]


def _count(listed: tuple[int, ...] | None, found: dict[int, _Place], runs: int) -> int:
    return len(found) if listed is None else sum(run in found for run in listed[:runs])


def _named(names: list[str]) -> str:
    more = len(names) - _NAMED_AT_MOST
    kind = "case" if len(names) == 1 else "cases"
    return f"{kind} {', '.join(names[:_NAMED_AT_MOST])}" + (f" and {more} more" if more > 0 else "")


def _parse(line: bytes) -> dict[str, Any]:
    try:
        recorded = json.loads(line)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(recorded, dict):
        raise ValueError(f"found {type(recorded).__name__}, wanted an object {{case, run, messages, final, …}}")
    if not isinstance(recorded.get("case"), str) or not recorded["case"]:
        raise ValueError(f"`case` is {recorded.get('case')!r}, wanted the name of a case")
    run = recorded.get("run")
    if not isinstance(run, int) or isinstance(run, bool) or run < 0:
        raise ValueError(f"`run` is {run!r}, wanted a run number from 0")
    return dict(clean(recorded)) if b"\\ud" in line.lower() else recorded


def _output(recorded: dict[str, Any]) -> RunOutput:
    """
    Read one recorded run.

    Raises:
        ValueError: A value is not of the layout.
    """
    messages, trace_error = _messages(recorded)
    unavailable = _typed(recorded, "unavailable", bool, "true or false") or False
    error = _typed(recorded, "error", str, "text or null")
    final = _typed(recorded, "final", str, "text or null")
    return RunOutput(
        final=_last_text(messages) if final is None else final,
        messages=messages,
        usage=_usage(recorded),
        latency_s=_latency(recorded),
        error=error or ("recorded as unavailable" if unavailable else None),
        unavailable=unavailable,
        trace_error=_typed(recorded, "trace_error", str, "text or null") or trace_error,
        finish_reason=_typed(recorded, "finish_reason", str, "text or null"),
        response_id=_typed(recorded, "response_id", str, "text or null"),
        served_by=_typed(recorded, "served_by", str, "text or null"),
        scores=_scores(recorded),
    )


def _messages(recorded: dict[str, Any]) -> tuple[tuple[Message, ...], str | None]:
    messages = recorded.get("messages") or []
    try:
        if not isinstance(messages, list):
            raise ValueError(f"`messages` is {type(messages).__name__}, wanted a list")
        Trajectory.from_messages(messages)
    except ValueError as error:
        return (), str(error)
    return tuple(messages), None


def _last_text(messages: tuple[Message, ...]) -> str | None:
    texts = (final_text(message) for message in reversed(messages) if message.get("role") == "assistant")
    return next((text for text in texts if text), None)


def _usage(recorded: dict[str, Any]) -> Usage:
    usage = _typed(recorded, "usage", dict, "an object {input_tokens, output_tokens} or null") or {}
    counts = {key: _typed(usage, key, int, "a count or null") for key in ("input_tokens", "output_tokens")}
    if any(count is not None and count < 0 for count in counts.values()):
        raise ValueError(f"`usage` holds a negative count: {usage!r}")
    return Usage(**counts)


def _latency(recorded: dict[str, Any]) -> float | None:
    latency = recorded.get("latency_s")
    if latency is None:
        return None
    if isinstance(latency, bool) or not isinstance(latency, (int, float)) or not 0 <= latency < float("inf"):
        raise ValueError(f"`latency_s` is {latency!r}, wanted seconds from 0, or null")
    return float(latency)


def _scores(recorded: dict[str, Any]) -> dict[str, bool | None]:
    scores = _typed(recorded, "scores", dict, "an object of true, false or null") or {}
    for name, score in scores.items():
        if score is not None and not isinstance(score, bool):
            raise ValueError(f"the score {name!r} is {score!r}, wanted true, false or null")
    return dict(scores)


def _typed(values: dict[str, Any], key: str, kind: type, wanted: str) -> Any:
    value = values.get(key)
    if value is None or (isinstance(value, kind) and not (kind is int and isinstance(value, bool))):
        return value
    raise ValueError(f"`{key}` is {value!r}, wanted {wanted}")
