"""Metrics as a suite writes them: a name, or one name with its argument, or with keys and `tags` beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from eval_assets import metrics
from eval_assets.errors import ConfigError
from eval_assets.metrics.judge import JudgeMetric, judge_by_target
from eval_assets.model.scores import Metric
from eval_assets.suite import problems
from eval_assets.targets import functions
from eval_assets.targets.specs import Recorded, TargetSpec


class _Kind(NamedTuple):
    """How one kind of metric is written: its keys in order, and what makes it of them."""

    keys: tuple[str, ...]
    make: Callable[..., Metric]


def make_metric(written: Any, *, folder: Path) -> Metric:
    """
    Make the metric of one entry of a suite's `metrics`.

    Args:
        written: `no_error`, `{contains: refund}` or `{contains: {text: refund, tags: [refund]}}`.
        folder: The suite's folder; predicates are imported with it on the path.

    Raises:
        ConfigError: An unknown metric, a key too many or too few, or an argument the metric refuses.
    """
    name, argument = _name_and_argument(written)
    kind = _kinds(folder).get(name)
    if kind is None:
        raise ConfigError(problems.unknown_key(name, _kinds(folder)).replace("unknown key", "unknown metric"))
    given, tags = _keys(name, kind, argument)
    return kind.make(*given, tags=tags)


def judge_problem(metric: Metric, targets: Mapping[str, TargetSpec], *, named: Iterable[str]) -> str | None:
    """
    What keeps a metric's judge from being asked, None when nothing does.

    Args:
        metric: Any metric; only judges ask a target.
        targets: The suite's targets.
        named: Every target's name, also of those that are wrong and were told of.
    """
    target = metric.asks_target if isinstance(metric, JudgeMetric) else None
    if target is None:
        return None
    if target not in (names := sorted(named)):
        return f"the judge {target!r} of {metric.name} is not a target (targets: {', '.join(names) or 'none'})"
    if isinstance(targets.get(target), Recorded):
        return f"the judge {target!r} of {metric.name} is a recording, which answers nothing but its own cases"
    return None


def _kinds(folder: Path) -> dict[str, _Kind]:
    def custom(name: Any, predicate: Any, *, tags: Any) -> Metric:
        return metrics.custom(name, _imported(predicate, folder), tags=tags)

    def governance_held(name: Any, predicate: Any, *, tags: Any) -> Metric:
        return metrics.governance_held(name, _imported(predicate, folder), tags=tags)

    def tool_order(names: Any, *, tags: Any) -> Metric:
        if not isinstance(names, list):
            raise ConfigError(f"tool_order needs a list of tool names, but got {names!r}")
        return metrics.tool_order(*names, tags=tags)

    return {
        "no_error": _Kind((), metrics.no_error),
        "available": _Kind((), metrics.available),
        "contains": _Kind(("text",), metrics.contains),
        "matches": _Kind(("pattern",), metrics.matches),
        "called_tool": _Kind(("name",), metrics.called_tool),
        "tool_order": _Kind(("names",), tool_order),
        "max_steps": _Kind(("n",), metrics.max_steps),
        "contains_want": _Kind((), metrics.contains_want),
        "equals_want": _Kind((), metrics.equals_want),
        "expectation": _Kind((), metrics.expectation),
        "judge": _Kind(("name", "target", "rubric"), judge_by_target),
        "governance_held": _Kind(("name", "predicate"), governance_held),
        "custom": _Kind(("name", "predicate"), custom),
        "recorded": _Kind(("name",), metrics.recorded),
    }


def _name_and_argument(written: Any) -> tuple[str, Any]:
    if isinstance(written, str):
        return written, None
    if isinstance(written, dict) and len(written) == 1:
        return next(iter(written.items()))
    found = f"a mapping of {', '.join(written)}" if isinstance(written, dict) else repr(written)
    raise ConfigError(f"a metric is a name, or one name with its argument, but got {found}")


def _keys(name: str, kind: _Kind, argument: Any) -> tuple[list[Any], Any]:
    if not isinstance(argument, dict):
        argument = _as_keys(name, kind, argument)
    for key in argument:
        if key not in {*kind.keys, "tags"}:
            raise ConfigError(f"{name}: {problems.unknown_key(key, (*kind.keys, 'tags'))}")
    missing = [key for key in kind.keys if key not in argument]
    if missing:
        raise ConfigError(f"{name} needs {' and '.join(f'`{key}`' for key in missing)}")
    return [argument[key] for key in kind.keys], argument.get("tags", [])


def _as_keys(name: str, kind: _Kind, argument: Any) -> dict[str, Any]:
    if argument is None:
        return {}
    if len(kind.keys) != 1:
        wanted = f"keys {', '.join(kind.keys)}" if kind.keys else "no argument"
        raise ConfigError(f"{name} takes {wanted}, but got {argument!r}")
    return {kind.keys[0]: argument}


def _imported(path: Any, folder: Path) -> Callable[..., Any]:
    if not isinstance(path, str) or path.count(":") != 1:
        raise ConfigError(f"a predicate is written package.module:function, but got {path!r}")
    return functions.load(path, folder=folder)
