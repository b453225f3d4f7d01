"""What was measured: a stat, a case's stats, and the report of one evaluation in the layout `bide.eval.report.v2`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from eval_assets.errors import FormatError
from eval_assets.model.base import Noun
from eval_assets.model.runs import Provenance

REPORT_FORMAT = "bide.eval.report.v2"
"""Names the JSON layout of a report; a report of any other format is refused, never guessed at."""


_EFFECTIVE_COUNTS = TypeAdapter(dict[str, dict[str, tuple[int, int]]])


class LatencySummary(Noun):
    """Nearest-rank percentiles in nanoseconds; None where no such run's latency is known."""

    p50: int | None = None
    """Over every run."""
    p95: int | None = None
    errored_p50: int | None = None
    """Over runs that ended in an error or were never answered; they say how long failing takes."""
    errored_p95: int | None = None


_RATE_TOLERANCE = 1e-9  # Rates are a quotient of two integers; only the last bits may differ between languages.


class MetricStat(Noun):
    """How often a metric passed, over the runs it could score."""

    passes: int = Field(ge=0)
    scored: int = Field(ge=0)
    """Runs the metric passed or failed."""
    unscored: int = Field(ge=0)
    """Runs it could not score. They move neither the rate nor the interval, and block a verdict."""
    rate: float = Field(ge=0, le=1)
    """passes / scored; 0 where nothing was scored, with the interval [0, 1]: no evidence."""
    ci_low: float = Field(ge=0, le=1)
    ci_high: float = Field(ge=0, le=1)

    @model_validator(mode="after")
    def _can_be_true(self) -> MetricStat:
        if self.passes > self.scored:
            raise ValueError(f"{self.passes} passes of {self.scored} scored runs cannot be")
        rate = self.passes / self.scored if self.scored else 0.0
        if not math.isclose(self.rate, rate, abs_tol=_RATE_TOLERANCE):
            raise ValueError(f"the rate is {self.rate}, but {self.passes} of {self.scored} is {rate}")
        if not self.ci_low - _RATE_TOLERANCE <= self.rate <= self.ci_high + _RATE_TOLERANCE:
            raise ValueError(f"the interval [{self.ci_low}, {self.ci_high}] does not hold the rate {self.rate}")
        return self

    @property
    def expected(self) -> int:
        """Runs the metric was asked of, scored or not."""
        return self.scored + self.unscored


class CaseReport(Noun):
    """One case's stats."""

    name: str
    hash: str = ""
    """The case's own hash; empty in reports older than it. Empty hashes match nothing."""
    metrics: dict[str, MetricStat]


