"""A client of the demo server that plays the tool loop, small enough to be seen through."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx
import pytest
from httpx_aiohttp import HttpxAiohttpClient

from eval_assets.demo import SUITE_PATH, tools
from eval_assets.demo.server import demo_server
from eval_assets.model.cases import Case

Message = dict[str, Any]

TOOL_NAMES = ("lookup_order", "lookup_account", "issue_refund", "search_policy")
MAX_TURNS = 6


Run = dict[str, Any]
Play = Callable[..., list[Run]]
Ask = Callable[..., httpx.Response]


@pytest.fixture
def base_url() -> Iterator[str]:
    with demo_server(port=0) as url:
        yield url


@pytest.fixture(scope="session")
def cases() -> list[Case]:
    lines = (SUITE_PATH.parent / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [Case.model_validate_json(line) for line in lines]


@pytest.fixture
def play() -> Play:
    """Plays prompts through the tool loop; runs come back in an order of their content, not of their arrival."""

    def play(url: str, model: str, prompts: Sequence[str], *, runs: int = 1, concurrency: int = 8) -> list[Run]:
        return asyncio.run(_play_all(url, model, list(prompts) * runs, concurrency))

    return play


@pytest.fixture
def ask() -> Ask:
    """Posts one request body as it is."""

    def ask(url: str, **body: Any) -> httpx.Response:
        return httpx.post(f"{url}/chat/completions", json=body)

    return ask


@pytest.fixture(scope="session")
def use_tool() -> Callable[[str, str], Any]:
    """Runs a tool by its name on arguments as JSON."""

    def use_tool(name: str, arguments: str) -> Any:
        call = {"id": "", "function": {"name": name, "arguments": arguments}}
        return json.loads(asyncio.run(_use(call))["content"])

    return use_tool


def _offer() -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in TOOL_NAMES]


async def _play_all(url: str, model: str, prompts: Sequence[str], concurrency: int) -> list[Run]:
    queue, played = iter(prompts), list[Run]()

    async def work(client: httpx.AsyncClient) -> None:
        for prompt in queue:
            played.append(await _play(client, url, model, prompt))

    async with HttpxAiohttpClient() as client, asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(work(client))
    return sorted(played, key=json.dumps)


async def _play(client: httpx.AsyncClient, url: str, model: str, prompt: str) -> Run:
    messages: list[Message] = [{"role": "user", "content": prompt}]
    status = 200
    for _ in range(MAX_TURNS):
        body = {"model": model, "messages": messages, "tools": _offer()}
        reply = await client.post(f"{url}/chat/completions", json=body)
        status = reply.status_code
        if status != httpx.codes.OK:
            break
        message = reply.json()["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            break
        messages += [await _use(call) for call in message["tool_calls"]]
    calls = [call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()]
    return {"status": status, "final": messages[-1]["content"], "tools": calls, "messages": messages}


async def _use(call: dict[str, Any]) -> Message:
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    try:
        result = _policies()[arguments] if name == "search_policy" else getattr(tools, name)(**json.loads(arguments))
        result = await result if inspect.isawaitable(result) else result
    except Exception as error:  # noqa: BLE001  whatever a tool raises, the model is told
        result = {"error": str(error)}
    return {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)}


@functools.cache
def _policies() -> dict[str, Any]:
    lines = (SUITE_PATH.parent / "policies.jsonl").read_text(encoding="utf-8").splitlines()
    return {json.dumps(policy["arguments"]): policy["result"] for policy in map(json.loads, lines)}
