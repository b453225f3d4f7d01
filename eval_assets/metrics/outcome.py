"""Questions about what the run came to: its final text, and whether it ended in an error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from eval_assets.errors import ConfigError
from eval_assets.metrics import arguments
from eval_assets.model import json_values
from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput
from eval_assets.model.scores import Metric, Score, Unscored

_NO_WANT = Unscored("the case has no `want`")


def no_error(*, tags: Sequence[str] = ()) -> Metric:
    """The run did not end in an error."""
    return Metric("no_error", lambda _, output: output.error is None, tags=arguments.labels(tags))


def available(*, tags: Sequence[str] = ()) -> Metric:
    """The run was answered at all. The one metric that fails an unanswered run, where others leave it unscored."""
    return Metric(
        "available", lambda _, output: not output.unavailable, tags=arguments.labels(tags), asks_unavailable=True
    )


def contains(text: str, *, tags: Sequence[str] = ()) -> Metric:
    """The final text contains `text`, case and all. A run that errored fails."""
    arguments.text(text, of="contains: the text")
    return Metric(f"contains:{text}", lambda _, output: text in _final_text(output), tags=arguments.labels(tags))


def matches(pattern: str, *, tags: Sequence[str] = ()) -> Metric:
    """The pattern is found in the final text. A run that errored fails."""
    compiled = _compiled(arguments.text(pattern, of="matches: the pattern"))

    def found(_: Case, output: RunOutput) -> bool:
        return output.error is None and compiled.search(output.final or "") is not None

    return Metric(f"matches:{pattern}", found, tags=arguments.labels(tags))


def contains_want(*, tags: Sequence[str] = ()) -> Metric:
    """The case's `want`, or each of them where it is a list, is in the final text, upper and lower case alike."""
    return Metric("contains_want", _holds_want, tags=arguments.labels(tags))


def equals_want(*, tags: Sequence[str] = ()) -> Metric:
    """The final text, stripped, equals the case's `want`; where `want` is not text, the two compare as JSON values."""
    return Metric("equals_want", _is_want, tags=arguments.labels(tags))


def _final_text(output: RunOutput) -> str:
    return "" if output.error is not None else output.final or ""


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"matches: {pattern!r} is not a regular expression: {error}") from error


def _holds_want(case: Case, output: RunOutput) -> Score | bool:
    if case.want is None:
        return _NO_WANT
    wanted = case.want if isinstance(case.want, (list, tuple)) else [case.want]
    texts = [_as_text(item) for item in wanted]
    if not texts or None in texts:
        return Unscored("`want` must be a text, a number or a list of them to be looked for in the final text")
    final = _final_text(output).casefold()
    return all(text.casefold() in final for text in texts if text is not None)


def _as_text(item: Any) -> str | None:
    if isinstance(item, bool):
        return None
    return str(item) if isinstance(item, (str, int, float)) and item != "" else None


def _is_want(case: Case, output: RunOutput) -> Score | bool:
    if case.want is None:
        return _NO_WANT
    if output.error is not None or output.final is None:
        return False
    if isinstance(case.want, str):
        return output.final.strip() == case.want.strip()
    try:
        return json_values.equal(json_values.parse(output.final), case.want)
    except ValueError:
        return False
