"""Evaluations and run outputs come out of the store as they went in, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from eval_assets.errors import EvaluationIncomplete, JournalCorrupt, NothingMeasured
from eval_assets.model.cases import CaseSet
from eval_assets.model.reports import LatencySummary
from eval_assets.model.runs import Evaluation, Run, RunOutput, ToolCall, Trajectory, Usage
from eval_assets.store.store import Store
from tests.store.made import START, answered, journal_lines, made_evaluation, made_runs, write_journal


def keep(
    store: Store,
    evaluation: Evaluation,
    case_set: CaseSet,
    folder: Path,
    output: Callable[[int], RunOutput] = answered,
) -> list[Run]:
    runs = made_runs(evaluation, case_set, output)
    journal = write_journal(folder / f"{evaluation.evaluation_id}.jsonl", journal_lines(evaluation, reversed(runs)))
    store.append_case_set(evaluation.suite, case_set)
    store.append_evaluation(evaluation, journal)
    return runs


def talkative(place: int) -> RunOutput:
    call = {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": '{"a": 1.0}'}}
    return RunOutput(
        final="ünï\u2028\x00 \U0001f600 \\ud800",
        messages=(
            {"role": "user", "content": "big 12345678901234567890123 and 1.0", "n": 1.5},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "x"}]},
        ),
        usage=Usage(input_tokens=None, output_tokens=3),
        latency_s=None,
        error="own error" if place == 0 else None,
        trace_error="unreadable" if place == 1 else None,
        finish_reason="stop",
        response_id=f"r{place}",
        attempts=2,
        scores={"reward": True, "other": None},
        trajectory=Trajectory(steps=3, tool_calls=(ToolCall(name="stated", arguments="{}"),)) if place == 2 else None,
    )


def test_runs_come_back_as_they_went_in_ordered_as_cases_are(
    store: Store, evaluation: Evaluation, case_set: CaseSet, tmp_path: Path
) -> None:
    runs = keep(store, evaluation, case_set, tmp_path, talkative)

    batches = list(store.runs(evaluation.evaluation_id, batch=4))

    assert [len(batch) for batch in batches] == [4, 2]
    assert [run for batch in batches for run in batch] == runs


def test_an_evaluation_comes_back_as_it_went_in(
    store: Store, evaluation: Evaluation, case_set: CaseSet, tmp_path: Path
) -> None:
    keep(store, evaluation, case_set, tmp_path)

    assert store.evaluation(evaluation.evaluation_id) == evaluation
    assert store.has_evaluation(evaluation.evaluation_id)


def test_steps_and_tool_calls_can_be_asked_in_sql(
    store: Store, evaluation: Evaluation, case_set: CaseSet, tmp_path: Path
) -> None:
    keep(store, evaluation, case_set, tmp_path, talkative)

    _, rows = store.select("select steps, tool_calls from run_outputs order by response_id limit 2")

    assert rows == [(1, ["lookup"]), (None, None)]


def test_the_same_evaluation_twice_is_kept_once(
    store: Store, evaluation: Evaluation, case_set: CaseSet, tmp_path: Path
) -> None:
    keep(store, evaluation, case_set, tmp_path)
    keep(store, evaluation, case_set, tmp_path)

    assert store.select("select count(*) from run_outputs")[1] == [(6,)]


def test_a_journal_that_lacks_a_run_stores_nothing(
    store: Store, evaluation: Evaluation, case_set: CaseSet, tmp_path: Path
) -> None:
    runs = made_runs(evaluation, case_set, answered)
    journal = write_journal(tmp_path / "j.jsonl", journal_lines(evaluation, [*runs[1:], runs[1]]))

    with pytest.raises(EvaluationIncomplete, match="5 of 6") as raised:
        store.append_evaluation(evaluation, journal)

    assert (raised.value.finished, raised.value.expected) == (5, 6)
    assert store.select("select count(*) from run_outputs")[1] == [(0,)]
    assert not store.has_evaluation(evaluation.evaluation_id)


def test_of_a_run_journaled_twice_the_first_line_counts(
    store: Store, evaluation: Evaluation, case_set: CaseSet, tmp_path: Path
) -> None:
    runs = made_runs(evaluation, case_set, answered)
    again = runs[0].model_copy(update={"output": RunOutput(final="again")})
    journal = write_journal(tmp_path / "j.jsonl", journal_lines(evaluation, [*runs, again]))

    store.append_evaluation(evaluation, journal)

    # No case set was kept, so the runs come in the order of case hashes.
    assert [run for batch in store.runs(evaluation.evaluation_id) for run in batch] == sorted(
        runs, key=lambda run: (run.case_hash, run.run_index)
    )


def test_an_unreadable_line_is_named_and_stores_nothing(
    store: Store, evaluation: Evaluation, case_set: CaseSet, tmp_path: Path
) -> None:
    journal = write_journal(tmp_path / "j.jsonl", journal_lines(evaluation, made_runs(evaluation, case_set, answered)))
    with journal.open("a") as lines:
        lines.write("not json\n")

    with pytest.raises(JournalCorrupt, match=r"j\.jsonl:8 "):
        store.append_evaluation(evaluation, journal)

    assert not store.has_evaluation(evaluation.evaluation_id)


def test_the_journal_of_another_evaluation_is_refused(store: Store, case_set: CaseSet, tmp_path: Path) -> None:
    other = made_evaluation(case_set, number=2)
    journal = write_journal(tmp_path / "j.jsonl", journal_lines(other, made_runs(other, case_set, answered)))

    with pytest.raises(JournalCorrupt, match="is of evaluation evaluation-2, wanted evaluation-1"):
        store.append_evaluation(made_evaluation(case_set), journal)


@pytest.mark.parametrize("header", ["", "[]", "not json", '{"run": 1}'])
def test_a_file_without_a_header_is_no_journal(
    store: Store, evaluation: Evaluation, tmp_path: Path, header: str
) -> None:
    journal = tmp_path / "j.jsonl"
    journal.write_text(header + "\n")

    with pytest.raises(JournalCorrupt, match=r"j\.jsonl:1"):
        store.append_evaluation(evaluation, journal)


def test_half_a_surrogate_pair_becomes_a_replacement_character(
    store: Store, evaluation: Evaluation, case_set: CaseSet, tmp_path: Path
) -> None:
    lines = journal_lines(evaluation, made_runs(evaluation, case_set, answered))
    lines[1]["run"]["output"]["final"] = "half \ud83d, whole \U0001f600, written \\ud83d"
    store.append_case_set("support", case_set)

    store.append_evaluation(evaluation, write_journal(tmp_path / "j.jsonl", lines))

    first = next(store.runs(evaluation.evaluation_id))[0]
    assert first.output.final == "half \ufffd, whole \U0001f600, written \\ud83d"
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".loading")] == []


def test_a_line_of_any_length_is_loaded(
    store: Store, evaluation: Evaluation, case_set: CaseSet, tmp_path: Path
) -> None:
    """read_json refuses lines of more than 16 MiB unless it is told."""
    long = "x" * (17 << 20)

    keep(store, evaluation, case_set, tmp_path, lambda place: RunOutput(final=long if place == 3 else "short"))

    assert store.select("select max(length(final)) from run_outputs")[1] == [(17 << 20,)]


def test_a_journal_in_a_folder_that_looks_like_a_pattern_is_loaded(
    store: Store, evaluation: Evaluation, case_set: CaseSet, tmp_path: Path
) -> None:
    folder = tmp_path / "a[b]*?"
    folder.mkdir()

    runs = keep(store, evaluation, case_set, folder)

    assert list(store.runs(evaluation.evaluation_id)) == [runs]


def test_the_latest_evaluation_is_the_one_that_finished_last(store: Store, case_set: CaseSet, tmp_path: Path) -> None:
    first, second = made_evaluation(case_set, number=1), made_evaluation(case_set, number=2)
    keep(store, second, case_set, tmp_path)
    keep(store, first, case_set, tmp_path)

    assert store.latest_evaluation("support", "prod") == second
    assert store.latest_evaluation("support", "prod", fingerprint="fingerprint-1") == first
    assert store.latest_evaluation("support", "prod", case_set_hash="other") is None
    assert store.latest_evaluation("support", "other") is None


def test_latencies_are_nearest_rank_in_nanoseconds(store: Store, case_set: CaseSet, tmp_path: Path) -> None:
    """Of 0.1 … 2.0 s, index 10 is 1.1 s and index 19 is 2.0 s; errors took 0.1, 0.2 and 0.3 s."""
    evaluation = made_evaluation(case_set, runs_per_case=7)
    outputs = [
        RunOutput(latency_s=(place + 1) / 10, error="no" if place < 3 else None, unavailable=place == 2)
        for place in range(20)
    ]
    keep(store, evaluation, case_set, tmp_path, lambda place: [*outputs, RunOutput(final="unknown")][place])

    summary = store.latencies(evaluation.evaluation_id)

    assert summary == LatencySummary(
        p50=1_100_000_000, p95=2_000_000_000, errored_p50=200_000_000, errored_p95=300_000_000
    )


def test_unknown_latencies_and_tokens_are_unknown(
    store: Store, evaluation: Evaluation, case_set: CaseSet, tmp_path: Path
) -> None:
    keep(store, evaluation, case_set, tmp_path, talkative)

    assert store.latencies(evaluation.evaluation_id) == LatencySummary()
    assert store.usage_totals(evaluation.evaluation_id) == {
        "input_tokens": None,
        "output_tokens": 18,
        "runs_without_usage": 6,
    }


def test_unavailable_runs_and_own_errors_are_counted_apart(
    store: Store, evaluation: Evaluation, case_set: CaseSet, tmp_path: Path
) -> None:
    outputs = [
        RunOutput(error="HTTP 503", unavailable=True),
        RunOutput(error="HTTP 503", unavailable=True),
        RunOutput(error="timeout", unavailable=True),
        RunOutput(error="own"),
        RunOutput(final="fine"),
        RunOutput(final="fine"),
    ]
    keep(store, evaluation, case_set, tmp_path, outputs.__getitem__)

    assert store.unavailable_reasons(evaluation.evaluation_id) == {"HTTP 503": 2, "timeout": 1}
    assert store.error_count(evaluation.evaluation_id) == 1


def test_what_was_never_stored_is_nothing_measured(store: Store, case_set: CaseSet) -> None:
    with pytest.raises(NothingMeasured, match="no store"):
        store.evaluation("none")
    store.append_case_set("support", case_set)

    for ask in (store.evaluation, store.latencies, store.unavailable_reasons, store.error_count, store.usage_totals):
        with pytest.raises(NothingMeasured, match="holds no evaluation none"):
            ask("none")
    with pytest.raises(NothingMeasured, match="holds no evaluation none"):
        next(store.runs("none"))


def test_times_are_in_utc(store: Store, evaluation: Evaluation, case_set: CaseSet, tmp_path: Path) -> None:
    keep(store, evaluation, case_set, tmp_path)

    stored = store.evaluation(evaluation.evaluation_id)

    assert json.loads(stored.model_dump_json())["started_at"] == evaluation.model_dump(mode="json")["started_at"]
    assert next(store.runs(evaluation.evaluation_id))[0].started_at == START
