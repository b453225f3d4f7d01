"""
The Store: every noun's way in and out, each call one short transaction.

What a call does inside its transaction is in the module of its noun; how the file is opened is in `connection`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from eval_assets.errors import NothingMeasured
from eval_assets.model.cases import CaseSet
from eval_assets.model.conformance import StoredConformance
from eval_assets.model.money import Cost, Price
from eval_assets.model.reports import LatencySummary, StoredReport
from eval_assets.model.runs import Evaluation, Run
from eval_assets.model.scores import CaseCount, GovernanceGap, ScoreRow, ScoringTerms
from eval_assets.model.verdicts import Comparison, GatePolicy, Promotion, StoredVerdict, UnavailableAs
from eval_assets.store import (
    case_sets,
    conformance,
    connection,
    evaluations,
    loading,
    reports,
    scores,
    selecting,
    verdicts,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

__all__ = ["Store"]

Answer = TypeVar("Answer")


class Store:
    """
    What was measured, in one DuckDB file that is only ever appended to.

    No call holds the file longer than its own transaction, so threads and processes take turns. Making a Store opens
    nothing; the file is made at the first write. Appending the same id twice keeps the first.

    Every call may raise StoreLocked (someone held the file longer than `wait_s`) and StoreUnreadable (the file is
    damaged, foreign, or newer than this version). Reading what was never stored raises NothingMeasured, except where
    the answer may be None, False or an empty list.
    """

    def __init__(self, path: Path, *, wait_s: float = 30.0) -> None:
        self.path = path
        self.wait_s = wait_s
        self._shared_door: Connection | None = None

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """
        Let every read in the block see the store as of one moment, through one opening of the file.

        Not for work that waits or writes: the file is held meanwhile. One thread at a time per Store.
        """
        if self._shared_door is not None or not self.path.exists():
            yield
            return
        with connection.reading(self.path, wait_s=self.wait_s) as door:
            self._shared_door = door
            try:
                yield
            finally:
                self._shared_door = None

    def append_case_set(self, suite: str, case_set: CaseSet) -> None:
        """Keep the cases of a suite; again only when something about them changed."""
        self._write(lambda door: case_sets.append(door, suite, case_set))

    def case_set(self, case_set_hash: str) -> CaseSet:
        """The case set of a hash, with the tags and expectations it was last kept with."""
        return self._read(lambda door: case_sets.read(door, case_set_hash))

    def append_evaluation(self, evaluation: Evaluation, journal: Path) -> None:
        """
        Keep a finished evaluation and all its runs, from its journal. One that is already kept changes nothing.

        Raises:
            EvaluationIncomplete: The journal lacks runs; nothing was stored.
            JournalCorrupt: A line cannot be read, or the journal is of another evaluation; nothing was stored.
        """
        if self.has_evaluation(evaluation.evaluation_id):
            return
        evaluations.check_journal(evaluation, journal)
        with loading.readable(journal) as lines:
            self._write(lambda door: evaluations.append(door, evaluation, journal, lines))

    def evaluation(self, evaluation_id: str) -> Evaluation:
        return self._read(lambda door: evaluations.read(door, evaluation_id))

    def has_evaluation(self, evaluation_id: str) -> bool:
        return self._find(lambda door: evaluations.find(door, evaluation_id), None) is not None

    def latest_evaluation(
        self,
        suite: str,
        target: str,
        *,
        fingerprint: str | None = None,
        case_set_hash: str | None = None,
        live_only: bool = False,
    ) -> Evaluation | None:
        """
        The evaluation of a target that finished last; of exactly this fingerprint and case set, where given.

        `live_only` passes over those that a cassette answered.
        """
        exactly = {"fingerprint": fingerprint, "case_set_hash": case_set_hash}
        return self._find(
            lambda door: evaluations.latest(door, suite, target, **exactly, live_only=live_only),
            None,
        )

    def runs(self, evaluation_id: str, *, batch: int = 1000) -> Iterator[list[Run]]:
        """
        Every run of an evaluation in lists of up to `batch`, ordered as its cases are and by run index.

        Each list is a transaction of its own: nobody holds the file while a list is worked on.
        """
        evaluation = self.evaluation(evaluation_id)
        for after in range(0, evaluation.total_runs, batch):
            yield self._runs_page(evaluation, after=after, batch=batch)

    def append_scores(
        self,
        evaluation_id: str,
        scoring_id: str,
        metrics: Sequence[str],
        rows: Iterable[ScoreRow],
        scored_at: datetime,
        *,
        governance: Sequence[str] = (),
        judges: Mapping[str, dict[str, Any]] | None = None,
        unavailable_as: UnavailableAs = "unscored",
    ) -> None:
        """
        Keep one scoring of an evaluation. `rows` are taken before the file is opened: they may come from `runs`.

        `governance` are those of the metrics that ask about the outcome; `judges` say by metric who judged;
        `unavailable_as` is what a run that was never answered was to them.
        """
        terms = ScoringTerms(tuple(metrics), tuple(governance), dict(judges or {}), unavailable_as)
        with loading.written(self.path.parent, rows) as (lines, score_count):
            self._write(
                lambda door: scores.append(
                    door, evaluation_id, scoring_id, terms, lines, score_count=score_count, scored_at=scored_at
                )
            )

    def latest_scoring(self, evaluation_id: str) -> str | None:
        return self._find(lambda door: scores.latest(door, evaluation_id), None)

    def scoring_terms(self, scoring_id: str) -> ScoringTerms:
        """The metrics of a scoring, which of them are governance, and who judged."""
        return self._read(lambda door: scores.terms(door, scoring_id))

    def governance_gaps(self, scoring_id: str, governance: Sequence[str]) -> list[GovernanceGap]:
        """How often the outcome stayed compliant although the model erred, per judgement and governance metric."""
        return self._read(lambda door: scores.governance_gaps(door, scoring_id, governance))

    def case_counts(self, scoring_id: str) -> list[CaseCount]:
        """How each case fared on each metric, ordered by case hash and metric."""
        return self._read(lambda door: scores.case_counts(door, scoring_id))

    def latencies(self, evaluation_id: str) -> LatencySummary:
        """Nearest-rank percentiles over the runs whose latency is known, in nanoseconds."""
        return self._read(lambda door: evaluations.latencies(door, evaluation_id))

    def unavailable_reasons(self, evaluation_id: str) -> dict[str, int]:
        """How many runs were never answered, by reason, the most frequent first."""
        return self._read(lambda door: evaluations.unavailable_reasons(door, evaluation_id))

    def error_count(self, evaluation_id: str) -> int:
        """How many runs ended in the target's own error; runs that were never answered are not among them."""
        return self._read(lambda door: evaluations.error_count(door, evaluation_id))

    def usage_totals(self, evaluation_id: str) -> dict[str, int | None]:
        """`input_tokens` and `output_tokens` (None where any run's are unknown) and `runs_without_usage`."""
        return self._read(lambda door: evaluations.usage_totals(door, evaluation_id))

    def cost(self, evaluation_id: str) -> Cost | None:
        """What an evaluation cost in US dollars, as far as its runs said what they used; None without a price."""
        return self._read(lambda door: evaluations.cost(door, evaluation_id))

    def largest_run_cost(self, suite: str, target: str, price: Price) -> float | None:
        """What the dearest run of a target's last evaluation costs at this price; None where nothing is known."""
        return self._find(lambda door: evaluations.largest_run_cost(door, suite, target, price), None)

    def append_report(self, stored: StoredReport, *, scoring_id: str, created_at: datetime) -> None:
        self._write(lambda door: reports.append(door, stored, scoring_id=scoring_id, created_at=created_at))

    def latest_report(self, suite: str, target: str) -> StoredReport | None:
        return self._find(lambda door: reports.latest(door, suite, target), None)

    def report(self, report_id: str) -> StoredReport:
        return self._read(lambda door: reports.read(door, report_id))

    def report_before(self, report_id: str) -> StoredReport | None:
        """The latest report of an earlier evaluation of the same target, described the same way."""
        return self._find(lambda door: reports.before(door, report_id), None)

    def append_conformance(self, stored: StoredConformance) -> None:
        self._write(lambda door: conformance.append(door, stored))

    def latest_conformance(self, suite: str, target: str, *, passed_only: bool = False) -> StoredConformance | None:
        """The last certification of a target; the last that passed, where only those are asked for."""
        return self._find(lambda door: conformance.latest(door, suite, target, passed_only=passed_only), None)

    def append_comparison(
        self,
        comparison_id: str,
        suite: str,
        candidate: str,
        baseline_report_id: str,
        candidate_report_id: str,
        policy: GatePolicy,
        comparison: Comparison,
        compared_at: datetime,
    ) -> None:
        key = {
            "comparison_id": comparison_id,
            "suite": suite,
            "candidate": candidate,
            "baseline_report_id": baseline_report_id,
            "candidate_report_id": candidate_report_id,
        }
        self._write(lambda door: verdicts.append_comparison(door, comparison, policy, compared_at=compared_at, **key))

    def comparison(self, comparison_id: str) -> Comparison:
        return self._read(lambda door: verdicts.comparison(door, comparison_id))

    def append_verdict(self, stored: StoredVerdict) -> None:
        self._write(lambda door: verdicts.append(door, stored))

    def latest_verdict(self, suite: str, candidate: str) -> StoredVerdict | None:
        return self._find(lambda door: verdicts.latest(door, suite, candidate), None)

    def verdict_on(
        self, suite: str, candidate: str, *, baseline_report_id: str, candidate_report_id: str
    ) -> StoredVerdict | None:
        """The latest verdict on exactly these two reports."""
        key = {"baseline_report_id": baseline_report_id, "candidate_report_id": candidate_report_id}
        return self._find(lambda door: verdicts.on(door, suite=suite, candidate=candidate, **key), None)

    def verdicts_after(self, suite: str, *, decided_at: datetime | None, limit: int) -> list[StoredVerdict]:
        """
        The verdicts decided after a moment (None: from the first), in order of (decided_at, verdict_id).

        Verdicts of one moment come together, past `limit` if need be: going on from the last one's moment skips none.
        """
        return self._find(lambda door: verdicts.after(door, suite, decided_at=decided_at, limit=limit), [])

    def append_promotion(self, promotion: Promotion) -> None:
        self._write(lambda door: verdicts.append_promotion(door, promotion))

    def latest_promotion(self, suite: str) -> Promotion | None:
        return self._find(lambda door: verdicts.latest_promotion(door, suite), None)

    def select(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """
        Column names and rows of a user's own select.

        Raises:
            ConfigError: It is not one select, would write or reach a file or the network, or is wrong SQL.
        """
        return self._read(lambda door: selecting.select(door, sql), sealed=True)

    def _runs_page(self, evaluation: Evaluation, *, after: int, batch: int) -> list[Run]:
        return self._read(lambda door: evaluations.runs_page(door, evaluation, after=after, batch=batch))

    def _write(self, work: Callable[[Connection], None]) -> None:
        with connection.writing(self.path, wait_s=self.wait_s) as door:
            work(door)

    def _read(self, work: Callable[[Connection], Answer], *, sealed: bool = False) -> Answer:
        if not self.path.exists():
            raise NothingMeasured(f"there is no store {self.path} yet; run a target of the suite first")
        if self._shared_door is not None and not sealed:
            return work(self._shared_door)
        with connection.reading(self.path, wait_s=self.wait_s, sealed=sealed) as door:
            return work(door)

    def _find(self, work: Callable[[Connection], Answer], empty: Answer) -> Answer:
        return self._read(work) if self.path.exists() else empty
