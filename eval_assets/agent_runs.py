"""An agent with a durable journal of its own, as something to evaluate: every run under an id that was never used."""

from __future__ import annotations

import inspect
import itertools
import secrets
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol

from eval_assets.errors import ConfigError
from eval_assets.model.cases import Message
from eval_assets.model.runs import RunOutput, Trajectory

Agent = Callable[[str, str], Any]
"""Called with (run_id, input); returns the final message or its text, sync or async."""


class History(Protocol):
    """Where an agent's steps land."""

    def history(self, run_id: str) -> Iterable[Message] | Awaitable[Iterable[Message]]:
        """The messages of a run, in order; raises where they cannot be read."""


def agent_runner(agent: Agent, journal: History, prefix: str) -> Callable[[str], Awaitable[RunOutput]]:
    """
    Make the `run` of `evaluate` from an agent whose steps land in a journal.

    Every run gets the id prefix-nonce-counter, the nonce drawn once per runner: over a journal that is kept between
    evaluations, a second evaluation samples again and never replays the answers recorded in the first.

    Args:
        agent: Called with (run_id, input). What it raises is the run's own error.
        journal: Asked for the run's messages afterwards. Where it raises, the output carries `trace_error`, and
            trajectory metrics leave the run unscored instead of scoring an empty trajectory.
        prefix: Begins every run id.

    Raises:
        ConfigError: No agent, no journal with a `history`, or an empty prefix; before anything runs.
    """
    if not callable(agent):
        raise ConfigError(f"agent_runner: the agent must be a function of (run_id, input), but got {agent!r}")
    if not callable(getattr(journal, "history", None)):
        raise ConfigError(f"agent_runner: the journal must have history(run_id), but got {journal!r}")
    if not isinstance(prefix, str) or not prefix:
        raise ConfigError(f"agent_runner: the prefix must be a text that is not empty, but got {prefix!r}")
    nonce, numbers = secrets.token_hex(6), itertools.count(1)

    async def run(text: str) -> RunOutput:
        run_id = f"{prefix}-{nonce}-{next(numbers)}"
        final, error = await _answer(agent, run_id, text)
        trajectory, trace_error = await _trajectory(journal, run_id)
        return RunOutput(final=final, error=error, trajectory=trajectory, trace_error=trace_error)

    return run


async def _answer(agent: Agent, run_id: str, text: str) -> tuple[str | None, str | None]:
    try:
        answer = agent(run_id, text)
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as error:  # noqa: BLE001  an agent is anyone's code; its failure is the run's
        return None, f"{type(error).__name__}: {error}"
    content = answer.get("content") if isinstance(answer, dict) else answer
    return (content, None) if isinstance(content, str) or content is None else (str(content), None)


async def _trajectory(journal: History, run_id: str) -> tuple[Trajectory | None, str | None]:
    try:
        messages = journal.history(run_id)
        if inspect.isawaitable(messages):
            messages = await messages
        return Trajectory.from_messages(messages), None
    except Exception as error:  # noqa: BLE001  a journal is anyone's code, and an unread trajectory is no empty one
        return None, f"the journal of run {run_id} could not be read: {type(error).__name__}: {error}"
