from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eval_assets import ConfigError, FormatError, MetricComparison, Report, compare
from eval_assets.analysis.compare import compare_under
from eval_assets.model.verdicts import GatePolicy
from eval_assets.stats import multiplicity, pooled

Make = Callable[..., Report]


def only(old: Report, new: Report, **options: Any) -> MetricComparison:
    (metric,) = compare(old, new, **options).metrics
    return metric


def test_a_clear_drop_is_a_regression(make_report: Make) -> None:
    found = only(make_report({"m": [(90, 100, 0)]}), make_report({"m": [(60, 100, 0)]}))

    assert found.direction == "regression"
    assert found.significant
    assert found.rate_delta == pytest.approx(-0.3)
    assert found.p_value == pytest.approx(pooled.two_proportions(90, 100, 60, 100))


def test_a_clear_rise_is_an_improvement(make_report: Make) -> None:
    assert only(make_report({"m": [(60, 100, 0)]}), make_report({"m": [(90, 100, 0)]})).direction == "improvement"


def test_a_small_change_is_flat(make_report: Make) -> None:
    found = only(make_report({"m": [(43, 100, 0)]}), make_report({"m": [(41, 100, 0)]}))

    assert (found.direction, found.note) == ("flat", "")
    assert found.p_value == pytest.approx(0.7744690587, abs=1e-9)


def test_p_is_corrected_over_the_metrics_that_were_compared(make_report: Make) -> None:
    """An inconclusive metric is no test, so it does not weigh on the others."""
    old = make_report({"a": [(90, 100, 0)], "b": [(50, 100, 0)], "gone": [(9, 10, 0)]})
    new = make_report({"a": [(79, 100, 0)], "b": [(51, 100, 0)]})

    a, b, gone = compare(old, new).metrics

    raw = [pooled.two_proportions(90, 100, 79, 100), pooled.two_proportions(50, 100, 51, 100)]
    assert [a.adjusted_p, b.adjusted_p] == pytest.approx(multiplicity.benjamini_hochberg(raw).tolist())
    assert (gone.direction, gone.p_value, gone.adjusted_p) == ("inconclusive", 1.0, 1.0)


INCONCLUSIVE: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"m": [(5, 10, 0)]}, {}, "missing from the new report"),
    ({}, {"m": [(5, 10, 0)]}, "missing from the old report"),
    ({"m": [(5, 10, 0)]}, {"m": [(0, 0, 10)]}, "no scored runs in the new report"),
    ({"m": [(0, 0, 10)]}, {"m": [(5, 10, 0)]}, "no scored runs in the old report"),
    ({"m": [(0, 0, 10)]}, {"m": [(0, 0, 10)]}, "no scored runs in the old or the new report"),
    ({"m": [(5, 10, 0)]}, {"m": [(9, 9, 1)]}, "1 of 10 runs unscored in the new report (10.0%, tolerance 0.0%)"),
    ({"m": [(9, 9, 1)]}, {"m": [(5, 10, 0)]}, "1 of 10 runs unscored in the old report (10.0%, tolerance 0.0%)"),
]


@pytest.mark.parametrize(("old", "new", "note"), INCONCLUSIVE)
def test_what_was_not_measured_is_inconclusive(
    make_report: Make, old: dict[str, Any], new: dict[str, Any], note: str
) -> None:
    found = only(make_report(old), make_report(new))

    assert found.note == note
    assert (found.direction, found.significant, found.rate_delta) == ("inconclusive", False, 0.0)
    assert (found.p_value, found.adjusted_p) == (1.0, 1.0)


def test_unscored_within_tolerance_is_compared(make_report: Make) -> None:
    found = only(make_report({"m": [(90, 100, 0)]}), make_report({"m": [(50, 90, 10)]}), unscored_tolerance=0.1)

    assert found.direction == "regression"


def test_a_metric_expected_and_in_neither_report_blocks(make_report: Make) -> None:
    reports = make_report({"m": [(5, 10, 0)]}), make_report({"m": [(5, 10, 0)]})

    found = compare_under(GatePolicy(test="pooled"), *reports, expected=["m", "added later"]).metrics[0]

    assert (found.metric, found.direction) == ("added later", "inconclusive")
    assert found.note == "missing from the old report and missing from the new report"


def test_different_case_sets_are_never_compared(make_report: Make) -> None:
    old, new = make_report({"m": [(5, 10, 0)]}, ["hard"]), make_report({"m": [(10, 10, 0)]}, ["easy"])

    found = only(old, new)

    assert found.direction == "inconclusive"
    assert found.note.startswith("case sets differ")
    assert old.provenance.case_set_hash in found.note
    assert new.provenance.case_set_hash in found.note


