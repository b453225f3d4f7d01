"""Real exchanges of twelve providers, served over HTTP on loopback: what a correct reader finds in each is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eval_assets.model.runs import RunOutput
from eval_assets.targets.specs import BY_KIND

if TYPE_CHECKING:
    from tests.targets.conftest import Ask, FaultServer

EXCHANGES = 158


@pytest.fixture(scope="module")
def exchanges(shared: Path) -> list[dict[str, Any]]:
    lines = (shared / "data" / "provider_exchanges.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == EXCHANGES
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("number", range(EXCHANGES))
def test_a_real_exchange_is_read_right(
    exchanges: list[dict[str, Any]], server: FaultServer, ask: Ask, number: int
) -> None:
    exchange = exchanges[number]
    body = exchange["body"]
    text = body if isinstance(body, str) else json.dumps(body)
    content_type = exchange["headers"].get("content-type", ["application/json"])[0]
    server.script(server.answer(exchange["status"], text, content_type))
    host = server.base_url.removesuffix("/v1")
    base_url = server.base_url if exchange["api"].startswith("openai") else host
    spec = {"base_url": base_url, "model": "m", "stream": exchange["stream"], "max_attempts": 1}

    [output] = ask(BY_KIND[exchange["api"]].model_validate({"kind": exchange["api"], **spec}))

    assert not output.trace_error
    if exchange["expected"] is None:
        assert output.error
    else:
        assert not output.unavailable, output.error
        assert found(output) == exchange["expected"]


def found(output: RunOutput) -> dict[str, Any]:
    calls = output.trajectory.tool_calls
    return {
        "text": output.final or "",
        "tool_calls": [{"name": call.name, "arguments": json.loads(call.arguments)} for call in calls],
        "finish_reason": output.finish_reason,
        "input_tokens": output.usage.input_tokens,
        "output_tokens": output.usage.output_tokens,
    }
