"""What the README shows is what happens."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
FILE = re.compile(r"^`([\w.]+)`\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def block_after(heading: str, language: str) -> str:
    section = README.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    blocks: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return blocks[-1]


@pytest.fixture
def first_suite(tmp_path: Path) -> Path:
    files = FILE.findall(README)
    assert [name for name, _ in files] == ["answers.py", "cases.jsonl", "suite.yaml"]
    for name, text in files:
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_first_suite_runs_as_it_stands(first_suite: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "EVAL_ASSETS_HOME"}
    codes = {}
    for line in block_after("A first suite of your own", "sh").splitlines():
        command = shlex.split(line, comments=True)
        assert command[0] == "eval-assets"
        done = subprocess.run(
            [sys.executable, "-m", "eval_assets", *command[1:]],
            check=False,
            cwd=first_suite,
            env=environment,
            capture_output=True,
            text=True,
        )
        codes[" ".join(command[1:3])] = done.returncode
        assert "Traceback" not in done.stderr, done.stderr

    assert codes.pop("gate .") == 1
    assert set(codes.values()) == {0}


def test_the_library_snippet_says_what_its_comment_says(capsys: pytest.CaptureFixture[str]) -> None:
    exec(block_after("As a library", "python"), {})  # noqa: S102  it is ours

    assert capsys.readouterr().out == "regression\n"


def test_the_two_commands_are_there() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text()

    for command in block_after("Two commands", "sh").splitlines():
        target = command.split()[1]
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_every_command_it_names_exists() -> None:
    from eval_assets.cli import commands

    named = set(re.findall(r"eval-assets ([a-z]+)", README))

    assert named <= {command.name for command in commands.COMMANDS}


def test_every_option_it_names_exists() -> None:
    from eval_assets.cli import commands

    options = {
        command.name: {name for option in command.params for name in option.opts} for command in commands.COMMANDS
    }
    shown = re.findall(r"eval-assets ([a-z]+)([^\n#`]*)", README)

    for name, rest in shown:
        assert set(re.findall(r"--[a-z-]+", rest)) <= options[name]
