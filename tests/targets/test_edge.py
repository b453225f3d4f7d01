"""What passes the edge of a target: no secret, and no wait that is not the target's own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput
from eval_assets.targets import limits, retrying
from eval_assets.targets.edge import Guarded
from eval_assets.targets.redaction import Redactor

CASE = Case(name="a", input="x")


class Answers:
    """A target that answers by a function, and waits before."""

    def __init__(self, answer: Callable[[], RunOutput], *, waits_s: float = 0) -> None:
        self.answer = answer
        self.waits_s = waits_s

    async def ask(self, case: Case, run_index: int, run_id: str) -> RunOutput:  # as a Target's
        started = time.perf_counter()
        await limits.sleep(self.waits_s, retrying.waits_of_this_run())
        return self.answer().model_copy(update={"latency_s": time.perf_counter() - started})


def asked(target: Answers) -> RunOutput:
    return asyncio.run(Guarded(target, Redactor(["sk-canary"])).ask(CASE, 0, "r-0"))


def test_no_secret_comes_out() -> None:
    assert asked(Answers(lambda: RunOutput(final="my key is sk-canary"))).final == "my key is ***"


def test_what_a_target_raises_is_the_runs_error_without_secrets() -> None:
    def fail() -> RunOutput:
        raise ValueError("cannot send sk-canary")

    assert asked(Answers(fail)).error == "ValueError: cannot send ***"


def test_a_wait_for_a_rate_limit_is_no_latency() -> None:
    output = asked(Answers(lambda: RunOutput(final="x"), waits_s=0.2))

    assert output.latency_s == pytest.approx(0, abs=0.1)


def test_waits_are_counted_for_each_run_by_itself() -> None:
    seen: list[float] = []

    def note() -> RunOutput:
        seen.append(retrying.waits_of_this_run().patience_s)
        return RunOutput(final="x")

    async def run() -> None:
        guarded = Guarded(Answers(note, waits_s=0.01), Redactor([]))
        await asyncio.gather(*(guarded.ask(CASE, n, f"r-{n}") for n in range(3)))
        await guarded.ask(CASE, 3, "r-3")

    asyncio.run(run())

    assert seen == [0.01] * 4