class Report(Noun):
    """The stats of one evaluation: per case, per tag, overall; latency; provenance. Evidence, not a verdict."""

    format: str
    """Always `REPORT_FORMAT`."""
    runs_per_case: int = Field(ge=1)
    total_runs: int = Field(ge=0)
    cases: tuple[CaseReport, ...]
    overall: dict[str, MetricStat]
    by_tag: dict[str, dict[str, MetricStat]] = Field(default_factory=dict)
    latency_p50: int | None = Field(default=None, ge=0)
    """Nanoseconds, nearest rank over all runs of known latency. None where no run's latency is known."""
    latency_p95: int | None = Field(default=None, ge=0)
    provenance: Provenance
    extensions: dict[str, Any] = Field(default_factory=dict)
    """What this project adds to the layout."""

    @model_validator(mode="before")
    @classmethod
    def _is_this_layout(cls, data: Any) -> Any:
        found = data.get("format") if isinstance(data, Mapping) else None
        if found != REPORT_FORMAT:
            raise ValueError(f"the format is {found!r}, wanted {REPORT_FORMAT!r}")
        # Go writes an absent map or list as null, and leaves out an empty by_tag.
        empty: dict[str, Any] = {"cases": (), "overall": {}, "by_tag": {}, "extensions": {}}
        return {**data, **{key: value for key, value in empty.items() if data.get(key) is None}}

    @model_validator(mode="after")
    def _overall_is_the_sum(self) -> Report:
        sums = sum_counts(case.metrics for case in self.cases)
        stated = {name: (stat.passes, stat.scored, stat.unscored) for name, stat in self.overall.items()}
        for name in sorted(sums.keys() | stated.keys()):
            if sums.get(name, (0, 0, 0)) != stated.get(name):
                raise ValueError(
                    f"overall {name!r} is {stated.get(name)} (passes, scored, unscored), "
                    f"but its cases add up to {sums.get(name, (0, 0, 0))}"
                )
        return self

    @model_validator(mode="after")
    def _effective_counts_can_be_true(self) -> Report:
        by_hash = {case.hash: case for case in self.cases if case.hash}
        for metric, by_case in self.effective_counts.items():
            for case_hash, (passes, scored) in by_case.items():
                stat = by_hash[case_hash].metrics.get(metric) if case_hash in by_hash else None
                if stat is None or not 0 <= passes <= scored <= stat.scored or passes > stat.passes:
                    raise ValueError(
                        f"effective counts {passes} of {scored} of {metric!r} do not fit case {case_hash!r}"
                    )
        return self

    def effective(self, case: CaseReport, metric: str) -> tuple[int, int]:
        """(passes, scored) of a case on a metric, copies counted once; (0, 0) where it was not asked."""
        stat = case.metrics.get(metric)
        if stat is None:
            return 0, 0
        fewer = self.effective_counts.get(metric, {}).get(case.hash)
        return (stat.passes, stat.scored) if fewer is None else fewer

    @cached_property
    def effective_counts(self) -> dict[str, dict[str, tuple[int, int]]]:
        """(passes, scored) with copies counted once, by metric and case hash; only of the cases that have copies."""
        found = self.extensions.get("effective_counts") or {}
        try:
            return _EFFECTIVE_COUNTS.validate_python(found)
        except ValidationError as error:
            raise ValueError(f"extensions.effective_counts cannot be read: {error.errors()[0]['msg']}") from error

    @property
    def unavailable_as(self) -> str:
        """What a run that was never answered was to every metric: `unscored` or `fail`."""
        return str(self.extensions.get("unavailable_as") or "unscored")

    def to_json(self) -> str:
        """The report as JSON; the same report gives the same bytes."""
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, *, source: str = "the report") -> Report:
        """
        Read a report this package or the Go package wrote.

        Raises:
            FormatError: Not JSON, another format, or numbers that cannot be true; every reason is listed.
        """
        try:
            return cls.model_validate(json.loads(text, parse_constant=_refuse_constant))
        except ValidationError as error:
            reasons = "; ".join(_reason(detail) for detail in error.errors())
            raise FormatError(f"{source} cannot be used: {reasons}") from error
        except ValueError as error:
            raise FormatError(f"{source} is not JSON: {error}") from error

    @classmethod
    def from_file(cls, path: Path) -> Report:
        """Read a report from a file; the file is named in errors."""
        return cls.from_json(path.read_bytes(), source=str(path))


class StoredReport(Noun):
    """A report as the store keeps it: which evaluation it is of, and the id that comparisons and promotions name."""

    report_id: str
    suite: str
    target: str
    evaluation_id: str
    target_fingerprint: str
    report: Report

    @property
    def replayed_from(self) -> str | None:
        """The cassette that answered, where one did: such a report is no new evidence."""
        found = self.report.extensions.get("replayed_from")
        return None if found is None else str(found)


def sum_counts(stats: Iterable[Mapping[str, MetricStat]]) -> dict[str, tuple[int, int, int]]:
    """Add up (passes, scored, unscored) by metric."""
    sums: dict[str, tuple[int, int, int]] = {}
    for by_metric in stats:
        for name, stat in by_metric.items():
            passes, scored, unscored = sums.get(name, (0, 0, 0))
            sums[name] = (passes + stat.passes, scored + stat.scored, unscored + stat.unscored)
    return sums


def _reason(detail: Any) -> str:
    place = ".".join(str(part) for part in detail["loc"])
    return f"{place}: {detail['msg']}" if place else str(detail["msg"])


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")
