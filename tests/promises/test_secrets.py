"""A key is sent to its server and written nowhere."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Call = Callable[..., "subprocess.CompletedProcess[str]"]


def test_a_key_is_in_no_file_and_no_output(server: Any, call: Call, project: Path, key: str) -> None:
    said = [call("run", ".", "old"), call("run", ".", "new"), call("gate", ".", "new", "--json", "gate.json")]

    assert all(key in head for head in server.headers)
    written = [path for path in project.rglob("*") if path.is_file()]
    assert len(written) > 3
    assert [path for path in written if key.encode() in path.read_bytes()] == []
    assert not any(key in done.stdout + done.stderr for done in said)
