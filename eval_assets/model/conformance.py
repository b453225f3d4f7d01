"""
What a certification found: per case whether a target does what an evaluation will rely on.

A report is a noun here because it will be stored; judging, comparing and showing one is analysis/conformance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from pydantic import Field, ValidationError, model_validator

from eval_assets.errors import FormatError
from eval_assets.model import json_values
from eval_assets.model.base import Noun
from eval_assets.model.cases import Message

CONFORMANCE_FORMAT = "eval_assets.conformance.v1"
"""Names the JSON layout of a conformance report; any other is refused, never guessed at."""

_SCORE_TOLERANCE = 1e-9  # A score is a quotient of two integers; only its last bits may differ.


class CaseConformance(Noun):
    """How a target did on one case. It passed, it failed, or it was not measured and so is not certified either."""

    id: str = Field(min_length=1)
    """The case's name."""
    passed: bool
    failures: tuple[str, ...] = ()
    """What the answer left unmet, a sentence each."""
    error: str | None = None
    """The target's own error, or why it was unavailable."""
    unmeasured: str | None = None
    """Why nothing is known: the target was unavailable, or its tool calls cannot be read. No failure, and no pass."""
    latency_s: float | None = Field(default=None, ge=0)
    """Seconds from asking to the answer. None where unknown."""
    tool_called: str | None = None
    """The tool that was called: the expected one if it was among them, else the first."""
    expected_tool: bool = False
    """The case expects a tool call."""
    called_any_tool: bool | None = False
    """A tool was called. None where the calls are unknown."""
    correct_tool: bool | None = False
    """The expected tool was called. None where the calls are unknown."""
    notes: tuple[str, ...] = ()
    """What was put up with, and what to know: arguments that came as an object, an answer that was cut off."""
    reply: tuple[Message, ...] = ()
    """What came back, as OpenAI chat messages: the assistant's and the tools'."""

    @model_validator(mode="after")
    def _can_be_true(self) -> CaseConformance:
        if self.passed == bool(self.failures or self.unmeasured):
            raise ValueError(f"{self.id} states passed={self.passed}, but {list(self.failures) or self.unmeasured}")
        if self.failures and self.unmeasured:
            raise ValueError(f"{self.id} states both failures and that it was not measured; only one can be")
        return self


class ConformanceReport(Noun):
    """The results of one certification. Evidence that a target is fit to be evaluated, not that it is good."""

    format: Literal["eval_assets.conformance.v1"] = "eval_assets.conformance.v1"
    target: str = ""
    """The target's name, where it has one."""
    certified_at: datetime | None = None
    """When it began, with a time zone."""
    score: float | None = Field(ge=0, le=1)
    """The share of measured cases that passed. None where none was measured."""
    results: tuple[CaseConformance, ...] = Field(min_length=1)
    """One per case, in the order of the cases."""

    @classmethod
    def of(
        cls, results: Iterable[CaseConformance], *, target: str = "", certified_at: datetime | None = None
    ) -> ConformanceReport:
        """Make a report of results."""
        kept = tuple(results)
        return cls(target=target, certified_at=certified_at, score=_score(kept), results=kept)

    @model_validator(mode="after")
    def _can_be_true(self) -> ConformanceReport:
        ids = [result.id for result in self.results]
        if repeated := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"ids repeat: {', '.join(repeated)}")
        score = _score(self.results)
        if (self.score is None) != (score is None) or not math.isclose(
            self.score or 0, score or 0, abs_tol=_SCORE_TOLERANCE
        ):
            raise ValueError(f"the score is {self.score}, but the results make it {score}")
        return self

    @property
    def passed(self) -> bool:
        """Whether every case passed. A case that was not measured certifies nothing."""
        return all(result.passed for result in self.results)

    @property
    def passing(self) -> tuple[CaseConformance, ...]:
        """The cases that passed."""
        return tuple(result for result in self.results if result.passed)

    @property
    def failing(self) -> tuple[CaseConformance, ...]:
        """The cases that were measured and failed."""
        return tuple(result for result in self.results if result.failures)

    @property
    def unmeasured(self) -> tuple[CaseConformance, ...]:
        """The cases about which nothing is known."""
        return tuple(result for result in self.results if result.unmeasured)

    def to_json(self) -> str:
        """The report as JSON; the same report gives the same bytes."""
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, *, source: str = "the conformance report") -> ConformanceReport:
        """
        Read a report.

        Raises:
            FormatError: Not JSON, another format, or results that cannot be true; every reason is listed.
        """
        try:
            document = json_values.parse(text)
            found = document.get("format") if isinstance(document, dict) else None
            if found != CONFORMANCE_FORMAT:
                raise FormatError(f"{source} cannot be used: the format is {found!r}, wanted {CONFORMANCE_FORMAT!r}")
            return cls.model_validate(document)
        except ValidationError as error:
            reasons = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            raise FormatError(f"{source} cannot be used: {reasons.removeprefix(': ')}") from error
        except ValueError as error:
            raise FormatError(f"{source} is not JSON: {error}") from error


class StoredConformance(Noun):
    """A certification as the store keeps it: of which target, as it was described then, by which cases."""

    certification_id: str
    suite: str
    target: str
    target_fingerprint: str
    cases_digest: str
    """Hash of the cases asked, expectations and tools included."""
    report: ConformanceReport


def _score(results: tuple[CaseConformance, ...]) -> float | None:
    measured = [result for result in results if not result.unmeasured]
    return sum(result.passed for result in measured) / len(measured) if measured else None
