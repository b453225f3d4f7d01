"""
The one place that tells the kinds of target apart: opening, checking, describing and fingerprinting them.

What a kind does is in its own file. Kinds that need an HTTP client are imported only when one is opened.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from eval_assets.errors import ConfigError
from eval_assets.model.cases import CaseSet
from eval_assets.targets import credentials, functions, prompts, python, recorded, tools
from eval_assets.targets.specs import Agent, OpenAIChat, Python, Recorded, TargetSpec
from eval_assets.targets.target import Target

Specs = Mapping[str, TargetSpec]


@contextlib.asynccontextmanager
async def open_target(name: str, specs: Specs, *, folder: Path, concurrency: int) -> AsyncIterator[Target]:
    """
    Open a target for one evaluation, and close what it holds at the end.

    Args:
        name: The target's name in the suite.
        specs: Every target of the suite, because an agent names another.
        folder: That of the suite file; relative paths start there.
        concurrency: Runs that will be in flight at most.

    Raises:
        ConfigError: Something it needs is missing; `problems` says so beforehand.
    """
    async with _opened(name, specs, folder, concurrency) as target:
        yield target


def _opened(name: str, specs: Specs, folder: Path, concurrency: int) -> contextlib.AbstractAsyncContextManager[Target]:
    match spec := _spec(name, specs):
        case OpenAIChat():
            from eval_assets.targets import openai_chat

            return openai_chat.open_openai_chat(spec, folder=folder, concurrency=concurrency)
        case Agent():
            from eval_assets.targets import agent

            return agent.open_agent(spec, _model(name, spec, specs), folder=folder, concurrency=concurrency)
        case Python():
            return python.open_python(spec, folder=folder, concurrency=concurrency)
        case Recorded():
            return recorded.open_recorded(spec, folder=folder)


def problems(name: str, specs: Specs, *, folder: Path, case_set: CaseSet, runs: int) -> list[str]:
    """
    Everything wrong with a target that can be found before it is asked; empty when nothing is.

    Args:
        name: The target's name in the suite.
        specs: Every target of the suite.
        folder: That of the suite file.
        case_set: The cases it will be asked.
        runs: Runs per case.
    """
    match spec := _spec(name, specs):
        case OpenAIChat():
            return [*credentials.problems(spec), *prompts.problems(spec.system, folder=folder)]
        case Agent():
            return [
                *_model_problems(name, spec, specs, folder),
                *prompts.problems(spec.system, folder=folder),
                *tools.problems(spec.tools, folder=folder),
            ]
        case Python():
            return python.problems(spec, folder=folder)
        case Recorded():
            return recorded.problems(spec, folder=folder, case_set=case_set, runs=runs)


def fingerprint(name: str, specs: Specs, *, folder: Path) -> str:
    """
    Say whether two evaluations asked the same target: lower-case hex sha256 over all that may change its answers.

    Prompt files, modules of functions and recordings count by content. Keys, header values, time-outs and attempts do
    not count. What cannot be read counts as unknown and raises nothing.
    """
    facts = json.dumps(_facts(name, specs, folder), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(facts.encode()).hexdigest()


def describe(name: str, specs: Specs) -> dict[str, Any]:
    """A target as JSON, fit to be stored and shown: header values are blacked out, and the key was never in it."""
    spec = _spec(name, specs)
    described = spec.model_dump(mode="json")
    if isinstance(spec, OpenAIChat):
        described["headers"] = dict.fromkeys(spec.headers, "***")
    return described


def provenance_of(name: str, specs: Specs) -> tuple[str, float | None, int | None]:
    """
    Model, temperature and seed of a target: an agent's are those of its model, others are as stated.

    The model is empty, and the others None, where unknown.
    """
    spec = _spec(name, specs)
    if isinstance(spec, Agent):
        model = specs.get(spec.model)
        return (spec.model, None, None) if model is None or isinstance(model, Agent) else _stated(model)
    return _stated(spec)


def _stated(spec: OpenAIChat | Python | Recorded) -> tuple[str, float | None, int | None]:
    return spec.model, spec.temperature, spec.seed


def _spec(name: str, specs: Specs) -> TargetSpec:
    if name not in specs:
        raise ConfigError(f"there is no target {name!r}; the targets are: {', '.join(specs) or 'none'}")
    return specs[name]


def _model(name: str, spec: Agent, specs: Specs) -> OpenAIChat:
    model = specs.get(spec.model)
    if isinstance(model, OpenAIChat):
        return model
    chat = [other for other, candidate in specs.items() if isinstance(candidate, OpenAIChat)]
    found = "which is no target" if model is None else f"whose kind is {model.kind}"
    raise ConfigError(
        f"the agent {name} names the model {spec.model!r}, {found}; wanted a target of kind openai_chat, such as: "
        f"{', '.join(chat) or 'none is defined yet'}"
    )


def _model_problems(name: str, spec: Agent, specs: Specs, folder: Path) -> list[str]:
    try:
        model = _model(name, spec, specs)
    except ConfigError as error:
        return [str(error)]
    found = [*credentials.problems(model), *prompts.problems(model.system, folder=folder)]
    return [f"its model {spec.model}: {problem}" for problem in found]


def _facts(name: str, specs: Specs, folder: Path) -> dict[str, Any]:
    match spec := _spec(name, specs):
        case OpenAIChat():
            described = spec.model_dump(mode="json", exclude={"headers", "api_key_env", "timeout_s", "max_attempts"})
            return {**described, "headers": sorted(spec.headers), "system": _system(spec.system, folder)}
        case Agent():
            model = specs.get(spec.model)
            return {
                **spec.model_dump(mode="json"),
                "system": _system(spec.system, folder),
                "model": _facts(spec.model, specs, folder) if isinstance(model, OpenAIChat) else None,
                "sources": tools.sources(spec.tools, folder=folder),
            }
        case Python():
            return {**spec.model_dump(mode="json"), "source": functions.source(spec.function, folder=folder)}
        case Recorded():
            return {**spec.model_dump(mode="json"), "sha256": _sha256(folder / spec.path)}


def _system(system: str | None, folder: Path) -> str | None:
    try:
        return prompts.read(system, folder=folder)
    except (OSError, UnicodeDecodeError):
        return system


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
