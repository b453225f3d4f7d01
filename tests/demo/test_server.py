"""The demo server speaks the protocol, over real HTTP."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from eval_assets.demo.models import MODELS
from eval_assets.demo.server import HOST, demo_server

QUESTION = {"role": "user", "content": "I would like a refund for order #48213, it is unopened."}
LOOKUP = {"type": "function", "function": {"name": "lookup_order", "parameters": {"type": "object"}}}

Ask = Callable[..., httpx.Response]


def test_models_are_listed(base_url: str) -> None:
    listed = httpx.get(f"{base_url}/models").json()

    assert [model["id"] for model in listed["data"]] == list(MODELS)


def test_a_first_turn_calls_a_tool(base_url: str, ask: Ask) -> None:
    reply = ask(base_url, model="support-2-flaky", messages=[QUESTION], tools=[LOOKUP]).json()

    choice = reply["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "lookup_order"
    assert reply["usage"]["total_tokens"] == reply["usage"]["prompt_tokens"] + reply["usage"]["completion_tokens"] > 0


def test_without_tools_it_says_it_cannot(base_url: str, ask: Ask) -> None:
    choice = ask(base_url, model="support-1", messages=[QUESTION]).json()["choices"][0]

    assert choice["finish_reason"] == "stop"
    assert "cannot look that up" in choice["message"]["content"]


def test_content_may_be_parts(base_url: str, ask: Ask) -> None:
    parts = {"role": "user", "content": [{"type": "text", "text": QUESTION["content"]}]}

    reply = ask(base_url, model="support-2", messages=[parts], tools=[LOOKUP])

    assert reply.json()["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == '{"order_id": "48213"}'


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"model": "gpt-0", "messages": [QUESTION]}, 404, "model_not_found"),
        ({"model": "support-1", "messages": []}, 400, "invalid_messages"),
        ({"model": "support-1", "messages": "hello"}, 400, "invalid_messages"),
        ({"model": "support-1", "messages": [QUESTION], "tools": [{"type": "function"}]}, 400, "invalid_tools"),
        ({"model": "support-1", "messages": [QUESTION], "stream": True}, 400, "unsupported_value"),
    ],
)
def test_bad_requests_are_explained(base_url: str, ask: Ask, body: dict[str, Any], status: int, code: str) -> None:
    reply = ask(base_url, **body)

    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)


def test_a_body_that_is_not_json_is_refused(base_url: str) -> None:
    reply = httpx.post(f"{base_url}/chat/completions", content=b"<html>")

    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_json")


def test_it_starts_and_stops_twice_on_one_port() -> None:
    with demo_server(port=0) as first:
        assert httpx.get(f"{first}/models").is_success
        port = urlsplit(first).port or 0

    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{first}/models")
    with demo_server(port=port) as second:
        assert second == first
        assert httpx.get(f"{second}/models").is_success


def test_a_taken_port_is_stepped_around() -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]

        with demo_server(port=port) as url:
            assert urlsplit(url).port != port
            assert httpx.get(f"{url}/models").is_success


def test_an_error_in_the_block_stops_the_server() -> None:
    with pytest.raises(KeyError), demo_server(port=0) as url:
        raise KeyError

    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/models")


def test_the_module_serves_until_interrupted() -> None:
    command = [sys.executable, "-m", "eval_assets.demo.server", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        listed = httpx.get(f"{found[0]}/models")
        process.terminate()

    assert listed.is_success
