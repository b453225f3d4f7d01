"""Functions of the user's as targets: what they may return, and what becomes of what they raise."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eval_assets.errors import ConfigError
from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput
from eval_assets.targets.specs import Python

if TYPE_CHECKING:
    from tests.targets.conftest import Ask

MODULE = """
import asyncio, threading
from eval_assets.model.runs import RunOutput

barrier = threading.Barrier(4)

def sync(text): return text.upper()
async def coroutine(text):
    await asyncio.sleep(0)
    return text.lower()
class Callable_:
    async def __call__(self, text): return "called"
instance = Callable_()
def awaitable(text): return coroutine(text)
def output(text): return RunOutput(final="x", error="refused by policy")
def timed(text): return RunOutput(final="x", latency_s=1.5)
def chatty(messages): return messages[-1]["content"]
def raises(text): raise KeyError("nothing")
def stops(text): raise StopIteration
def wrong(text): return {"final": "x"}
def half(text): return "half \\ud83d pair"
def together(text):
    barrier.wait(timeout=30)
    return threading.current_thread().name
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[str]:
    """The name of a module beside the suite, forgotten afterwards."""
    path, name = list(sys.path), "python_target_module"
    (tmp_path / f"{name}.py").write_text(MODULE)
    yield name
    sys.path[:] = path
    sys.modules.pop(name, None)


@pytest.fixture
def call(ask: Ask, module: str) -> Callable[..., RunOutput]:
    return lambda function, case=None: ask(Python(function=f"{module}:{function}"), case)[0]


@pytest.mark.parametrize(
    ("function", "final"),
    [
        ("sync", "WHAT IS 2 + 2?"),
        ("coroutine", "what is 2 + 2?"),
        ("instance", "called"),
        ("awaitable", "what is 2 + 2?"),
        ("half", "half \ufffd pair"),
    ],
)
def test_a_function_may_be_sync_or_async(call: Callable[..., RunOutput], function: str, final: str) -> None:
    output = call(function)

    assert (output.final, output.error, output.messages) == (final, None, ())
    assert output.latency_s is not None


def test_a_run_output_passes_as_it_is(call: Callable[..., RunOutput]) -> None:
    assert call("output").error == "refused by policy"
    assert call("output").latency_s is not None
    assert call("timed").latency_s == 1.5


def test_a_conversation_arrives_as_messages(call: Callable[..., RunOutput]) -> None:
    case = Case(name="a", messages=({"role": "user", "content": "hi"}, {"role": "user", "content": "there"}))

    assert call("chatty", case).final == "there"


@pytest.mark.parametrize(
    ("function", "error"),
    [
        ("raises", "KeyError: 'nothing'"),
        ("stops", "RuntimeError: StopIteration: "),
        ("wrong", "python_target_module:wrong returned dict, wanted the final text as a str, or a RunOutput"),
    ],
)
def test_what_goes_wrong_is_the_runs_own_error(call: Callable[..., RunOutput], function: str, error: str) -> None:
    output = call(function)

    assert (output.error, output.unavailable, output.final) == (error, False, None)


def test_sync_functions_run_side_by_side(ask: Ask, module: str) -> None:
    """Four calls meet at a barrier, in threads of ours; one at a time would never get past it."""
    outputs = ask(Python(function=f"{module}:together"), times=4, concurrency=4)

    assert all(str(output.final).startswith("target") for output in outputs)
    assert threading.current_thread().name not in {output.final for output in outputs}


def test_a_module_beside_the_suite_hides_nothing_installed(ask: Ask, tmp_path: Path, module: str) -> None:
    (tmp_path / "colorsys.py").write_text("raise RuntimeError('hidden')")

    ask(Python(function=f"{module}:sync"))

    assert "hidden" not in str(importlib.import_module("colorsys").__file__)


def test_a_missing_function_cannot_be_opened(ask: Ask, module: str) -> None:
    with pytest.raises(ConfigError, match=f"{module} has no nothing"):
        ask(Python(function=f"{module}:nothing"))
