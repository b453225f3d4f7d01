from __future__ import annotations

import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest

from eval_assets import Case, CaseSet, Provenance, Report, compare
from eval_assets.analysis import picture, plots, render, summarize
from eval_assets.model.reports import LatencySummary
from eval_assets.model.scores import CaseCount
from eval_assets.model.verdicts import FloorFinding, Verdict

Make = Callable[..., Report]
HREF = "{http://www.w3.org/1999/xlink}href"
SVG = "{http://www.w3.org/2000/svg}"
WRITTEN = ("$x_1$ & <b>", "\\frac{", "]]>\"'--", "名前", "🔥", "&amp;", "é ñ ű")
NASTY = (*WRITTEN, "a\nb\t\x00", "a\u202eb", " ", "\ufffe", "e\u0301\u0301")


def figure(old: Report, new: Report, **options: Any) -> bytes:
    return plots.comparison_figure(compare(old, new, allow_case_set_mismatch=True), old, new, **options)


def drawn(old: Report, new: Report, **options: Any) -> ET.Element:
    return ET.fromstring(figure(old, new, **options))  # noqa: S314 - our own bytes


def words(svg: ET.Element) -> list[str]:
    """Every text that is seen."""
    return ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]


def named(svg: ET.Element) -> dict[str, str]:
    """What each element with an id is called."""
    titles = {group.get("id", ""): group.findtext(f"{SVG}title") for group in svg.iter(f"{SVG}g")}
    return {gid: title for gid, title in titles.items() if title is not None}


def shape(svg: ET.Element, gid: str) -> str:
    """The outline of a mark, rounded: its colour and its place are no part of it."""
    (mark,) = (use for group in svg.iter(f"{SVG}g") if group.get("id") == gid for use in group.iter(f"{SVG}use"))
    outline = next(path.get("d") for path in svg.iter(f"{SVG}path") if f"#{path.get('id')}" == mark.get(HREF))
    return " ".join(str(outline).split())


