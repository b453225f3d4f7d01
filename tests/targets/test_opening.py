"""What can be said of a target without asking it: problems, fingerprint, description, provenance."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eval_assets.errors import ConfigError
from eval_assets.model.cases import Case, CaseSet
from eval_assets.targets import opening
from eval_assets.targets.specs import Agent, AgentTool, OpenAIChat, Python, Recorded, TargetSpec

CASES = CaseSet(cases=(Case(name="a", input="x"),))
CHAT = OpenAIChat(base_url="http://127.0.0.1:8000/v1", model="m", temperature=0.7, seed=3)


@pytest.fixture(autouse=True)
def module(tmp_path: Path) -> Iterator[str]:
    """A module beside the suite, forgotten afterwards."""
    path, name = list(sys.path), "opening_module"
    (tmp_path / f"{name}.py").write_text("def one(text): return text\ndef two(a, b): return a\nvalue = 3\n")
    (tmp_path / "opening_broken.py").write_text("raise RuntimeError('no database')\n")
    yield name
    sys.path[:] = path
    sys.modules.pop(name, None)


def problems(folder: Path, spec: TargetSpec, **others: TargetSpec) -> list[str]:
    return opening.problems("it", {"it": spec, **others}, folder=folder, case_set=CASES, runs=1)


def fingerprint(folder: Path, spec: TargetSpec, **others: TargetSpec) -> str:
    return opening.fingerprint("it", {"it": spec, **others}, folder=folder)


def test_a_good_target_has_no_problems(tmp_path: Path) -> None:
    tools = (AgentTool(name="one", function="opening_module:one"), AgentTool(name="two", results=()))

    assert problems(tmp_path, CHAT) == []
    assert problems(tmp_path, Python(function="opening_module:one")) == []
    assert problems(tmp_path, Agent(model="m", tools=tools), m=CHAT) == []


@pytest.mark.parametrize(
    ("function", "found"),
    [
        ("opening_nowhere:f", "cannot import opening_nowhere of opening_nowhere:f: ModuleNotFoundError"),
        ("opening_broken:f", "RuntimeError: no database; importing it failed"),
        ("opening_module:f", "opening_module has no f"),
        ("opening_module:value", "opening_module:value is int, wanted a function"),
        ("opening_module:two", "is called with 1 argument, but its signature is (a, b)"),
    ],
)
def test_a_function_that_cannot_be_called_is_a_problem(tmp_path: Path, function: str, found: str) -> None:
    [problem] = problems(tmp_path, Python(function=function))

    assert found in problem


def test_every_problem_of_an_agent_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    (tmp_path / "results.jsonl").write_text('{"arguments": {}, "result": 1}\n{"argument": {}}\n')
    spec = Agent(
        model="m",
        system="prompts/missing.txt",
        tools=(
            AgentTool(name="one", function="opening_module:missing"),
            AgentTool(name="two", results="results.jsonl"),
            AgentTool(name="three", results="nowhere.jsonl"),
        ),
    )

    found = problems(tmp_path, spec, m=CHAT.model_copy(update={"api_key_env": "SOME_KEY"}))

    assert found == [
        "its model m: api_key_env names SOME_KEY, which is not set; export SOME_KEY, or leave api_key_env out",
        f"system names the file {tmp_path / 'prompts/missing.txt'}, which does not exist",
        "tool one: opening_module has no missing (named by opening_module:missing)",
        f"tool two: {tmp_path / 'results.jsonl'}:2: Extra inputs are not permitted; "
        "wanted an object {arguments: {…}, result: …}",
        f"tool three: cannot read the recorded results in {tmp_path / 'nowhere.jsonl'}: [Errno 2] No such file or "
        f"directory: '{tmp_path / 'nowhere.jsonl'}'",
    ]


@pytest.mark.parametrize(
    ("others", "found"),
    [
        ({}, "names the model 'm', which is no target"),
        ({"m": Python(function="opening_module:one")}, "names the model 'm', whose kind is python"),
        ({"m": Agent(model="it")}, "names the model 'm', whose kind is agent"),
    ],
)
def test_an_agent_needs_a_chat_model(tmp_path: Path, others: dict[str, Any], found: str) -> None:
    [problem] = problems(tmp_path, Agent(model="m"), chat=CHAT, **others)

    assert found in problem
    assert problem.endswith("such as: chat")


def test_an_unknown_target_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no target 'other'; the targets are: it"):
        opening.fingerprint("other", {"it": CHAT}, folder=tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "n"},
        {"temperature": 0.8},
        {"seed": None},
        {"system": "Be brief."},
        {"base_url": "http://127.0.0.1:8001/v1"},
        {"extra": {"top_p": 1}},
        {"tools": ({"name": "t"},)},
        {"headers": {"x-variant": "b"}},
    ],
    ids=str,
)
def test_what_may_change_answers_changes_the_fingerprint(tmp_path: Path, change: dict[str, Any]) -> None:
    assert fingerprint(tmp_path, CHAT) != fingerprint(tmp_path, CHAT.model_copy(update=change))


@pytest.mark.parametrize(
    "change", [{"api_key_env": "SOME_KEY"}, {"timeout_s": 1}, {"max_attempts": 9}, {"headers": {"x-key": "other"}}]
)
def test_what_cannot_change_answers_does_not(tmp_path: Path, change: dict[str, Any]) -> None:
    spec = CHAT.model_copy(update={"headers": {"x-key": "sk-secret"}} if "headers" in change else {})

    assert fingerprint(tmp_path, spec) == fingerprint(tmp_path, spec.model_copy(update=change))


def test_files_and_modules_count_by_content(tmp_path: Path) -> None:
    tool = AgentTool(name="one", function="opening_later:one")
    specs: dict[str, tuple[TargetSpec, dict[str, TargetSpec]]] = {
        "prompt.txt": (CHAT.model_copy(update={"system": "prompt.txt"}), {}),
        "runs.jsonl": (Recorded(path="runs.jsonl"), {}),
        "results.jsonl": (Agent(model="m", tools=(AgentTool(name="t", results="results.jsonl"),)), {"m": CHAT}),
        "opening_later.py": (Agent(model="m", tools=(tool,)), {"m": CHAT}),
        "opening_later_py.py": (Python(function="opening_later_py:one"), {}),
    }
    for file, (spec, others) in specs.items():
        before = fingerprint(tmp_path, spec, **others)
        (tmp_path / file).write_text("one = len\n")

        assert fingerprint(tmp_path, spec, **others) != before, file


def test_an_agents_fingerprint_covers_its_model(tmp_path: Path) -> None:
    other = CHAT.model_copy(update={"temperature": 0.1})

    assert fingerprint(tmp_path, Agent(model="m"), m=CHAT) != fingerprint(tmp_path, Agent(model="m"), m=other)


def test_a_description_holds_no_secret() -> None:
    spec = CHAT.model_copy(update={"headers": {"x-key": "sk-secret"}, "api_key_env": "SOME_KEY"})

    described = opening.describe("it", {"it": spec})

    assert described["headers"] == {"x-key": "***"}
    assert (described["kind"], described["model"], described["api_key_env"]) == ("openai_chat", "m", "SOME_KEY")


def test_provenance_is_that_of_the_model_behind() -> None:
    specs: dict[str, TargetSpec] = {
        "chat": CHAT,
        "agent": Agent(model="chat"),
        "recorded": Recorded(path="runs.jsonl", model="gpt", temperature=0.8),
        "python": Python(function="m:f"),
    }

    assert {name: opening.provenance_of(name, specs) for name in specs} == {
        "chat": ("m", 0.7, 3),
        "agent": ("m", 0.7, 3),
        "recorded": ("gpt", 0.8, None),
        "python": ("", None, None),
    }


def test_a_long_prompt_is_text_and_no_path(tmp_path: Path) -> None:
    for system in ("word " * 2000, "x" * 5000, "one\ntwo.txt", "a\0b"):
        assert problems(tmp_path, CHAT.model_copy(update={"system": system})) == []


def test_recorded_targets_do_not_pay_for_an_http_client() -> None:
    code = "import sys, eval_assets.targets.opening; print({'httpx', 'aiohttp', 'stamina'} & set(sys.modules))"

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "set()"
