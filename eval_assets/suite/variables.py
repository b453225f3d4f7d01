"""`${VAR}` and `${VAR:-default}` in the texts of a suite."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eval_assets.errors import Problem
from eval_assets.suite.document import Document, Place

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def expand(document: Document, value: Any, place: Place, environment: Mapping[str, str]) -> tuple[Any, list[Problem]]:
    """Put variables in place in every text of a value; each that is unset and has no default is a problem."""
    problems: list[Problem] = []
    return _expand(document, value, place, environment, problems), problems


def _expand(
    document: Document, value: Any, place: Place, environment: Mapping[str, str], problems: list[Problem]
) -> Any:
    if isinstance(value, dict):
        return {key: _expand(document, item, (*place, key), environment, problems) for key, item in value.items()}
    if isinstance(value, list):
        return [_expand(document, item, (*place, n), environment, problems) for n, item in enumerate(value)]
    if not isinstance(value, str):
        return value

    def put(match: re.Match[str]) -> str:
        name, default = match.groups()
        found = environment.get(name, default)
        if found is None:
            message = f"the environment variable {name} is not set; set it, or give a default: ${{{name}:-…}}"
            problems.append(document.problem(message, *place))
        return found or ""

    return _VARIABLE.sub(put, value)
