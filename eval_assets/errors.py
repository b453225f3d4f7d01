"""
Every error the package raises, and nothing else.

    EvalError
    ├── ConfigError              what was asked for cannot be done; every problem at once, with file and line
    ├── FormatError              a document is not of the layout it claims, or cannot be true
    ├── OutOfRange               a number outside the range a formula is defined on
    ├── NothingMeasured          a step needs a report, an evaluation or a verdict that does not exist
    ├── EvaluationIncomplete     runs are missing, so there is nothing to summarize yet
    ├── EvaluationHeld           another process is executing this evaluation
    ├── JournalCorrupt           a journal holds a line that is neither whole nor torn off at the end
    ├── StoreError               the store cannot be used
    │   ├── StoreLocked          another process held the DuckDB file for longer than we wait
    │   └── StoreUnreadable      the file is not a DuckDB database, or not one of ours
    ├── PromotionRefused         no passing verdict of exactly the reports to promote
    └── GateError                a comparison that does not pass
        ├── Regression           a metric got worse by more than chance
        ├── Inconclusive         a metric was not measured well enough to say
        └── RegressionAndInconclusive   both, on different metrics

A failure of the *target* is no error here: it is data (`RunOutput.error`), and so is a metric that
could not do its job (`Unscored`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


class EvalError(Exception):
    """Root of every error this package raises on purpose."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with what a user wrote: where, what was found, what was wanted."""

    message: str
    file: Path | None = None
    line: int | None = None

    def __str__(self) -> str:
        if self.file is None:
            return self.message
        place = str(self.file) if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}"


class ConfigError(EvalError):
    """What was asked for cannot be done; `problems` lists every reason, found before any target is called."""

    def __init__(self, problems: str | Problem | Iterable[Problem]) -> None:
        if isinstance(problems, str):
            problems = [Problem(problems)]
        elif isinstance(problems, Problem):
            problems = [problems]
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class FormatError(EvalError):
    """A document is not of the layout it claims to be, or holds numbers that cannot be true."""


class OutOfRange(EvalError):
    """A number outside the range a formula is defined on; nothing was computed."""


class NothingMeasured(EvalError):
    """A step needs something that was never measured: a report, an evaluation or a verdict."""


class EvaluationIncomplete(EvalError):
    """Runs are missing. What finished is kept in the journal; executing again asks only for the rest."""

    def __init__(self, message: str, *, finished: int, expected: int, reason: str = "interrupted") -> None:
        super().__init__(message)
        self.finished = finished
        self.expected = expected
        self.reason = reason
        """`interrupted`, or `budget` where spending reached the suite's budget."""


class EvaluationHeld(EvalError):
    """Another process is executing this evaluation; two would pay for the same runs twice."""

    def __init__(self, message: str, *, holder: str) -> None:
        super().__init__(message)
        self.holder = holder


class JournalCorrupt(EvalError):
    """A journal line that is not the torn last one cannot be read; the file is left as it is."""


class StoreError(EvalError):
    """The store cannot be used."""


class StoreLocked(StoreError):
    """Another process held the DuckDB file for longer than we wait; `holder` says who, as DuckDB names it."""

    def __init__(self, message: str, *, holder: str) -> None:
        super().__init__(message)
        self.holder = holder


class StoreUnreadable(StoreError):
    """The file is damaged, is not a DuckDB database, or was written by a newer version of this package."""


class PromotionRefused(EvalError):
    """There is no passing verdict of exactly the reports that would be promoted."""


class GateError(EvalError):
    """A comparison does not pass. `metrics` names every offending metric."""

    def __init__(self, message: str, *, metrics: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.metrics = metrics


class Regression(GateError):
    """At least one metric got worse by more than chance."""


class Inconclusive(GateError):
    """At least one metric was not measured well enough to be compared. Never a pass."""


class RegressionAndInconclusive(Regression, Inconclusive):
    """Some metrics got worse and others were not measured; caught as either."""
