"""A function of the user's as a target."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput
from eval_assets.targets import functions
from eval_assets.targets.specs import Python
from eval_assets.targets.target import clean


class PythonTarget:
    """Calls the function with the case's input, or with its messages where it has those. Made by `open_python`."""

    def __init__(self, name: str, function: functions.Function, pool: ThreadPoolExecutor) -> None:
        self._name = name
        self._function = function
        self._pool = pool

    async def ask(self, case: Case, run_index: int, run_id: str) -> RunOutput:  # noqa: ARG002  # part of Target
        started = time.perf_counter()
        try:
            result = await functions.call(self._function, self._pool, _asked(case))
        except Exception as failure:  # noqa: BLE001  # the function is arbitrary code of the user's
            error = clean(f"{type(failure).__name__}: {failure}")
            return RunOutput(error=error, latency_s=time.perf_counter() - started)
        return self._output(result, time.perf_counter() - started)

    def _output(self, result: Any, latency_s: float) -> RunOutput:
        if isinstance(result, RunOutput):
            return result if result.latency_s is not None else result.model_copy(update={"latency_s": latency_s})
        if isinstance(result, str):
            return RunOutput(final=clean(str(result)), latency_s=latency_s)
        error = f"{self._name} returned {type(result).__name__}, wanted the final text as a str, or a RunOutput"
        return RunOutput(error=error, latency_s=latency_s)


@contextlib.asynccontextmanager
async def open_python(spec: Python, *, folder: Path, concurrency: int) -> AsyncIterator[PythonTarget]:
    """
    Open the target for one evaluation.

    Raises:
        ConfigError: The function cannot be imported.
    """
    function = functions.load(spec.function, folder=folder)
    with functions.open_pool(concurrency) as pool:
        yield PythonTarget(spec.function, function, pool)


def problems(spec: Python, *, folder: Path) -> list[str]:
    """What is wrong with the target that can be seen without asking it."""
    return functions.problems(spec.function, folder=folder, arguments=1)


def _asked(case: Case) -> Any:
    return case.input if case.messages is None else case.chat()
