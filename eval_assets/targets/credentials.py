"""Keys and headers of a target: where they come from, what is wrong with them, and what must never be shown."""

from __future__ import annotations

import os

from eval_assets.targets.specs import OpenAIChat, is_sendable

_SHORTEST_SECRET = 6


def problems(spec: OpenAIChat) -> list[str]:
    """What is wrong with the key that a target names."""
    variable = spec.api_key_env
    if variable is None:
        return []
    key = os.environ.get(variable)
    if not key:
        state = "is not set" if key is None else "is empty"
        return [f"api_key_env names {variable}, which {state}; export {variable}, or leave api_key_env out"]
    if not is_sendable(key):
        return [f"the key in {variable} holds a line break or a character outside ASCII; set it again without"]
    return []


def headers(spec: OpenAIChat) -> dict[str, str]:
    """The headers that say who asks."""
    key = _key(spec)
    return {**({} if key is None else {"authorization": f"Bearer {key}"}), **spec.headers}


def secrets(spec: OpenAIChat) -> list[str]:
    """Every text that must not show in an error: the key, and header values with their parts."""
    key = _key(spec)
    values = [value for header in spec.headers.values() for value in (header, *header.split())]
    # A short header value such as `1` is no secret, and blacking it out would eat the text around it.
    return [*([] if key is None else [key]), *(value for value in values if len(value) >= _SHORTEST_SECRET)]


def _key(spec: OpenAIChat) -> str | None:
    return None if spec.api_key_env is None else os.environ.get(spec.api_key_env)
