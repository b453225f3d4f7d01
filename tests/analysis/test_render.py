from __future__ import annotations

from collections.abc import Callable

from eval_assets import Report, compare
from eval_assets.analysis import gate, markdown, render

Make = Callable[..., Report]


def test_a_report_shows_every_rate_with_what_it_is_of(make_report: Make) -> None:
    report = make_report({"m": [(3, 4, 6), (10, 10, 0)]})

    text = markdown.markdown(render.report_document(report, title="report of new in demo"))

    assert "| m | 13 | 14 | 20 | 92.9% | 68.5% – 98.7% |" in text
    assert "| c0 | 3/4 +6? |" in text
    assert "not a proof" in text


def test_nothing_scored_is_not_shown_as_a_rate(make_report: Make) -> None:
    text = markdown.markdown(render.report_document(make_report({"m": [(0, 0, 10)]}), title="t"))

    assert "| m | 0 | 0 | 10 | not measured | 0.0% – 100.0% |" in text


def test_a_comparison_says_the_verdict_first(make_report: Make) -> None:
    comparison = compare(make_report({"m": [(90, 100, 0)]}), make_report({"m": [(50, 100, 0)]}))

    text = markdown.markdown(render.comparison_document(comparison, gate.decide(comparison), title="new against old"))

    assert text.startswith("### new against old\n\n**Verdict: regression**\n\nm went from 90/100 (90.0%)")
    assert "| m | 90/100 (90.0%) | 50/100 (50.0%) | -40.0 pp | \\< 0.0001 | \\< 0.0001 | ✗ regression |" in text


def test_an_inconclusive_metric_shows_no_numbers_of_a_test(make_report: Make) -> None:
    comparison = compare(make_report({"m": [(9, 10, 0)]}), make_report({"m": [(0, 0, 10)]}))

    text = markdown.markdown(render.comparison_table(comparison))

    assert "| m | 9/10 (90.0%) | 0 of 10 scored | – | – | – | ? inconclusive |" in text


def test_names_from_outside_cannot_break_a_table(make_report: Make) -> None:
    text = markdown.markdown(render.metric_table(make_report({"contains:a|b\n<img>": [(1, 1, 0)]})))

    assert "contains:a\\|b \\<img\\>" in text
    assert len(text.strip().splitlines()) == 3


def test_very_small_p_is_not_zero(make_report: Make) -> None:
    comparison = compare(make_report({"m": [(900, 1000, 0)]}), make_report({"m": [(100, 1000, 0)]}))

    text = markdown.markdown(render.comparison_table(comparison))

    assert "\\< 0.0001" in text
