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
from eval_assets.model.money import Price
from eval_assets.targets import cassette, credentials, functions, otel, prompts, python, recorded, tools
from eval_assets.targets.cassette import CassetteTarget
from eval_assets.targets.edge import Guarded
from eval_assets.targets.redaction import BLACKED_OUT
from eval_assets.targets.specs import (
    ASKING_KEYS,
    Agent,
    EndpointSpec,
    Http,
    ModelSpec,
    Otel,
    Python,
    Recorded,
    TargetSpec,
)
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
    # Of every target's secrets, because an agent's are those of its model, and a tool may say another's.
    redactor = credentials.redactor(specs.values())
    async with _opened(name, specs, folder, concurrency) as target:
        passed, guarded = cassette.current(), Guarded(target, redactor)
        if passed is None or not is_asked_over_http(name, specs):
            yield guarded
        else:
            yield CassetteTarget(passed, name, guarded, redactor=redactor)


def _opened(name: str, specs: Specs, folder: Path, concurrency: int) -> contextlib.AbstractAsyncContextManager[Target]:
    match spec := _spec(name, specs):
        case ModelSpec():
            from eval_assets.targets import chat

            return chat.open_chat(spec, folder=folder, concurrency=concurrency)
        case Http():
            from eval_assets.targets import http_agent

            return http_agent.open_http_agent(spec, concurrency=concurrency)
        case Agent():
            from eval_assets.targets import agent

            return agent.open_agent(spec, _model(name, spec, specs), folder=folder, concurrency=concurrency)
        case Python():
            return python.open_python(spec, folder=folder, concurrency=concurrency)
        case Recorded():
            return recorded.open_recorded(spec, folder=folder)
        case Otel():
            return otel.open_otel(spec, folder=folder)


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
        case Http():
            return credentials.problems(spec)
        case ModelSpec():
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
        case Otel():
            return otel.problems(spec, folder=folder, case_set=case_set, runs=runs)


def is_asked_over_http(name: str, specs: Specs) -> bool:
    """Whether a target is asked through the one HTTP client, and so can be recorded and replayed."""
    return isinstance(_spec(name, specs), (EndpointSpec, Agent))


def fingerprint(name: str, specs: Specs, *, folder: Path) -> str:
    """
    Say whether two evaluations asked the same target: lower-case hex sha256 over all that may change its answers.

    Prompt files, modules of functions and recordings count by content. Keys, header values, time-outs and attempts do
    not count. What cannot be read counts as unknown and raises nothing.
    """
    facts = json.dumps(_facts(name, specs, folder), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(facts.encode()).hexdigest()


def describe(name: str, specs: Specs) -> dict[str, Any]:
    """A target as JSON, fit to be stored and shown: values of headers and query are blacked out."""
    spec = _spec(name, specs)
    described = spec.model_dump(mode="json")
    if isinstance(spec, EndpointSpec):
        for secret in ("headers", "query"):
            described[secret] = dict.fromkeys(described[secret], BLACKED_OUT)
    described = credentials.redactor(specs.values()).value(described)
    return dict(described)


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


def price_of(name: str, specs: Specs) -> Price | None:
    """What a target's tokens cost: an agent's as its model's, unless it says otherwise. None where nobody said."""
    spec = _spec(name, specs)
    if spec.price is None and isinstance(spec, Agent):
        model = specs.get(spec.model)
        return None if model is None else model.price
    return spec.price


def is_live(name: str, specs: Specs) -> bool:
    """Whether someone is asked, who may answer anew and charge for it; runs that happened elsewhere are only read."""
    return not isinstance(_spec(name, specs), (Recorded, Otel))


def _stated(spec: ModelSpec | Http | Python | Recorded | Otel) -> tuple[str, float | None, int | None]:
    return spec.model, spec.temperature, spec.seed


def _spec(name: str, specs: Specs) -> TargetSpec:
    if name not in specs:
        raise ConfigError(f"there is no target {name!r}; the targets are: {', '.join(specs) or 'none'}")
    return specs[name]


def _model(name: str, spec: Agent, specs: Specs) -> ModelSpec:
    model = specs.get(spec.model)
    if isinstance(model, ModelSpec):
        return model
    chat = [other for other, candidate in specs.items() if isinstance(candidate, ModelSpec)]
    found = "which is no target" if model is None else f"whose kind is {model.kind}"
    raise ConfigError(
        f"the agent {name} names the model {spec.model!r}, {found}; wanted a hosted model, such as: "
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
        case EndpointSpec():
            # Streamed or not, a model says the same.
            described = spec.model_dump(mode="json", exclude={"headers", "query", "stream", *ASKING_KEYS})
            said = {"headers": sorted(spec.headers), "query": credentials.open_query(spec)}
            system = {"system": _system(spec.system, folder)} if isinstance(spec, ModelSpec) else {}
            return {**described, **said, **system}
        case Agent():
            model = specs.get(spec.model)
            return {
                **spec.model_dump(mode="json"),
                "system": _system(spec.system, folder),
                "model": _facts(spec.model, specs, folder) if isinstance(model, ModelSpec) else None,
                "sources": tools.sources(spec.tools, folder=folder),
            }
        case Python():
            return {**spec.model_dump(mode="json"), "source": functions.source(spec.function, folder=folder)}
        case Recorded() | Otel():
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