def test_allowed_mismatch_compares_only_what_is_shared(make_report: Make) -> None:
    old = make_report({"m": [(9, 10, 0), (0, 10, 0)]}, ["shared", "old only"])
    new = make_report({"m": [(1, 10, 0), (10, 10, 0)]}, ["shared", "new only"])

    found = only(old, new, allow_case_set_mismatch=True)

    assert (found.old_passes, found.old_scored, found.new_passes, found.new_scored) == (9, 10, 1, 10)
    assert "1 shared case(s)" in found.note
    assert found.direction == "regression"


def test_allowed_mismatch_that_shares_nothing_is_inconclusive(make_report: Make) -> None:
    old, new = make_report({"m": [(5, 10, 0)]}, ["a"]), make_report({"m": [(5, 10, 0)]}, ["b"])

    found = only(old, new, allow_case_set_mismatch=True)

    assert found.direction == "inconclusive"
    assert "share no case" in found.note


def without_hashes(report: Report) -> Report:
    cases = tuple(case.model_copy(update={"hash": ""}) for case in report.cases)
    provenance = report.provenance.model_copy(update={"case_set_hash": ""})
    return report.model_copy(update={"cases": cases, "provenance": provenance})


@pytest.mark.parametrize("allow", [False, True])
def test_reports_that_know_no_hash_are_never_the_same_cases(make_report: Make, allow: bool) -> None:
    report = without_hashes(make_report({"m": [(5, 10, 0)]}))

    found = only(report, report, allow_case_set_mismatch=allow)

    assert found.direction == "inconclusive"
    assert "old none, new none" in found.note


def test_only_the_gate_s_metrics_are_compared(make_report: Make) -> None:
    report = make_report({"a": [(5, 10, 0)], "b": [(5, 10, 0)]})

    assert [metric.metric for metric in compare(report, report, metrics=["b"]).metrics] == ["b"]


def test_a_report_of_another_format_is_refused(make_report: Make) -> None:
    report = make_report({"m": [(5, 10, 0)]})
    other = Report.model_construct(**{**report.__dict__, "format": "other"})

    with pytest.raises(FormatError, match="the new report's format is 'other'"):
        compare(report, other)


def test_an_unknown_test_is_refused(make_report: Make) -> None:
    report = make_report({"m": [(5, 10, 0)]})

    with pytest.raises(ConfigError, match="stratified"):
        compare(report, report, test="no_such_test")  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=6))
def test_swapping_reports_mirrors(make_report: Make, counts: list[tuple[int, int]]) -> None:
    old = make_report({f"m{n}": [(a, 40, 0)] for n, (a, _) in enumerate(counts)})
    new = make_report({f"m{n}": [(b, 40, 0)] for n, (_, b) in enumerate(counts)})

    there, back = compare(old, new).metrics, compare(new, old).metrics

    mirror = {"regression": "improvement", "improvement": "regression", "flat": "flat"}
    assert [mirror[metric.direction] for metric in there] == [metric.direction for metric in back]
    assert [metric.p_value for metric in there] == pytest.approx([metric.p_value for metric in back])
    assert all(metric.adjusted_p >= metric.p_value for metric in there)


def test_all_three_tests_are_kept_and_one_decides(make_report: Make) -> None:
    old = make_report({"m": [(5, 5, 0)] * 10})
    new = make_report({"m": [(5, 5, 0)] * 8 + [(0, 5, 0)] * 2})

    for test in ("pooled", "stratified", "sign_flip"):
        found = only(old, new, test=test)

        tests = found.extensions["tests"]
        assert set(tests) == {"pooled", "stratified", "sign_flip"}
        assert found.p_value == tests[test]["p_value"]
        assert found.adjusted_p == tests[test]["adjusted_p"]
        assert all(each["smallest_p"] <= each["p_value"] for each in tests.values())


def test_a_disagreement_is_said_in_words(make_report: Make) -> None:
    """Two cases broke for good: these cases changed, others like them might not."""
    old = make_report({"m": [(5, 5, 0)] * 10})
    new = make_report({"m": [(5, 5, 0)] * 8 + [(0, 5, 0)] * 2})

    found = only(old, new, test="stratified")

    assert found.direction == "regression"
    assert "the tests disagree: no change for cases like these (sign_flip); few cases moved" in found.note


