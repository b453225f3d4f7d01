"""Functions of the user's, named as `package.module:name`: finding, checking and calling them."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from eval_assets.errors import ConfigError

Function = Callable[..., Any]


def load(path: str, *, folder: Path) -> Function:
    """
    The function that `package.module:name` names.

    Modules beside the suite file, and in the working directory, are found too, after everything installed.

    Raises:
        ConfigError: The module cannot be imported, or holds no such function.
    """
    module_name, _, name = path.partition(":")
    _make_importable(folder)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # importing runs arbitrary code of the user's
        looked = f"looked among the installed packages, in {folder} and in {Path.cwd()}"
        detail = looked if isinstance(error, ModuleNotFoundError) else "importing it failed"
        raise ConfigError(
            f"cannot import {module_name} of {path}: {type(error).__name__}: {error}; {detail}"
        ) from error
    try:
        function = functools.reduce(getattr, name.split("."), module)
    except AttributeError as error:
        raise ConfigError(f"{module_name} has no {name} (named by {path})") from error
    if not callable(function):
        raise ConfigError(f"{path} is {type(function).__name__}, wanted a function")
    return function


def problems(path: str, *, folder: Path, arguments: int | None = None) -> list[str]:
    """What is wrong with a named function; `arguments` is how many it will be called with, where that is known."""
    try:
        function = load(path, folder=folder)
    except ConfigError as error:
        return [str(error)]
    if arguments is None or _takes(function, arguments):
        return []
    return [f"{path} is called with {arguments} argument, but its signature is {inspect.signature(function)}"]


def source(path: str, *, folder: Path) -> str | None:
    """The text of the module a function is defined in, where it can be read: its constants and helpers count too."""
    try:
        load(path, folder=folder)
        return inspect.getsource(sys.modules[path.partition(":")[0]])
    except (ConfigError, OSError, TypeError):
        return None


async def call(function: Function, pool: Executor, *args: Any, **kwargs: Any) -> Any:
    """
    Call a function, sync or async; a sync one in `pool`, so that it does not hold up the other runs.

    Raises:
        Exception: Whatever the function raises.
    """
    if _is_async(function):
        return await function(*args, **kwargs)
    bound = functools.partial(contextvars.copy_context().run, _call_sync, function, args, kwargs)
    result = await asyncio.get_running_loop().run_in_executor(pool, bound)
    return await result if inspect.isawaitable(result) else result


@contextlib.contextmanager
def open_pool(concurrency: int) -> Iterator[ThreadPoolExecutor]:
    """Threads for sync functions, one per run in flight. An interrupt does not wait for calls that are under way."""
    pool = ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="target")
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _call_sync(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return function(*args, **kwargs)
    except StopIteration as error:
        # A future cannot hold StopIteration, and whoever awaits it would wait forever.
        raise RuntimeError(f"StopIteration: {error}") from error


def _is_async(function: Function) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _takes(function: Function, arguments: int) -> bool:
    try:
        inspect.signature(function).bind(*[None] * arguments)
    except TypeError:
        return False
    except ValueError:
        # Some built-ins have no signature to look at.
        return True
    return True


def _make_importable(folder: Path) -> None:
    # At the end: a file beside a suite must not take the place of an installed package.
    for place in (str(folder.resolve()), str(Path.cwd())):
        if place not in sys.path:
            sys.path.append(place)
            importlib.invalidate_caches()
