"""What a metric's arguments must be: checked when it is made, so that nothing is paid for and then cannot be scored."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from eval_assets.errors import ConfigError


def text(value: Any, *, of: str) -> str:
    """Return a text that is not empty, or raise ConfigError naming the argument."""
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{of} must be a text that is not empty, but got {value!r}")
    return value


def function(value: Any, *, of: str, takes: int) -> Callable[..., Any]:
    """Return what can be called with `takes` arguments, or raise ConfigError naming the argument."""
    if not callable(value):
        raise ConfigError(f"{of}, but got {value!r}")
    try:
        signature = inspect.signature(value)
    except ValueError:
        return value  # type: ignore[no-any-return]  # some built-ins have no signature to look at
    try:
        signature.bind(*[None] * takes)
    except TypeError:
        raise ConfigError(f"{of}, but its arguments are {signature}") from None
    return value  # type: ignore[no-any-return]


def is_async(value: Callable[..., Any]) -> bool:
    """Whether calling this gives something to await."""
    called = getattr(value, "__call__", None)  # noqa: B004  the method itself is looked at, not whether it is there
    return inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(called)


def count(value: Any, *, of: str) -> int:
    """Return a whole number from 1 up, or raise ConfigError naming the argument."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{of} must be a whole number from 1 up, but got {value!r}")
    return value


def labels(value: Any) -> tuple[str, ...]:
    """Return tags as a tuple of texts, or raise ConfigError."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(tag, str) and tag for tag in value):
        raise ConfigError(f"tags must be a list of texts, but got {value!r}")
    return tuple(value)
