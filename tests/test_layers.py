"""The arrows between layers point one way, and each third-party package has one door: ARCHITECTURE, held true."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import eval_assets

PACKAGE = Path(eval_assets.__file__).parent
CORE = {"errors", "model", "metrics", "targets", "execution", "store", "stats", "analysis", "suite", "pipeline"}

MAY_IMPORT = {
    "errors": set(),
    "model": {"errors"},
    "stats": {"errors"},
    "metrics": {"errors", "model"},
    "analysis": {"errors", "model", "stats"},
    "targets": {"errors", "model"},
    "execution": {"errors", "model"},
    "store": {"errors", "model"},
    "suite": {"errors", "model", "metrics", "targets"},
    "pipeline": (CORE | {"conformance"}) - {"stats"},
    "agent_runs": {"errors", "model"},
    "in_memory": CORE - {"store", "suite", "pipeline"},
    "conformance": CORE - {"store", "suite", "pipeline"},
    "cli": {"errors", "model", "suite", "analysis", "pipeline", "store", "demo"},
    "defs": {"errors", "model", "suite", "analysis", "pipeline", "store"},
    "definitions": {"errors", "model", "suite", "analysis", "pipeline", "store", "defs"},
    "__main__": {"cli"},
    "demo": CORE | {"defs", "definitions", "cli"},
    "__init__": CORE | {"agent_runs", "conformance", "in_memory"},
}
DOORS = {
    "pydantic": {"model", "targets", "suite", "in_memory"},
    "numpy": {"stats", "analysis"},
    "scipy": {"stats"},
    "matplotlib": {"analysis"},
    "httpx": {"targets"},
    "httpx_aiohttp": {"targets"},
    "aiohttp": {"targets"},
    "jmespath": {"targets"},
    "duckdb": {"store"},
    "psutil": {"store"},
    "yaml": {"suite"},
    "click": {"cli"},
    "rich": {"cli"},
    "dagster": {"defs", "definitions", "demo"},
    "starlette": {"demo"},
    "uvicorn": {"demo"},
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """Every imported module, those inside functions too; `from eval_assets import x` counts as eval_assets.x."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "eval_assets":
            yield from (f"eval_assets.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_arrows_point_one_way(path: Path) -> None:
    layer = layer_of(path)
    ours = {name.split(".")[1] for name in imports(path) if name.startswith("eval_assets.")}

    assert ours - {layer} <= MAY_IMPORT[layer]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_each_package_has_one_door(path: Path) -> None:
    third_party = {name.split(".")[0] for name in imports(path)} - sys.stdlib_module_names - {"eval_assets"}

    assert {name for name in third_party if layer_of(path) not in DOORS.get(name, set())} == set()


def test_every_folder_is_a_known_layer() -> None:
    """A new folder comes with its row in the table."""
    assert {layer_of(path) for path in modules()} <= MAY_IMPORT.keys()


@pytest.mark.parametrize("module", ["eval_assets.pipeline", "eval_assets.cli", "eval_assets.in_memory"])
def test_core_and_command_line_import_without_dagster(module: str) -> None:
    program = f"import sys; sys.modules['dagster'] = None; import {module}"

    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("heavy", ["dagster", "scipy", "numpy", "duckdb", "httpx", "rich", "pydantic", "matplotlib"])
def test_help_imports_nothing_heavy(heavy: str) -> None:
    program = (
        "import sys\nfrom eval_assets.cli.main import run\ncode = run(['--help'])\n"
        f"sys.exit(code or {heavy!r} in sys.modules)"
    )

    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
