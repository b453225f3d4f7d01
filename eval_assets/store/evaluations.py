"""Evaluations and their run outputs: in from a journal, out in batches, shrunk to a few numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval_assets.errors import EvaluationIncomplete, JournalCorrupt, NothingMeasured
from eval_assets.model.money import Cost, Price
from eval_assets.model.reports import LatencySummary
from eval_assets.model.runs import Evaluation, Run
from eval_assets.store import loading, queries

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def check_journal(evaluation: Evaluation, journal: Path) -> None:
    """
    Make sure that a journal is of this evaluation, before any of it is loaded.

    Raises:
        NothingMeasured: There is no such file.
        JournalCorrupt: Its first line names no evaluation, or another one.
    """
    try:
        with journal.open("rb") as lines:
            header = json.loads(lines.readline())["evaluation"]["evaluation_id"]
    except FileNotFoundError as error:
        raise NothingMeasured(
            f"there is no journal {journal}; execute evaluation {evaluation.evaluation_id}"
        ) from error
    except (ValueError, TypeError, KeyError) as error:
        raise JournalCorrupt(f"{journal}:1: wanted a journal's header, which names its evaluation") from error
    if header != evaluation.evaluation_id:
        raise JournalCorrupt(f"{journal}:1: is of evaluation {header}, wanted {evaluation.evaluation_id}")


def append(connection: Connection, evaluation: Evaluation, journal: Path, lines: loading.Lines) -> None:
    """
    Load an evaluation; one that the store already holds changes nothing.

    Raises:
        EvaluationIncomplete: The journal has fewer runs, or others, than the evaluation needs.
        JournalCorrupt: A line of the journal cannot be read.
    """
    if find(connection, evaluation.evaluation_id) is not None:
        return
    _load(connection, evaluation, journal, lines)
    counted = queries.first(connection, "count_runs", evaluation_id=evaluation.evaluation_id) or {}
    if counted["finished"] != evaluation.total_runs:
        raise EvaluationIncomplete(
            f"evaluation {evaluation.evaluation_id} of {evaluation.target} has {counted['finished']} of "
            f"{evaluation.total_runs} runs in {journal}; execute it again, which asks only for the rest",
            finished=counted["finished"],
            expected=evaluation.total_runs,
        )
    if counted["lines"] > counted["finished"]:
        queries.run(connection, "drop_repeated_runs", evaluation_id=evaluation.evaluation_id)
    columns = evaluation.model_dump() | {
        "target_spec": queries.to_json(evaluation.target_spec),
        "price": None if evaluation.price is None else queries.to_json(evaluation.price.model_dump()),
    }
    queries.run(connection, "append_evaluation", **columns)


def _load(connection: Connection, evaluation: Evaluation, journal: Path, lines: loading.Lines) -> None:
    import duckdb

    try:
        queries.run(
            connection,
            "load_journal",
            evaluation_id=evaluation.evaluation_id,
            journal=str(lines.path),
            longest_line=lines.longest_line,
        )
    except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
        raise JournalCorrupt(f"{_broken_line(journal)} cannot be loaded: {error}") from error


def _broken_line(journal: Path) -> str:
    """Where the journal breaks; looked up here because DuckDB's own line number may be one off."""
    with journal.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                json.loads(line)
            except ValueError:
                return f"{journal}:{number}"
    return str(journal)


def find(connection: Connection, evaluation_id: str) -> Evaluation | None:
    """The evaluation of an id, None where the store has none."""
    return _evaluation(queries.first(connection, "evaluation", evaluation_id=evaluation_id))


def read(connection: Connection, evaluation_id: str) -> Evaluation:
    """
    The evaluation of an id.

    Raises:
        NothingMeasured: The store has no such evaluation; one that is not whole is in no store.
    """
    evaluation = find(connection, evaluation_id)
    if evaluation is None:
        raise NothingMeasured(f"the store holds no evaluation {evaluation_id}; run its target first")
    return evaluation


def latest(
    connection: Connection,
    suite: str,
    target: str,
    *,
    fingerprint: str | None,
    case_set_hash: str | None,
    live_only: bool,
) -> Evaluation | None:
    """The evaluation of a target that finished last."""
    row = queries.first(
        connection,
        "latest_evaluation",
        suite=suite,
        target=target,
        fingerprint=fingerprint,
        case_set_hash=case_set_hash,
        live_only=live_only,
    )
    return _evaluation(row)


def runs_page(connection: Connection, evaluation: Evaluation, *, after: int, batch: int) -> list[Run]:
    """Up to `batch` runs from place `after` on, ordered as the cases are and by run index."""
    rows = queries.rows(
        connection,
        "runs_page",
        evaluation_id=evaluation.evaluation_id,
        case_set_hash=evaluation.case_set_hash,
        after=after,
        batch=batch,
    )
    return [_run(row) for row in rows]


def latencies(connection: Connection, evaluation_id: str) -> LatencySummary:
    """Nearest-rank percentiles of the known latencies, in nanoseconds."""
    read(connection, evaluation_id)
    return LatencySummary.model_validate(queries.first(connection, "latencies", evaluation_id=evaluation_id))


def unavailable_reasons(connection: Connection, evaluation_id: str) -> dict[str, int]:
    """How many runs were never answered, by reason, the most frequent first."""
    read(connection, evaluation_id)
    rows = queries.rows(connection, "unavailable_reasons", evaluation_id=evaluation_id)
    return {row["reason"]: row["runs"] for row in rows}


def error_count(connection: Connection, evaluation_id: str) -> int:
    """How many runs ended in the target's own error; a run that was never answered is not one."""
    read(connection, evaluation_id)
    return int((queries.first(connection, "error_count", evaluation_id=evaluation_id) or {})["errors"])


def usage_totals(connection: Connection, evaluation_id: str) -> dict[str, int | None]:
    """Tokens over all runs, None where any run's are unknown, and how many runs' are."""
    read(connection, evaluation_id)
    return queries.first(connection, "usage_totals", evaluation_id=evaluation_id) or {}


def cost(connection: Connection, evaluation_id: str) -> Cost | None:
    """What an evaluation cost, as far as it is known; None where nobody said the price."""
    if read(connection, evaluation_id).price is None:
        return None
    return Cost.model_validate(queries.first(connection, "evaluation_cost", evaluation_id=evaluation_id))


def largest_run_cost(connection: Connection, suite: str, target: str, price: Price) -> float | None:
    """What the dearest run of a target's last evaluation costs at a price; None where nothing is known."""
    row = queries.first(connection, "largest_run_cost", suite=suite, target=target, **price.model_dump())
    return None if row is None or row["largest"] is None else float(row["largest"])


def _evaluation(row: queries.Row | None) -> Evaluation | None:
    if row is None:
        return None
    return Evaluation.model_validate(row | {name: queries.from_json(row[name]) for name in ("target_spec", "price")})


def _run(row: queries.Row) -> Run:
    identity = {column: row.pop(column) for column in ("case_name", "case_hash", "run_index", "run_id", "started_at")}
    usage = {column: row.pop(column) for column in ("input_tokens", "output_tokens")}
    stated = queries.from_json(row.pop("stated_trajectory"))
    output: dict[str, Any] = {
        **{column: value for column, value in row.items() if value is not None},
        "messages": queries.from_json(row["messages"]) or (),
        "scores": queries.from_json(row["scores"]) or {},
        "usage": usage,
        "trajectory": stated,
    }
    return Run.model_validate({**identity, "output": output})
