from __future__ import annotations

from eval_assets import Case, CaseSet, Provenance
from eval_assets.analysis import summarize
from eval_assets.model.reports import LatencySummary, Report
from eval_assets.model.scores import CaseCount

CASES = CaseSet(
    cases=(
        Case(name="a", input="1", tags=("hard", "refund", "hard")),
        Case(name="b", input="2", tags=("hard",)),
        Case(name="c", input="3"),
    )
)
A, B, C = (case.hash for case in CASES.cases)


def summarized(*counts: CaseCount) -> Report:
    return summarize.summarize(
        CASES,
        counts,
        runs_per_case=4,
        latency=LatencySummary(p50=5, p95=9, errored_p50=7),
        provenance=Provenance(model_id="m", case_set_hash="stale"),
    )


def test_overall_is_the_sum_of_its_cases() -> None:
    report = summarized(CaseCount(A, "m", 1, 4, 0), CaseCount(B, "m", 4, 4, 0), CaseCount(C, "m", 0, 2, 2))

    stat = report.overall["m"]
    assert (stat.passes, stat.scored, stat.unscored, stat.rate) == (5, 10, 2, 0.5)
    assert report.total_runs == 12


def test_a_repeated_tag_counts_once() -> None:
    report = summarized(CaseCount(A, "m", 1, 4, 0), CaseCount(B, "m", 4, 4, 0))

    assert report.by_tag["hard"]["m"].scored == 8
    assert report.by_tag["refund"]["m"].passes == 1


def test_a_metric_is_absent_where_it_was_not_asked() -> None:
    report = summarized(CaseCount(A, "m", 1, 4, 0), CaseCount(C, "other", 2, 4, 0))

    assert [set(case.metrics) for case in report.cases] == [{"m"}, set(), {"other"}]
    assert set(report.by_tag["hard"]) == {"m"}


def test_nothing_scored_is_a_rate_of_nothing() -> None:
    stat = summarized(CaseCount(A, "m", 0, 0, 4)).overall["m"]

    assert (stat.rate, stat.ci_low, stat.ci_high) == (0.0, 0.0, 1.0)


def test_provenance_has_the_hash_of_the_cases_asked() -> None:
    assert summarized().provenance == Provenance(model_id="m", case_set_hash=CASES.hash)


def test_latency_of_errored_runs_stands_apart() -> None:
    report = summarized()

    assert (report.latency_p50, report.latency_p95) == (5, 9)
    assert report.extensions["latency_errored_p50"] == 7
