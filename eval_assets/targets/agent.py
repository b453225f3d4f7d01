"""The tool loop: a model target is asked again, with what its tools said, until it answers without calling one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

from eval_assets.model.cases import Case, Message
from eval_assets.model.runs import RunOutput, Usage
from eval_assets.targets import functions, prompts, tools, wire
from eval_assets.targets.chat import ChatModel, ChatReply, open_chat
from eval_assets.targets.specs import Agent, ModelSpec
from eval_assets.targets.target import OwnError, Unavailable, final_text


class AgentTarget:
    """A model and its tools. Made by `open_agent`."""

    def __init__(self, model: ChatModel, toolbox: tools.Toolbox, *, system: str | None, max_turns: int) -> None:
        self._model = model
        self._toolbox = toolbox
        self._system = system
        self._max_turns = max_turns

    async def ask(self, case: Case, run_index: int, run_id: str) -> RunOutput:  # noqa: ARG002  # part of Target
        messages = [*prompts.system_messages(self._system), *case.chat()]
        replies: list[ChatReply] = []
        started = time.perf_counter()
        try:
            await self._converse(case, run_id, messages, replies)
        except Unavailable as failure:
            return RunOutput(
                messages=tuple(messages), error=failure.reason, unavailable=True, attempts=failure.attempts
            )
        except OwnError as failure:
            error: str | None = failure.reason
        else:
            error = self._unfinished(messages)
        return _output(messages, replies, error=error, latency_s=time.perf_counter() - started)

    async def _converse(self, case: Case, run_id: str, messages: list[Message], replies: list[ChatReply]) -> None:
        """Grow `messages` and `replies` turn by turn, so that what was said is kept however the run ends."""
        session = self._toolbox.session()
        for _ in range(self._max_turns):
            reply = await self._model.chat(messages, tools=[*self._toolbox.offered, *case.tools], run_id=run_id)
            replies.append(reply)
            messages.append(reply.message)
            if reply.error is not None:
                raise OwnError(reply.error, attempts=reply.attempts)
            for identity, name, arguments in wire.called(reply.message):
                content = await session.call(name, wire.written(arguments))
                messages.append({"role": "tool", "tool_call_id": identity, "content": content})
            if messages[-1] is reply.message:
                return

    def _unfinished(self, messages: list[Message]) -> str | None:
        if messages[-1].get("role") == "assistant":
            return None
        return f"no final answer within {self._max_turns} turns: the model went on calling tools"


@contextlib.asynccontextmanager
async def open_agent(spec: Agent, model: ModelSpec, *, folder: Path, concurrency: int) -> AsyncIterator[AgentTarget]:
    """
    Open the agent and its model for one evaluation.

    Raises:
        ConfigError: A tool, a prompt's file or the model's key is missing.
    """
    with functions.open_pool(concurrency) as pool:
        toolbox = tools.open_toolbox(spec.tools, folder=folder, pool=pool)
        async with open_chat(model, folder=folder, concurrency=concurrency) as chat:
            system = chat.system if spec.system is None else prompts.read(spec.system, folder=folder)
            yield AgentTarget(chat, toolbox, system=system, max_turns=spec.max_turns)


def _output(messages: list[Message], replies: list[ChatReply], *, error: str | None, latency_s: float) -> RunOutput:
    last = replies[-1] if replies else None
    return RunOutput(
        final=final_text(messages[-1]) if last is not None and error is None else None,
        messages=tuple(messages),
        usage=_summed(replies),
        latency_s=latency_s,
        error=error,
        finish_reason=last.finish_reason if last else None,
        response_id=last.response_id if last else None,
        attempts=last.attempts if last else 1,
    )


def _summed(replies: list[ChatReply]) -> Usage:
    return Usage(
        input_tokens=_sum([reply.usage.input_tokens for reply in replies]),
        output_tokens=_sum([reply.usage.output_tokens for reply in replies]),
    )


def _sum(counts: list[int | None]) -> int | None:
    """The sum, unless any part of it is unknown."""
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
