"""
Bounded concurrency: who is asked next, and what happens when something goes wrong in between.

What is asked and over which wire belongs to `targets/`; what survives a crash belongs to the journal.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple, NoReturn

from eval_assets.model import gojson
from eval_assets.model.cases import Case
from eval_assets.model.runs import Run, RunOutput


class PlannedRun(NamedTuple):
    """A run that is yet to be asked for."""

    case: Case
    run_index: int
    run_id: str


Ask = Callable[[PlannedRun], Awaitable[RunOutput]]


async def execute(planned: Iterable[PlannedRun], ask: Ask, *, concurrency: int, on_run: Callable[[Run], None]) -> None:
    """
    Ask for every planned run, at most `concurrency` at a time, and hand each over as it finishes.

    Cancelling this, or any BaseException from within (KeyboardInterrupt, Dagster's interrupt), stops it at once: what
    has finished was handed to `on_run`, what has not is dropped, and no task is left behind.

    Args:
        planned: Pulled one at a time, so it may be longer than memory.
        ask: Any Exception it raises becomes the run's own error and never ends the evaluation.
        concurrency: Runs in flight, >= 1.
        on_run: Called in the event loop with each finished run. What it raises ends the evaluation.
    """
    waiting = iter(planned)
    with callbacks_may_interrupt():
        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(concurrency):
                    workers.create_task(_work(waiting, ask, on_run))
        except BaseExceptionGroup as group:
            _raise_first(group)


async def _work(waiting: Iterator[PlannedRun], ask: Ask, on_run: Callable[[Run], None]) -> None:
    for run in waiting:
        started_at = datetime.now(UTC)
        output = await _output_of(run, ask)
        on_run(
            Run(
                case_name=run.case.name,
                case_hash=run.case.hash,
                run_index=run.run_index,
                run_id=run.run_id,
                started_at=started_at,
                output=output,
            )
        )
        # A target that never waits (recorded runs) would otherwise keep the loop from delivering a cancellation.
        await asyncio.sleep(0)


async def _output_of(run: PlannedRun, ask: Ask) -> RunOutput:
    started = time.perf_counter()
    try:
        return await ask(run)
    except asyncio.CancelledError:
        if _is_being_cancelled():
            raise
        # A TaskGroup takes a stray CancelledError for a worker told to stop, and the rest would never be asked.
        error = "CancelledError: the target cancelled itself"
    except Exception as failure:  # noqa: BLE001  # `ask` runs arbitrary code of the user's
        error = _text(failure)
    return RunOutput(error=error, latency_s=time.perf_counter() - started)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _text(failure: BaseException) -> str:
    while isinstance(failure, BaseExceptionGroup) and len(failure.exceptions) == 1:
        failure = failure.exceptions[0]
    return gojson.utf8(f"{type(failure).__name__}: {failure}").decode()


def _raise_first(group: BaseExceptionGroup[BaseException]) -> NoReturn:
    """Raise what was raised first, an interrupt before anything else, as if no TaskGroup had been around it."""
    leaves = list(_leaves(group))
    interrupts = [leaf for leaf in leaves if not isinstance(leaf, Exception)]
    raise (interrupts or leaves)[0] from None


def _leaves(failure: BaseException) -> Iterator[BaseException]:
    if isinstance(failure, BaseExceptionGroup):
        for inner in failure.exceptions:
            yield from _leaves(inner)
    else:
        yield failure


@contextlib.contextmanager
def callbacks_may_interrupt() -> Iterator[None]:
    """
    Let an interrupt through that lands in a callback of the event loop.

    Dagster raises its interrupt from a signal handler, wherever the main thread happens to be. Inside a plain callback
    asyncio only logs it, as any BaseException but KeyboardInterrupt and SystemExit, and the evaluation would go on.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    previous = loop.get_exception_handler()
    interrupts: list[BaseException] = []

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        failure = context.get("exception")
        if task is not None and isinstance(failure, BaseException) and not isinstance(failure, Exception):
            interrupts.append(failure)
            task.cancel()
        elif previous is not None:
            previous(loop, context)
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)
    try:
        yield
    except asyncio.CancelledError:
        if interrupts:
            raise interrupts[0] from None
        raise
    finally:
        loop.set_exception_handler(previous)
