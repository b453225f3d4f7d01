"""Numbers from statsmodels, R, scipy and mpmath, twelve significant digits, by method."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Entries = list[tuple[dict[str, Any], dict[str, Any]]]


@pytest.fixture(scope="session")
def sourced() -> Callable[[str], Entries]:
    """The (inputs, expected) pairs of a method; at least one, so that no loop over them is empty."""
    entries = json.loads((Path(__file__).parent / "reference.json").read_text())

    def of(method: str) -> Entries:
        found = [(entry["inputs"], entry["expected"]) for entry in entries if entry["method"] == method]
        assert found, method
        return found

    return of
