"""The tools of an agent: a Python function, or results recorded earlier, behind one call."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from eval_assets.errors import ConfigError
from eval_assets.model import gojson
from eval_assets.targets import functions
from eval_assets.targets.specs import AgentTool, RecordedResult
from eval_assets.targets.target import clean

_RESULT: TypeAdapter[RecordedResult] = TypeAdapter(RecordedResult)


class Toolbox:
    """The tools of one agent. Made once per evaluation by `open_toolbox`; a `Session` calls them for one run."""

    def __init__(
        self, tools: dict[str, AgentTool], loaded: dict[str, functions.Function | _Results], pool: Executor
    ) -> None:
        self.offered = [_as_offered(tool) for tool in tools.values()]
        """The tools as a model is told of them."""
        self._loaded = loaded
        self._pool = pool

    def session(self) -> Session:
        """The tools for one run, which knows nothing of the others."""
        return Session(self._loaded, self._pool)


class Session:
    """Calls tools during one run, and never raises for what a model or a tool does wrong."""

    def __init__(self, loaded: dict[str, functions.Function | _Results], pool: Executor) -> None:
        self._loaded = loaded
        self._pool = pool
        self._asked: Counter[str] = Counter()

    async def call(self, name: str, arguments: str) -> str:
        """What the tool says, as the text of a tool message; `{"error": …}` where it could not say anything."""
        tool = self._loaded.get(name)
        if tool is None:
            return _error(f"there is no tool {name!r}; the tools are: {', '.join(self._loaded) or 'none'}")
        try:
            given = json.loads(arguments or "{}")
        except ValueError as error:
            return _error(f"the arguments are not JSON: {error}")
        if not isinstance(given, dict):
            return _error(f"the arguments are {type(given).__name__}, wanted a JSON object")
        return await self._answer(name, tool, clean(given))

    async def _answer(self, name: str, tool: functions.Function | _Results, arguments: dict[str, Any]) -> str:
        try:
            if isinstance(tool, _Results):
                return _text(self._recorded(name, tool, arguments))
            return _text(await functions.call(tool, self._pool, **arguments))
        except Exception as failure:  # noqa: BLE001  # a tool is arbitrary code of the user's
            return _error(f"{type(failure).__name__}: {failure}")

    def _recorded(self, name: str, results: _Results, arguments: dict[str, Any]) -> Any:
        key = gojson.dumps(arguments)
        if key not in results:
            raise LookupError(f"no result is recorded for these arguments: {key}")
        position = self._asked[f"{name} {key}"]
        self._asked[f"{name} {key}"] += 1
        return results[key][min(position, len(results[key]) - 1)]


class _Results(dict[str, list[Any]]):
    """Recorded results by their arguments as JSON, in the order they were recorded."""


def open_toolbox(tools: tuple[AgentTool, ...], *, folder: Path, pool: Executor) -> Toolbox:
    """
    Load the functions and recorded results of an agent's tools.

    Raises:
        ConfigError: One of them cannot be loaded.
    """
    return Toolbox({tool.name: tool for tool in tools}, {tool.name: _load(tool, folder) for tool in tools}, pool)


def problems(tools: tuple[AgentTool, ...], *, folder: Path) -> list[str]:
    """What is wrong with the tools that can be seen without calling one."""
    found = []
    for tool in tools:
        try:
            _load(tool, folder)
        except ConfigError as error:
            found.append(f"tool {tool.name}: {error}")
    return found


def sources(tools: tuple[AgentTool, ...], *, folder: Path) -> list[Any]:
    """What the tools' answers depend on, beside their specs: the text of modules and of recorded files."""
    return [_source(tool, folder) for tool in tools]


def _source(tool: AgentTool, folder: Path) -> str | None:
    if tool.function is not None:
        return functions.source(tool.function, folder=folder)
    if not isinstance(tool.results, str):
        return None
    try:
        return (folder / tool.results).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _load(tool: AgentTool, folder: Path) -> functions.Function | _Results:
    if tool.function is not None:
        return functions.load(tool.function, folder=folder)
    recorded = _read_results(folder / tool.results) if isinstance(tool.results, str) else tool.results or ()
    results = _Results()
    for entry in recorded:
        results.setdefault(gojson.dumps(entry.arguments), []).append(entry.result)
    return results


def _read_results(path: Path) -> list[RecordedResult]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the recorded results in {path}: {error}") from error
    return [_read_result(line, path, number) for number, line in enumerate(lines, start=1) if line.strip()]


def _read_result(line: str, path: Path, number: int) -> RecordedResult:
    try:
        return _RESULT.validate_json(line)
    except ValidationError as error:
        found = "; ".join(problem["msg"] for problem in error.errors())
        raise ConfigError(f"{path}:{number}: {found}; wanted an object {{arguments: {{…}}, result: …}}") from error


def _as_offered(tool: AgentTool) -> dict[str, Any]:
    described = {} if tool.description is None else {"description": tool.description}
    return {"type": "function", "function": {"name": tool.name, **described, "parameters": tool.parameters}}


def _text(result: Any) -> str:
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
    return gojson.utf8(text).decode()


def _error(text: str) -> str:
    return _text({"error": text})