def size(png: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def tagged(metrics: int, tags: int, *, rate: float = 0.8, name: str = "m{}") -> Report:
    """Metrics with the same rate over 100 runs of a case per tag."""
    case_set = CaseSet(cases=tuple(Case(name=f"c{tag}", input=f"c{tag}", tags=(f"t{tag}",)) for tag in range(tags)))
    rows = [
        CaseCount(case.hash, name.format(metric), round(100 * rate), 100, 0)
        for metric in range(metrics)
        for case in case_set.cases
    ]
    latency = LatencySummary()
    return summarize.summarize(case_set, rows, runs_per_case=100, latency=latency, provenance=Provenance(model_id="m"))


@pytest.fixture
def old(make_report: Make) -> Report:
    counts = {"worse": (90, 100, 0), "better": (60, 100, 0), "same": (43, 100, 0), "unknown": (50, 100, 0)}
    return make_report({metric: [count] for metric, count in counts.items()})


@pytest.fixture
def new(make_report: Make) -> Report:
    counts = {"worse": (60, 100, 0), "better": (90, 100, 0), "same": (41, 100, 0), "unknown": (40, 80, 20)}
    return make_report({metric: [count] for metric, count in counts.items()})


@pytest.mark.parametrize("figure_format", ["svg", "png"])
def test_the_same_comparison_gives_the_same_bytes(old: Report, new: Report, figure_format: str) -> None:
    assert figure(old, new, figure_format=figure_format) == figure(old, new, figure_format=figure_format)


def test_another_process_gives_the_same_bytes() -> None:
    """No date, no random id, no order of a set, and nothing of the settings of whoever asks."""
    program = (
        "import sys, matplotlib\n"
        "matplotlib.rcParams.update({'axes.facecolor': 'red', 'font.size': 40, 'savefig.bbox': 'tight'})\n"
        "from eval_assets import Report, compare\nfrom eval_assets.analysis import plots\n"
        "report = Report.from_json(sys.stdin.read())\n"
        "sys.stdout.buffer.write(plots.comparison_figure(compare(report, report), report, report))\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    report = tagged(2, 2)

    command = [sys.executable, "-c", program]
    other = subprocess.run(command, input=report.to_json().encode(), capture_output=True, check=True)

    assert other.stdout == figure(report, report)


def test_a_png_is_a_png_and_says_what_it_shows(old: Report, new: Report) -> None:
    png = figure(old, new, figure_format="png")

    assert png.startswith(b"\x89PNG")
    assert b"Verdict: regression" in png
    assert b"atplotlib" not in png


def test_findings_have_shapes_and_words_of_their_own(old: Report, new: Report) -> None:
    svg = drawn(old, new)

    findings = ("improvement", "flat", "inconclusive", "regression")
    assert len({shape(svg, f"metric-{number}-{finding}") for number, finding in enumerate(findings)}) == 4
    assert all(shape(svg, f"metric-{number}-new") == shape(svg, f"metric-{number}-old") for number in range(4))
    assert {"improvement", "flat", "regression", "inconclusive, not judged"} <= set(words(svg))


def test_a_significant_change_has_a_star_and_the_word(old: Report, new: Report) -> None:
    svg = drawn(old, new)

    assert {gid for gid in named(svg) if gid.endswith("star")} == {"metric-0-star", "metric-3-star"}
    assert words(svg).count("significant, p < 0.0001") == 2
    assert any(text.startswith("not significant, p = 0.7") for text in words(svg))


def test_each_side_has_its_point_and_its_interval(old: Report, new: Report) -> None:
    names = named(drawn(old, new))

    assert names["metric-3-old"] == "worse, baseline: 90/100 (90.0%), 95 % interval 82.6% to 94.5%"
    assert names["metric-3-new"].startswith("worse, candidate: 60/100 (60.0%), 95 % interval ")
    assert {"metric-3-old-interval", "metric-3-new-interval"} <= names.keys()


def test_baseline_points_are_hollow(old: Report, new: Report) -> None:
    svg = drawn(old, new)

    fills = {}
    for group in svg.iter(f"{SVG}g"):
        if group.get("id") in {"metric-3-old", "metric-3-new"}:
            (use,) = group.iter(f"{SVG}use")
            fills[group.get("id")] = "fill: #ffffff" in (use.get("style") or "")
    assert fills == {"metric-3-old": True, "metric-3-new": False}


def test_the_title_is_the_verdict_and_the_description_is_everything(old: Report, new: Report) -> None:
    svg = drawn(old, new, title="b against a")

    description = svg.findtext(f"{SVG}desc") or ""
    assert svg.findtext(f"{SVG}title") == "Verdict: regression. b against a"
    assert svg.get("aria-labelledby") == "figure-title figure-description"
    assert "worse went from 90/100 (90.0%) to 60/100 (60.0%)" in description
    assert "unknown is inconclusive: 20 of 100 runs unscored in the new report" in description
    assert "1 cases × 10 runs = 10 runs" in description
    assert render.CAUTION in description
    assert {"Verdict: regression", "b against a"} <= set(words(svg))


def test_a_verdict_that_is_given_is_the_one_shown(old: Report) -> None:
    """A floor can block where nothing moved."""
    svg = drawn(old, old, verdict=Verdict(outcome="inconclusive", reasons=("2 of 2 is no evidence",)))

    assert "Verdict: inconclusive" in words(svg)


def test_a_floor_that_blocks_is_said(old: Report) -> None:
    """No row shows a floor, so the verdict would have no reason."""
    floor = FloorFinding(
        floor="same", wanted=0.9, passes=43, scored=100, unscored=0, ci_low=0.3, ci_high=0.5, finding="missed",
        note="is under its floor",
    )  # fmt: skip
    comparison = compare(old, old).model_copy(update={"floors": (floor,)})

    svg = ET.fromstring(plots.comparison_figure(comparison, old, old))  # noqa: S314 - our own bytes

    assert {"Verdict: regression", "4 flat, 1 floor missed"} <= set(words(svg))
    assert "Floor same: is under its floor." in (svg.findtext(f"{SVG}desc") or "")


def test_nothing_scored_has_an_interval_and_no_point(make_report: Make) -> None:
    """A point at 0 % would be a measurement."""
    svg = drawn(make_report({"m": [(9, 10, 0)]}), make_report({"m": [(0, 0, 10)]}))

    assert named(svg)["metric-0-new-interval"].endswith("95 % interval 0.0% to 100.0%")
    assert "metric-0-new" not in named(svg)
    assert {"0 of 10 scored", "inconclusive, not judged", "no scored runs in the new report"} <= set(words(svg))


def test_a_metric_one_report_lacks_is_called_missing(make_report: Make) -> None:
    svg = drawn(make_report({"m": [(9, 10, 0)]}), make_report({}))

    assert "missing" in words(svg)
    assert "metric-0-new-interval" not in named(svg)


def test_a_comparison_of_nothing_is_drawn(make_report: Make) -> None:
    assert {"Verdict: inconclusive", "nothing was compared"} <= set(words(drawn(make_report({}), make_report({}))))


def test_tags_stand_under_their_metric() -> None:
    svg = drawn(tagged(2, 3), tagged(2, 3, rate=0.7))

    assert [name for gid, name in named(svg).items() if gid.startswith("metric-1-tag-") and gid.count("-") == 3] == [
        "t0",
        "t1",
        "t2",
    ]
    assert "a tag, not tested" in words(svg)


def test_only_tags_of_both_reports_are_drawn() -> None:
    old, new = tagged(1, 3), tagged(1, 3)
    new = new.model_copy(update={"by_tag": {"t1": new.by_tag["t1"], "other": new.by_tag["t1"]}})

    assert [row.name for row in _picture(old, new).groups[0].tags] == ["t1"]


def test_tags_of_different_case_sets_are_left_out() -> None:
    """The same tag on other cases is another question."""
    shown = _picture(tagged(1, 2), tagged(1, 3))

    assert shown.groups[0].tags == ()
    assert shown.caption.startswith("Tags are left out: the case sets differ.")


def test_what_was_compared_is_what_is_drawn() -> None:
    """Of different case sets only the shared cases are compared; the report's own rate is not theirs."""
    (group,) = _picture(tagged(1, 2), tagged(1, 3)).groups

    assert group.row.new is not None
    assert (group.row.new.passes, group.row.new.scored) == (160, 200)


def _picture(old: Report, new: Report) -> picture.Picture:
    comparison = compare(old, new, allow_case_set_mismatch=True)
    return picture.picture(comparison, old, new, title="", verdict=None)


@pytest.mark.parametrize("figure_format", ["svg", "png"])
def test_any_name_can_be_drawn(make_report: Make, figure_format: str) -> None:
    """No mathematics, no markup, no warning of a missing glyph."""
    report = make_report({name: [(9, 10, 0)] for name in NASTY})

    assert figure(report, report, title="".join(NASTY), figure_format=figure_format)


def test_names_are_written_as_they_are(make_report: Make) -> None:
    report = make_report({name: [(9, 10, 0)] for name in WRITTEN})

    svg = drawn(report, report, title=WRITTEN[0])

    assert set(WRITTEN) <= set(words(svg))
    assert set(WRITTEN) <= set(named(svg).values())
    assert svg.findtext(f"{SVG}title") == f"Verdict: pass. {WRITTEN[0]}"


def test_a_character_without_a_look_is_shown_by_its_escape(make_report: Make) -> None:
    report = make_report({"a\nb\x00\u202e": [(9, 10, 0)]})

    assert "a\\nb\\x00\\u202e" in words(drawn(report, report))


def test_a_long_name_is_cut_in_its_middle_and_kept_in_full(make_report: Make) -> None:
    name = "answers_" + "very_" * 40 + "politely"
    report = make_report({name: [(9, 10, 0)]})

    svg = drawn(report, report)

    (short,) = (text for text in words(svg) if text.startswith("answers_"))
    assert short.endswith("politely")
    assert "…" in short
    assert named(svg)["metric-0"] == name


def test_a_long_note_is_wrapped_and_kept_in_full(make_report: Make) -> None:
    old, new = make_report({"m": [(9, 10, 0)]}), make_report({"m": [(9, 10, 0)]}, names=["other"])
    comparison = compare(old, new)

    svg = ET.fromstring(plots.comparison_figure(comparison, old, new))  # noqa: S314 - our own bytes

    assert named(svg)["metric-0-note-1"] == comparison.metrics[0].note
    assert any(text.startswith("case sets differ (old") for text in words(svg))


def test_a_picture_grows_with_its_rows() -> None:
    one, many = (figure(report, report, figure_format="png") for report in (tagged(1, 1), tagged(30, 3)))

    assert size(one)[1] < 600
    assert 3000 < size(many)[1] < 7000
    assert size(many)[0] < 2400


def test_tags_give_way_before_metrics_do() -> None:
    report = tagged(60, 4)

    shown = _picture(report, report)

    assert len(shown.groups) == 60
    assert not any(group.tags for group in shown.groups)
    assert shown.caption.startswith("Tags are left out: 300 rows are too many")


def test_the_picture_of_any_number_of_metrics_is_bounded(make_report: Make) -> None:
    """What moved is shown whatever else there is."""
    before = {f"m{number:04}": [(50, 100, 0)] for number in range(300)}
    old, new = make_report(before), make_report({**before, "m0299": [(1, 100, 0)]})

    shown = _picture(old, new)

    assert len(shown.groups) == 200
    assert shown.groups[-1].metric.direction == "regression"
    assert shown.caption.startswith("200 of 300 metrics are shown")


def test_texts_do_not_overlap_and_are_not_cut() -> None:
    """Measured where matplotlib drew them, for long names and large counts."""
    report, worse = (tagged(4, 2, rate=rate, name="a_rather_long_name_of_a_metric_{}") for rate in (0.8, 0.4))

    canvas = plots._draw(_picture(report, worse)).figure  # noqa: SLF001 - the figure behind the bytes

    boxes = [text.get_window_extent() for text in canvas.texts if text.get_text()]
    assert all(box.x0 >= 0 and box.x1 <= canvas.bbox.x1 and box.y0 >= 0 and box.y1 <= canvas.bbox.y1 for box in boxes)
    pairs = [(one, other) for number, one in enumerate(boxes) for other in boxes[number + 1 :]]
    assert not [pair for pair in pairs if pair[0].overlaps(pair[1])]


def test_settings_of_the_process_are_left_alone(old: Report, new: Report) -> None:
    with mpl.rc_context({"font.size": 11.5, "svg.fonttype": "path"}):
        figure(old, new)

        assert (mpl.rcParams["font.size"], mpl.rcParams["svg.fonttype"]) == (11.5, "path")


def test_threads_draw_the_same(old: Report, new: Report) -> None:
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(figure(old, new))) for _ in range(4)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [figure(old, new)] * 4


@pytest.mark.parametrize("module", ["render", "picture", "document", "markdown", "compare", "gate"])
def test_only_plots_imports_matplotlib(module: str) -> None:
    program = f"import sys; import eval_assets.analysis.{module}; sys.exit('matplotlib' in sys.modules)"

    subprocess.run([sys.executable, "-c", program], check=True)