def test_a_pair_of_runs_per_case_is_tested_as_a_pair(make_report: Make) -> None:
    """C12: 30 cases only the baseline passes, 12 only the candidate: 0.008 as pairs, 0.074 as two samples."""
    pairs = [(1, 1)] * 120 + [(0, 0)] * 58 + [(1, 0)] * 30 + [(0, 1)] * 12
    old = make_report({"m": [(a, 1, 0) for a, _ in pairs]}, runs=1)
    new = make_report({"m": [(b, 1, 0) for _, b in pairs]}, runs=1)

    found = only(old, new, test="stratified")

    tests = found.extensions["tests"]
    assert found.direction == "regression"
    mcnemar_mid_p = 2 * stats.binom.cdf(12, 42, 0.5) - stats.binom.pmf(12, 42, 0.5)
    assert tests["stratified"]["p_value"] == pytest.approx(mcnemar_mid_p, abs=1e-9)
    assert tests["pooled"]["p_value"] == pytest.approx(0.074, abs=5e-4)


def with_copies(report: Report, metric: str, effective: tuple[int, int]) -> Report:
    counts = {case.hash: effective for case in report.cases}
    extensions = {**report.extensions, "effective_counts": {metric: counts}}
    return Report.model_validate({**report.model_dump(), "extensions": extensions})


def test_copies_count_once_for_the_stratified_test(make_report: Make) -> None:
    """C12: the same file five times over must not shrink p."""
    once = make_report({"m": [(1, 1, 0)] * 6}, runs=1), make_report({"m": [(0, 1, 0)] * 6}, runs=1)
    old = with_copies(make_report({"m": [(5, 5, 0)] * 6}, runs=5), "m", (1, 1))
    new = with_copies(make_report({"m": [(0, 5, 0)] * 6}, runs=5), "m", (0, 1))

    found, plain = only(old, new, test="stratified"), only(*once, test="stratified")

    assert found.p_value == plain.p_value
    assert "60 runs are 12 effective ones" in found.note
    assert "counts as evidence all the same" in only(old, new, test="pooled").note


def test_a_margin_must_be_ruled_out(make_report: Make) -> None:
    few = make_report({"m": [(9, 10, 0)] * 4})
    many = make_report({"m": [(900, 1000, 0)] * 4}, runs=1000)

    unsure, sure = (only(report, report, test="stratified", margin=0.05) for report in (few, many))

    assert (unsure.direction, sure.direction) == ("inconclusive", "flat")
    assert "a drop of 5 points is not ruled out" in unsure.note
    assert "runs per arm would settle it" in unsure.note
    assert sure.extensions["drop_ruled_out"]["holds"]


def judged_by(report: Report, model: str) -> Report:
    judges = {"m": {"model": model, "rubric_sha256": "0" * 64}}
    return report.model_copy(update={"extensions": {**report.extensions, "judges": judges}})


def test_different_judges_are_never_compared(make_report: Make) -> None:
    """C09: what differs between two judges is not the candidate."""
    report = make_report({"m": [(5, 10, 0)]})

    found = only(judged_by(report, "judge-1"), judged_by(report, "judge-2"))

    assert found.direction == "inconclusive"
    assert "judged by different judges (old judge-1" in found.note
    assert only(judged_by(report, "judge-1"), judged_by(report, "judge-1")).direction == "flat"


def test_cases_of_one_report_only_are_named(make_report: Make) -> None:
    old, new = make_report({"m": [(2, 5, 0)] * 2}, ["x", "gone"]), make_report({"m": [(5, 5, 0)] * 2}, ["x", "fresh"])

    comparison = compare(old, new)

    assert comparison.extensions["only_in_old"] == ["gone"]
    assert comparison.extensions["only_in_new"] == ["fresh"]
    assert "only in the old report: gone; only in the new report: fresh" in comparison.metrics[0].note


def test_flat_says_what_it_could_have_seen(make_report: Make) -> None:
    report = make_report({"m": [(43, 100, 0)]})

    found = only(report, report, test="stratified").extensions["tests"]["stratified"]

    assert 0.15 < found["smallest_drop"] < 0.25
    assert found["smallest_p"] < 1e-20


def test_settings_out_of_range_are_refused(make_report: Make) -> None:
    report = make_report({"m": [(5, 10, 0)]})

    for settings in ({"alpha": 0}, {"alpha": float("nan")}, {"unscored_tolerance": -1}, {"margin": 1}):
        with pytest.raises(ConfigError, match=next(iter(settings))):
            compare(report, report, **settings)
