"""What of a target is secret, and what only looks like it."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from eval_assets.targets import credentials, opening
from eval_assets.targets.specs import OpenAIChat


def chat(**settings: Any) -> OpenAIChat:
    return OpenAIChat.model_validate({"base_url": "https://h/v1", "model": "m", **settings})


def test_the_key_is_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-canary-1")

    assert credentials.secrets(chat(api_key_env="A_KEY")) == ["sk-canary-1"]


@pytest.mark.parametrize("key", ["x", "ollama", "not-needed", "EMPTY"])
def test_a_key_that_is_none_does_not_eat_answers(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", key)

    assert credentials.secrets(chat(api_key_env="A_KEY")) == []


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("Authorization", "Bearer abc-canary", "abc-canary"),
        ("Authorization", "Token token=abc-canary", "abc-canary"),
        ("X-Api-Key", "canary", "canary"),
        ("Cookie", "session=canary7", "canary7"),
        ("X-Tenant", "x7f3a9d2b", "x7f3a9d2b"),
        ("Authorization", "Basic " + base64.b64encode(b"me:pass-canary").decode(), "pass-canary"),
    ],
)
def test_a_header_that_holds_a_key_is_secret(name: str, value: str, secret: str) -> None:
    found = credentials.secrets(chat(headers={name: value}))

    assert {value, secret} <= set(found)
    assert not {"Bearer", "Token", "Basic", "token"} & set(found)


@pytest.mark.parametrize(
    ("name", "value"),
    [("anthropic-version", "2023-06-01"), ("Accept", "application/json"), ("X-Tenant", "support"), ("x-n", "1")],
)
def test_an_open_header_does_not_eat_answers(name: str, value: str) -> None:
    assert credentials.secrets(chat(headers={name: value})) == []


def test_a_key_in_the_query_is_secret_and_no_part_of_the_url() -> None:
    spec = chat(base_url="https://h/v1/?key=AIza-canary&api-version=2024-10-21")

    assert spec.base_url == "https://h/v1"
    assert spec.query == {"key": "AIza-canary", "api-version": "2024-10-21"}
    assert credentials.secrets(spec) == ["AIza-canary"]
    assert "canary" not in str(opening.describe("it", {"it": spec}))


def test_a_new_key_is_no_other_target_and_another_version_is(tmp_path: Any) -> None:
    def fingerprint(query: str) -> str:
        return opening.fingerprint("it", {"it": chat(base_url=f"https://h/v1?{query}")}, folder=tmp_path)

    assert fingerprint("key=one-canary&api-version=1") == fingerprint("key=two-canary&api-version=1")
    assert fingerprint("key=one-canary&api-version=1") != fingerprint("key=one-canary&api-version=2")


def test_the_password_of_a_proxy_is_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://me:proxy-canary@proxy:3128")

    assert credentials.redactor([]).text("407 from me:proxy-canary@proxy") == "407 from me:***@proxy"
