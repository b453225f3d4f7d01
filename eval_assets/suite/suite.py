"""A suite file as one value: case set, targets, metrics, runs per case, gate policy, schedule."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, ValidationError, field_validator

from eval_assets.errors import ConfigError, Problem
from eval_assets.metrics import scoring
from eval_assets.model.base import Noun
from eval_assets.model.cases import CaseSet
from eval_assets.model.money import Usd
from eval_assets.model.scores import Metric
from eval_assets.model.verdicts import GatePolicy, floor_parts
from eval_assets.suite import case_files, document, metric_list, problems, variables
from eval_assets.suite.document import Document, Place
from eval_assets.targets import specs
from eval_assets.targets.specs import TargetSpec

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TARGET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_CRON_FIELDS = 5


class Refresh(Noun):
    """When the baseline is measured again."""

    cron: str
    """Five cron fields."""
    timezone: str = "UTC"
    """An IANA name."""

    @field_validator("cron")
    @classmethod
    def _has_five_fields(cls, cron: str) -> str:
        if len(cron.split()) != _CRON_FIELDS:
            raise ValueError('wanted five cron fields, as in "0 3 * * *"')
        return cron

    @field_validator("timezone")
    @classmethod
    def _is_known(cls, timezone: str) -> str:
        try:
            ZoneInfo(timezone)
        except (KeyError, ValueError, OSError) as error:
            raise ValueError('wanted an IANA time zone, as in "Europe/Berlin"') from error
        return timezone


class SuiteFile(Noun):
    """The keys of suite.yaml and the types of those that stand for themselves."""

    name: str
    cases: str | list[Any]
    runs: int = Field(default=1, ge=1)
    concurrency: int = Field(default=8, ge=1)
    targets: dict[str, Any]
    baseline: str
    candidates: list[str] = Field(default_factory=list)
    metrics: list[Any] = Field(min_length=1)
    gate: GatePolicy = GatePolicy()
    budget_usd: Usd | None = None
    conformance: str | None = None
    refresh: Refresh | None = None

    @field_validator("name")
    @classmethod
    def _is_an_asset_key(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError("wanted lower-case letters, digits and _, a letter first: it becomes an asset key")
        return name


@dataclass(frozen=True)
class Suite:
    """A suite whose parts have been checked, each and against one another."""

    name: str
    path: Path
    case_set: CaseSet
    runs: int
    """Runs per case."""
    concurrency: int
    """Runs in flight."""
    targets: Mapping[str, TargetSpec]
    baseline: str
    candidates: tuple[str, ...]
    """Those named in the suite, then those of candidates/*.yaml by name."""
    metrics: tuple[Metric, ...]
    gate: GatePolicy
    refresh: Refresh | None
    budget_usd: float | None = None
    """US dollars that one evaluation may spend."""
    conformance: CaseSet | Literal["canonical"] | None = None
    """What a target must pass before it is evaluated; `canonical` are the cases any model can be asked."""

    @property
    def folder(self) -> Path:
        """Where the suite's relative paths start."""
        return self.path.parent

    def check_has(self, target: str) -> None:
        """
        Refuse a name that is no target of the suite.

        Raises:
            ConfigError: It is not; the message names those that are.
        """
        if target not in self.targets:
            known = ", ".join(self.targets)
            raise ConfigError(Problem(f"there is no target {target!r} (targets: {known})", self.path))


def load_suite(path: Path, *, environment: Mapping[str, str] = os.environ) -> Suite:
    """
    Read a suite file, or the suite.yaml of a folder.

    Raises:
        ConfigError: Every problem of the suite, its cases and its candidates at once, each with file and line.
    """
    file = (path / "suite.yaml" if path.is_dir() else path).resolve()
    written = document.read_yaml(file, what="a suite file")
    if not isinstance(written.value, dict):
        found = "nothing" if written.value is None else f"a {type(written.value).__name__}"
        raise ConfigError(written.problem(f"wanted a mapping with name, cases, targets, …, found {found}"))
    return _Reader(written, environment).suite()


class _Reader:
    """Reads the parts of one suite and collects what is wrong with each, so that all of it is told at once."""

    def __init__(self, written: Document, environment: Mapping[str, str]) -> None:
        self.written = written
        self.environment = environment
        self.problems: list[Problem] = []

    def suite(self) -> Suite:
        file = self._file()
        case_set = self._cases()
        targets = self._targets()
        arrived = self._arrived_candidates()
        metrics = self._metrics(case_set, {**targets, **arrived})
        conformance = self._conformance(file)
        if file is not None:
            self._check_roles(file, targets.keys() | arrived.keys())
            self._check_gate(file, metrics, case_set)
        if self.problems or file is None or case_set is None:
            raise ConfigError(sorted(self.problems, key=_where))
        return Suite(
            name=file.name,
            path=self.written.file,
            case_set=case_set,
            runs=file.runs,
            concurrency=file.concurrency,
            targets={**targets, **arrived},
            baseline=file.baseline,
            candidates=(*file.candidates, *(name for name in arrived if name not in file.candidates)),
            metrics=tuple(metrics),
            gate=file.gate,
            refresh=file.refresh,
            budget_usd=file.budget_usd,
            conformance=conformance,
        )

    def _file(self) -> SuiteFile | None:
        expanded = dict(self.written.value)
        # Targets expand one by one below; metrics keep `$` and braces, which are regular expressions there.
        for key in expanded.keys() - {"targets", "metrics"}:
            expanded[key], unset = self._expanded(self.written, expanded[key], (key,))
            self.problems.extend(unset)
        try:
            return SuiteFile.model_validate(expanded)
        except ValidationError as error:
            self.problems.extend(problems.explain(error, SuiteFile, lambda text, at: self.written.problem(text, *at)))
            return None

    def _expanded(self, where: Document, value: Any, place: Place) -> tuple[Any, list[Problem]]:
        return variables.expand(where, value, place, self.environment)

    def _cases(self) -> CaseSet | None:
        cases = self.written.value.get("cases")
        try:
            if isinstance(cases, list):
                return case_files.inline_cases(self.written, "cases")
            if isinstance(cases, str):
                name, _ = self._expanded(self.written, cases, ("cases",))
                return case_files.read_cases(self.written.file.parent / name)
        except ConfigError as error:
            self.problems.extend(error.problems)
        return None

    def _conformance(self, file: SuiteFile | None) -> CaseSet | Literal["canonical"] | None:
        written = None if file is None else file.conformance
        if written is None or written == "canonical":
            return "canonical" if written else None
        try:
            return case_files.read_cases(self.written.file.parent / written)
        except ConfigError as error:
            self.problems.extend(error.problems)
        return None

    def _targets(self) -> dict[str, TargetSpec]:
        targets = self.written.value.get("targets")
        if not isinstance(targets, dict):
            return {}
        if not targets:
            self._add("`targets` is empty; name at least the baseline", "targets")
        read = {name: self._target(name, value, self.written, ("targets", name)) for name, value in targets.items()}
        return {name: spec for name, spec in read.items() if spec is not None}

    def _arrived_candidates(self) -> dict[str, TargetSpec]:
        """The targets of candidates/NAME.yaml, by name."""
        arrived: dict[str, TargetSpec] = {}
        for file in sorted((self.written.file.parent / "candidates").glob("*.yaml")):
            if file.stem in (self.written.value.get("targets") or {}):
                self.problems.append(Problem(f"the suite has a target {file.stem!r} already; rename this file", file))
                continue
            try:
                read = document.read_yaml(file, what="a candidate's target")
            except ConfigError as error:
                self.problems.extend(error.problems)
                continue
            spec = self._target(file.stem, read.value, read, ())
            if spec is not None:
                arrived[file.stem] = spec
        return arrived

    def _target(self, name: str, value: Any, where: Document, place: Place) -> TargetSpec | None:
        if not _TARGET_NAME.fullmatch(name):
            message = f"the target name {name!r} holds more than letters, digits, `_`, `.` and `-`"
            self.problems.append(where.problem(message, *place))
            return None
        expanded, unset = self._expanded(where, value, place)
        self.problems.extend(unset)
        kind = expanded.get("kind") if isinstance(expanded, dict) else None
        model = specs.BY_KIND.get(kind) if isinstance(kind, str) else None
        if model is None:
            found = f"kind {kind!r}" if isinstance(expanded, dict) else f"{type(value).__name__}"
            message = (
                f"target {name!r}: wanted a mapping whose `kind` is one of {', '.join(specs.BY_KIND)}, found {found}"
            )
            self.problems.append(where.problem(message, *place, "kind"))
            return None
        try:
            return model.model_validate(expanded)
        except ValidationError as error:
            wrong = problems.explain(
                error, model, lambda text, at: where.problem(f"target {name!r}: {text}", *place, *at)
            )
            self.problems.extend(wrong)
            return None

    def _metrics(self, case_set: CaseSet | None, targets: Mapping[str, TargetSpec]) -> list[Metric]:
        written = self.written.value.get("metrics")
        defined = self.written.value.get("targets")
        named = {*targets, *(defined if isinstance(defined, dict) else ())}
        made: list[Metric] = []
        for index, entry in enumerate(written if isinstance(written, list) else ()):
            try:
                metric = metric_list.make_metric(entry, folder=self.written.file.parent)
            except ConfigError as error:
                self._add(str(error), "metrics", index)
                continue
            problem = metric_list.judge_problem(metric, targets, named=named)
            if problem is not None:
                self._add(problem, "metrics", index, "judge", "target")
            if case_set is not None and not any(metric.asks(case) for case in case_set.cases):
                known = ", ".join(case_set.tags) or "none"
                self._add(
                    f"{metric.name} is asked of no case: tags {', '.join(metric.tags)} (known: {known})",
                    "metrics",
                    index,
                )
            made.append(metric)
        self._check_names(made)
        return made

    def _check_names(self, metrics: list[Metric]) -> None:
        if not metrics:
            return  # told already: by the type of `metrics`, or by each entry
        try:
            scoring.check(metrics)
        except ConfigError as error:
            self._add(str(error), "metrics")

    def _check_roles(self, file: SuiteFile, known: set[str]) -> None:
        defined = known | set(file.targets)
        names = ", ".join(sorted(defined)) or "none"
        if file.baseline not in defined:
            self._add(f"the baseline {file.baseline!r} is not a target (targets: {names})", "baseline")
        for index, name in enumerate(file.candidates):
            if name not in defined:
                self._add(f"the candidate {name!r} is not a target (targets: {names})", "candidates", index)
            if name == file.baseline:
                self._add(
                    f"{name!r} is the baseline; a candidate is compared with it, not with itself", "candidates", index
                )
            if name in file.candidates[:index]:
                self._add(f"the candidate {name!r} is named twice", "candidates", index)

    def _check_gate(self, file: SuiteFile, metrics: list[Metric], case_set: CaseSet | None) -> None:
        known = {metric.name for metric in metrics}
        for index, name in enumerate(file.gate.metrics or ()):
            if name not in known:
                message = f"the gate's metric {name!r} is not one of the suite's: {', '.join(sorted(known))}"
                self._add(message, "gate", "metrics", index)
        for floor in file.gate.floors:
            self._check_floor(floor, metrics, case_set)

    def _check_floor(self, floor: str, metrics: list[Metric], case_set: CaseSet | None) -> None:
        tag, name = floor_parts(floor)
        asked = {metric.name: metric for metric in metrics}
        if name not in asked:
            self._add(
                f"the floor {floor!r} is of no metric of the suite: {', '.join(sorted(asked))}", "gate", "floors", floor
            )
            return
        cases = case_set.cases if case_set is not None and tag is not None else ()
        if cases and not any(tag in case.tags and asked[name].asks(case) for case in cases):
            known = ", ".join(sorted({tag for case in cases for tag in case.tags})) or "none"
            self._add(f"the floor {floor!r} is over no case (tags: {known})", "gate", "floors", floor)

    def _add(self, message: str, *place: str | int) -> None:
        self.problems.append(self.written.problem(message, *place))


def _where(problem: Problem) -> tuple[str, int]:
    return str(problem.file), problem.line or 0
