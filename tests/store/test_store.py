"""The Store costs nothing until it is used, and its SQL is asked by name."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

from eval_assets.store.store import Store

SOURCES = resources.files("eval_assets.store")


def test_importing_the_store_imports_no_duckdb() -> None:
    code = "import sys, eval_assets.store.store; print([name for name in ('duckdb', 'psutil') if name in sys.modules])"

    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert answer.stdout == "[]\n"


def test_making_a_store_makes_no_file(path: Path) -> None:
    Store(path)

    assert not path.parent.exists()


def test_every_query_is_used_and_every_used_one_exists() -> None:
    modules = [file for file in SOURCES.iterdir() if file.name.endswith(".py")]
    code = "\n".join(file.read_text(encoding="utf-8") for file in modules)
    asked = set(re.findall(r'queries\.(?:run|rows|first)\(\s*connection,\s*"(\w+)"', code))

    kept = {file.name.removesuffix(".sql") for file in SOURCES.joinpath("sql").iterdir()}

    assert asked == kept


def test_the_schema_uses_only_what_a_lake_has_too() -> None:
    migrations = "\n".join(file.read_text(encoding="utf-8") for file in SOURCES.joinpath("migrations").iterdir())
    statements = re.sub(r"--.*", "", migrations)

    assert not re.findall(
        r"\b(primary key|unique|references|check|index|sequence|enum|generated|returning)\b", statements
    )
