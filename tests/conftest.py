"""What every folder's tests may use: real input from beside the project, where it is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# The same examples each time, and no deadline: a test must not depend on chance or on how busy the machine is.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real input and reference numbers; the test is skipped where the project stands alone."""
    if not SHARED.is_dir():
        pytest.skip("no ../shared beside the project")
    return SHARED


@pytest.fixture(scope="session")
def reference(shared: Path) -> dict[str, Any]:
    """Case sets with their hashes as the Go package computes them."""
    read: dict[str, Any] = json.loads((shared / "reference" / "case_hashes.json").read_text())
    return read
