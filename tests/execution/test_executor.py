"""Bounded, cancellable, and nothing lost: how runs are asked for."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator

import pytest

from eval_assets.execution import executor
from eval_assets.execution.executor import PlannedRun
from eval_assets.model.cases import Case
from eval_assets.model.runs import Run, RunOutput

CASE = Case(name="a", input="x")
Ask = Callable[[PlannedRun], Awaitable[RunOutput]]


class Interrupt(BaseException):
    """As Dagster's: neither an Exception nor one that asyncio knows."""


def plan(count: int) -> Iterator[PlannedRun]:
    return (PlannedRun(CASE, index, f"n-{index}") for index in range(count))


def execute(ask: Ask, *, count: int = 10, concurrency: int = 4) -> list[Run]:
    finished: list[Run] = []
    asyncio.run(executor.execute(plan(count), ask, concurrency=concurrency, on_run=finished.append))
    return finished


async def answer(run: PlannedRun) -> RunOutput:
    await asyncio.sleep(0)
    return RunOutput(final=run.run_id)


def test_every_planned_run_is_asked_once() -> None:
    finished = execute(answer)

    assert sorted(run.run_index for run in finished) == list(range(10))
    assert {(run.case_name, run.case_hash) for run in finished} == {("a", CASE.hash)}
    assert all(run.run_id == run.output.final for run in finished)
    assert all(run.started_at.tzinfo for run in finished)


def test_nothing_planned_is_nothing_done() -> None:
    assert execute(answer, count=0) == []


def test_exactly_concurrency_runs_are_in_flight() -> None:
    """With fewer the barrier would never open; more would be counted."""
    in_flight: set[int] = set()
    most = 0

    async def run() -> None:
        barrier = asyncio.Barrier(5)

        async def together(run: PlannedRun) -> RunOutput:
            nonlocal most
            in_flight.add(run.run_index)
            most = max(most, len(in_flight))
            await barrier.wait()
            in_flight.remove(run.run_index)
            return RunOutput(final="")

        await executor.execute(plan(20), together, concurrency=5, on_run=lambda _: None)

    asyncio.run(run())

    assert most == 5


def test_the_plan_is_pulled_as_runs_finish() -> None:
    """A plan longer than memory works: this one has no end."""
    pulled = itertools.count()
    finished: list[Run] = []

    def endless() -> Iterator[PlannedRun]:
        for index in pulled:
            yield PlannedRun(CASE, index, str(index))

    def stop_after_ten(run: Run) -> None:
        finished.append(run)
        if len(finished) == 10:
            raise Interrupt

    with pytest.raises(Interrupt):
        asyncio.run(executor.execute(endless(), answer, concurrency=3, on_run=stop_after_ten))

    assert 10 <= len(finished) < 13, "runs that had finished at that moment are kept"
    assert next(pulled) <= 13


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (ExceptionGroup("tasks", [ExceptionGroup("tasks", [KeyError("inner")])]), "KeyError: 'inner'"),
        (asyncio.CancelledError(), "CancelledError: the target cancelled itself"),
        (RuntimeError("half \ud83d pair"), "RuntimeError: half \ufffd pair"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_exception_is_that_runs_own_error(failure: BaseException, error: str) -> None:
    async def ask(run: PlannedRun) -> RunOutput:
        if run.run_index == 3:
            raise failure
        return await answer(run)

    finished = execute(ask)

    assert len(finished) == 10
    assert [run.output.error for run in finished if run.output.error] == [error]
    assert not any(run.output.unavailable for run in finished)


async def _interrupted_at(ask: Ask, finished: list[Run]) -> None:
    try:
        await executor.execute(plan(10), ask, concurrency=4, on_run=finished.append)
    finally:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not others, "a task was left behind"


@pytest.mark.parametrize("interrupt", [Interrupt, KeyboardInterrupt, SystemExit])
def test_an_interrupt_inside_a_run_passes_through(interrupt: type[BaseException]) -> None:
    finished: list[Run] = []

    async def ask(run: PlannedRun) -> RunOutput:
        if run.run_index == 2:
            raise interrupt
        if run.run_index > 2:
            await asyncio.Event().wait()
        return RunOutput(final="")

    with pytest.raises(interrupt):
        asyncio.run(_interrupted_at(ask, finished))

    assert [run.run_index for run in finished] == [0, 1]


def test_an_interrupt_inside_a_targets_own_task_group_passes_through() -> None:
    async def raise_it() -> None:
        raise Interrupt

    async def ask(_: PlannedRun) -> RunOutput:
        async with asyncio.TaskGroup() as inner:
            inner.create_task(raise_it())
        return RunOutput(final="")

    with pytest.raises(Interrupt):
        execute(ask)


def test_an_interrupt_inside_a_callback_of_the_loop_passes_through() -> None:
    """A signal handler raises wherever the main thread is; asyncio would log this one and go on for ever."""

    def raise_it() -> None:
        raise Interrupt

    async def ask(run: PlannedRun) -> RunOutput:
        if run.run_index == 3:
            asyncio.get_running_loop().call_soon(raise_it)
        await asyncio.Event().wait()
        return RunOutput(final="")

    with pytest.raises(Interrupt):
        asyncio.run(_interrupted_at(ask, []))


def test_other_trouble_in_a_callback_is_still_logged(caplog: pytest.LogCaptureFixture) -> None:
    def trouble() -> None:
        raise ValueError("somewhere else")

    async def ask(run: PlannedRun) -> RunOutput:
        asyncio.get_running_loop().call_soon(trouble)
        return await answer(run)

    assert len(execute(ask, count=1)) == 1
    assert "somewhere else" in caplog.text


def test_cancelling_keeps_what_finished_and_leaves_no_task() -> None:
    finished: list[Run] = []
    cleaned: list[int] = []

    async def run() -> None:
        stuck = asyncio.Event()

        async def ask(run: PlannedRun) -> RunOutput:
            if run.run_index < 3:
                return RunOutput(final="")
            try:
                if run.run_index == 6:
                    stuck.set()
                await asyncio.Event().wait()
            finally:
                cleaned.append(run.run_index)
            return RunOutput(final="never")

        evaluation = asyncio.create_task(executor.execute(plan(10), ask, concurrency=4, on_run=finished.append))
        await stuck.wait()
        evaluation.cancel()
        with pytest.raises(asyncio.CancelledError):
            await evaluation
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())

    assert sorted(run.run_index for run in finished) == [0, 1, 2]
    assert sorted(cleaned) == [3, 4, 5, 6]


def test_a_target_that_never_waits_can_be_cancelled() -> None:
    async def run() -> int:
        count = 0

        async def ask(_: PlannedRun) -> RunOutput:
            nonlocal count
            count += 1
            if count == 50:
                evaluation.cancel()
            return RunOutput(final="")

        evaluation = asyncio.create_task(executor.execute(plan(10_000), ask, concurrency=4, on_run=lambda _: None))
        with pytest.raises(asyncio.CancelledError):
            await evaluation
        return count

    assert asyncio.run(run()) < 100


def test_a_journal_that_fails_ends_the_evaluation_as_itself() -> None:
    def full(_: Run) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        asyncio.run(executor.execute(plan(10), answer, concurrency=4, on_run=full))
