"""
A comparison as a picture: every rate, old and new, with its interval, on one scale.

The only place that draws, so the only door of matplotlib; whoever wants a picture imports this module where it is
wanted, because the import takes a second. What a picture shows belongs in picture.py.

Everything is placed in inches from the upper left corner and every text is measured before it is placed: nothing
overlaps and nothing is cut, however many metrics there are and whatever they are called.
"""

from __future__ import annotations

import html
import io
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import matplotlib as mpl
from matplotlib import font_manager, style
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.textpath import text_to_path

from eval_assets.analysis import picture
from eval_assets.analysis.picture import FINDINGS, Group, Picture, Row
from eval_assets.model.reports import MetricStat, Report
from eval_assets.model.verdicts import Comparison, Direction, Outcome, Verdict

FigureFormat = Literal["svg", "png"]


class _Look(NamedTuple):
    """How a finding is told apart: by shape first, then by colour. Words always stand beside it."""

    marker: str
    colour: str


_INK, _QUIET, _GRID, _BAND = "#222222", "#5c5c5c", "#d4d4d4", "#f4f5f7"
# Vermilion, blue and purple of Okabe and Ito, darkened until text in them is readable on white.
_VERMILION, _BLUE, _PURPLE = "#b34700", "#00609c", "#8a3d73"
_LOOKS: Mapping[Direction, _Look] = {
    "regression": _Look("v", _VERMILION),
    "improvement": _Look("^", _BLUE),
    "flat": _Look("o", _INK),
    "inconclusive": _Look("D", _PURPLE),
}
_TAG = _Look("s", _QUIET)
_OUTCOMES: Mapping[Outcome, str] = {"pass": _INK, "regression": _VERMILION, "inconclusive": _PURPLE}

_PNG_DPI = 150
_POINTS = 72.0
_TITLE, _PLAIN, _SMALL = 15.0, 9.5, 8.5  # points
_MARGIN, _GAP, _INDENT = 0.3, 0.22, 0.2  # inches, as every length below
_LABEL_WIDTH, _SCALE_WIDTH, _NOTE_WIDTH = 2.9, 4.4, 3.3
_NARROWEST = 9.5
_METRIC_HEIGHT, _TAG_HEIGHT = 0.36, 0.25
_LINE_HEIGHT, _NOTE_HEIGHT, _LEGEND_HEIGHT = 0.2, 0.18, 0.26
_HEADING_HEIGHT, _SCALE_HEIGHT = 0.85, 0.3
_MOST_NOTE_LINES = 3

_SETTINGS = {
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "svg.fonttype": "none",
    "svg.hashsalt": "eval_assets.comparison",
}
_drawing = threading.Lock()  # Settings of matplotlib are of the whole process, so two drawings would mix theirs up.


def comparison_figure(
    comparison: Comparison,
    old: Report,
    new: Report,
    *,
    figure_format: FigureFormat = "svg",
    title: str = "",
    verdict: Verdict | None = None,
) -> bytes:
    """
    Draw a comparison: a row per metric, and under it a row per tag that both reports have.

    Baseline points are hollow, candidate points filled, each with its 95 % interval. Shape and words tell a regression
    from an improvement, a flat metric and one that was not judged. Tags are shown and never tested, so they have a
    shape of their own; those of two different case sets are left out, because they are of different cases.

    Args:
        comparison: What was found.
        old: The baseline's report, for its intervals and tags.
        new: The candidate's report.
        figure_format: `svg` keeps text as text and every full name, `png` is pixels.
        title: What is compared with what; the models of both reports where empty.
        verdict: The verdict shown; None is what the comparison says of itself.

    Returns:
        The file's bytes. The same arguments give the same bytes.
    """
    shown = picture.picture(comparison, old, new, title=title, verdict=verdict)
    with _drawing, style.context(["default", _SETTINGS]):
        return _bytes(_draw(shown), figure_format, shown)


class _Placed(NamedTuple):
    """A metric with its look, its note in lines, and where it begins."""

    group: Group
    look: _Look
    note: tuple[str, ...]
    gid: str
    top: float

    @property
    def height(self) -> float:
        """Notes stand beside the rows of the tags, where a finding would be."""
        return _METRIC_HEIGHT + max(_TAG_HEIGHT * len(self.group.tags), _NOTE_HEIGHT * len(self.note))

    @property
    def bottom(self) -> float:
        return self.top + self.height


def _placed(groups: Iterable[Group], top: float) -> list[_Placed]:
    placed: list[_Placed] = []
    for number, group in enumerate(groups):
        begin = placed[-1].bottom if placed else top
        look = _LOOKS[group.metric.direction]
        placed.append(_Placed(group, look, _note(group.metric.note), f"metric-{number}", begin))
    return placed


def _note(text: str) -> tuple[str, ...]:
    """A note in lines; a hash is known by its beginning."""
    lines = _wrapped(re.sub(r"\b([0-9a-f]{12})[0-9a-f]{20,}\b", r"\1…", text), _NOTE_WIDTH)
    if len(lines) > _MOST_NOTE_LINES:
        return (*lines[: _MOST_NOTE_LINES - 1], f"{lines[_MOST_NOTE_LINES - 1]} …")
    return tuple(lines)


class _Layout(NamedTuple):
    """Where each column is, in inches from the left; the width is what the columns need."""

    label: float
    scale: float
    old: float
    """The right edge, as of every column of numbers."""
    new: float
    change: float
    shape: float
    words: float
    star: float
    sure: float
    width: float

    def at(self, rate: float) -> float:
        """The place of a rate on the scale."""
        return self.scale + _SCALE_WIDTH * rate


def _layout(placed: Sequence[_Placed]) -> _Layout:
    groups = [one.group for one in placed]
    rows = [row for group in groups for row in (group.row, *group.tags)]
    names = [_width(group.row.name, _PLAIN, bold=True) for group in groups]
    tags = [_INDENT + _widest(row.name for row in group.tags) for group in groups]
    scale = _MARGIN + min(max([_width("metric", _SMALL), *names, *tags]), _LABEL_WIDTH) + _GAP
    old = scale + _SCALE_WIDTH + 2 * _GAP + _widest(["baseline", *(picture.counts(row.old) for row in rows)])
    new = old + _GAP + _widest(["candidate", *(picture.counts(row.new) for row in rows)])
    change = new + _GAP + _widest(["change", *(row.change for row in rows)])
    shape = change + _GAP + 0.05
    words = shape + 0.14
    star = words + _widest(FINDINGS[group.metric.direction] for group in groups if group.sure) + 0.16
    sure = star + 0.12
    notes = [line for one in placed for line in one.note]
    end = words + _widest(["finding", *notes, *(FINDINGS[group.metric.direction] for group in groups)])
    end = max(end, sure + _widest(group.sure for group in groups))
    return _Layout(_MARGIN, scale, old, new, change, shape, words, star, sure, max(_NARROWEST, end + _MARGIN))


def _draw(shown: Picture) -> _Sheet:
    layout = _layout(_placed(shown.groups, 0))
    room = layout.width - 2 * _MARGIN
    legend = _legend_lines(room, tags=any(group.tags for group in shown.groups))
    caption = _wrapped(shown.caption, room)
    top = _MARGIN + _HEADING_HEIGHT + _LEGEND_HEIGHT * len(legend) + _SCALE_HEIGHT
    placed = _placed(shown.groups, top)
    bottom = placed[-1].bottom + _SCALE_HEIGHT if placed else top - _SCALE_HEIGHT
    sheet = _Sheet(layout.width, bottom + _LINE_HEIGHT * (len(caption) + 1) + _MARGIN)
    _draw_heading(sheet, shown, room)
    _draw_legend(sheet, legend, _MARGIN + _HEADING_HEIGHT)
    if placed:
        _draw_bands(sheet, placed, layout)
        _draw_scale(sheet, layout, top, placed[-1].bottom)
    for one in placed:
        _draw_metric(sheet, one, layout)
    for number, line in enumerate(caption, start=1):
        sheet.text(_MARGIN, bottom + _LINE_HEIGHT * number, line, _SMALL, colour=_QUIET)
    return sheet


def _draw_heading(sheet: _Sheet, shown: Picture, room: float) -> None:
    sheet.text(_MARGIN, _MARGIN + 0.1, shown.heading, _TITLE, bold=True, colour=_OUTCOMES[shown.outcome])
    sheet.text(_MARGIN, _MARGIN + 0.37, _shortened(shown.title, room, _PLAIN), _PLAIN, gid="heading")
    sheet.name("heading", shown.title)
    sheet.text(_MARGIN, _MARGIN + 0.58, _shortened(shown.tally, room, _PLAIN), _PLAIN, colour=_QUIET)


class _Key(NamedTuple):
    """An entry of the legend: a shape and what it means."""

    look: _Look
    words: str
    filled: bool = True

    @property
    def width(self) -> float:
        return 0.18 + _width(self.words, _SMALL) + 0.25


def _legend_lines(room: float, *, tags: bool) -> list[list[_Key]]:
    """The legend, broken into lines that fit."""
    circle = _Look("o", _QUIET)
    keys = [
        _Key(circle, "hollow: baseline", filled=False),
        _Key(circle, "filled: candidate"),
        *(_Key(look, FINDINGS[direction]) for direction, look in _LOOKS.items()),
        *([_Key(_TAG, "a tag, not tested")] if tags else []),
        _Key(_Look("*", _INK), "significant"),
    ]
    lines: list[list[_Key]] = [[]]
    for key in keys:
        if sum(one.width for one in [*lines[-1], key]) > room:
            lines.append([])
        lines[-1].append(key)
    return lines


def _draw_legend(sheet: _Sheet, lines: Sequence[Sequence[_Key]], top: float) -> None:
    for number, line in enumerate(lines):
        x, y = _MARGIN, top + _LEGEND_HEIGHT * number
        for key in line:
            sheet.mark(x + 0.06, y, key.look, filled=key.filled, size=9 if key.look.marker == "*" else 7)
            sheet.text(x + 0.18, y, key.words, _SMALL)
            x += key.width


def _draw_bands(sheet: _Sheet, placed: Sequence[_Placed], layout: _Layout) -> None:
    """Every second metric stands on a band that its tags share."""
    for one in placed[::2]:
        sheet.box(_MARGIN / 2, one.top, layout.width - _MARGIN, one.height, _BAND)


def _draw_scale(sheet: _Sheet, layout: _Layout, top: float, bottom: float) -> None:
    for rate in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = layout.at(rate)
        sheet.line((x, x), (top, bottom), _GRID, 0.8)
        for y in (top - 0.14, bottom + 0.16):
            sheet.text(x, y, f"{rate:.0%}", _SMALL, colour=_QUIET, align="center")
    sheet.text(layout.label, top - 0.14, "metric", _SMALL, colour=_QUIET)
    for name, x in (("baseline", layout.old), ("candidate", layout.new), ("change", layout.change)):
        sheet.text(x, top - 0.14, name, _SMALL, colour=_QUIET, align="right")
    sheet.text(layout.words, top - 0.14, "finding", _SMALL, colour=_QUIET)


def _draw_metric(sheet: _Sheet, placed: _Placed, layout: _Layout) -> None:
    group, gid = placed.group, placed.gid
    middle = placed.top + _METRIC_HEIGHT / 2
    name = _shortened(group.row.name, _LABEL_WIDTH, _PLAIN, bold=True)
    sheet.text(layout.label, middle, name, _PLAIN, bold=True, gid=gid)
    judged = group.metric.direction != "inconclusive"
    drawn = _RowStyle(placed.look, _INK, 7.5, 1.9, 0.061, judged=judged)
    _draw_row(sheet, group.row, layout, middle, drawn, gid)
    _draw_finding(sheet, placed, layout, middle)
    for number, row in enumerate(group.tags):
        middle = placed.top + _METRIC_HEIGHT + _TAG_HEIGHT * (number + 0.5)
        name = _shortened(row.name, _LABEL_WIDTH - _INDENT, _SMALL)
        sheet.text(layout.label + _INDENT, middle, name, _SMALL, colour=_QUIET, gid=f"{gid}-tag-{number}")
        _draw_row(sheet, row, layout, middle, _RowStyle(_TAG, _QUIET, 5, 1.4, 0.043), f"{gid}-tag-{number}")


class _RowStyle(NamedTuple):
    """How strongly a row is drawn."""

    look: _Look
    ink: str
    size: float
    """Of the points, in points."""
    weight: float
    """Of the candidate's interval, in points."""
    apart: float
    """How far baseline and candidate are from the row's middle, in inches."""
    judged: bool = True


def _draw_row(sheet: _Sheet, row: Row, layout: _Layout, middle: float, drawn: _RowStyle, gid: str) -> None:
    sheet.name(gid, row.name)
    _draw_side(sheet, row.old, layout, middle - drawn.apart, drawn, f"{gid}-old", f"{row.name}, baseline")
    _draw_side(sheet, row.new, layout, middle + drawn.apart, drawn, f"{gid}-new", f"{row.name}, candidate")
    change = row.change if drawn.judged else "–"
    columns = ((picture.counts(row.old), layout.old), (picture.counts(row.new), layout.new), (change, layout.change))
    for text, x in columns:
        sheet.text(x, middle, text, _SMALL, colour=drawn.ink, align="right")


def _draw_side(
    sheet: _Sheet, stat: MetricStat | None, layout: _Layout, y: float, drawn: _RowStyle, gid: str, name: str
) -> None:
    """An interval and the point in it. Where nothing was scored there is an interval and no point."""
    if stat is None:
        return
    candidate = gid.endswith("-new")
    look = drawn.look if candidate else drawn.look._replace(colour=_QUIET)
    weight = drawn.weight if candidate else drawn.weight * 0.7
    ends = (layout.at(stat.ci_low), layout.at(stat.ci_high))
    said = f"{name}: {picture.counts(stat)}, {picture.interval(stat)}"
    sheet.line(ends, (y, y), look.colour, weight, dashed=not drawn.judged or bool(stat.unscored), gid=f"{gid}-interval")
    sheet.name(f"{gid}-interval", said)
    for end in ends:
        sheet.line((end, end), (y - 0.03, y + 0.03), look.colour, weight)
    if stat.scored:
        sheet.mark(layout.at(stat.rate), y, look, filled=candidate, size=drawn.size, gid=gid)
        sheet.name(gid, said)


def _draw_finding(sheet: _Sheet, placed: _Placed, layout: _Layout, middle: float) -> None:
    metric, look, gid = placed.group.metric, placed.look, placed.gid
    words = FINDINGS[metric.direction]
    sheet.mark(layout.shape, middle, look, filled=True, size=7.5, gid=f"{gid}-{metric.direction}")
    sheet.name(f"{gid}-{metric.direction}", words)
    sheet.text(layout.words, middle, words, _SMALL, colour=look.colour)
    if metric.significant:
        sheet.mark(layout.star, middle, look._replace(marker="*"), filled=True, size=9, gid=f"{gid}-star")
        sheet.name(f"{gid}-star", "significant")
    sheet.text(layout.sure, middle, placed.group.sure, _SMALL, colour=look.colour)
    for number, line in enumerate(placed.note, start=1):
        note = f"{gid}-note-{number}"
        sheet.text(layout.words, middle + _NOTE_HEIGHT * number, line, _SMALL, colour=_QUIET, gid=note)
        sheet.name(note, metric.note)


class _Sheet:
    """A figure measured in inches from its upper left corner."""

    def __init__(self, width: float, height: float) -> None:
        self.height = height
        self.figure = Figure(figsize=(width, height), dpi=_PNG_DPI, facecolor="white")
        self.names: dict[str, str] = {}
        """What an element is called in full, by its id."""
        self.texts: dict[str, str] = {}
        """What an element says, by its id, where the font cannot say it."""

    def name(self, gid: str, text: str) -> None:
        self.names[gid] = _printable(text)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        *,
        bold: bool = False,
        colour: str = _INK,
        align: Literal["left", "center", "right"] = "left",
        gid: str | None = None,
    ) -> None:
        drawn, place = _drawable(text), gid or f"text-{len(self.figure.texts)}"
        if drawn != _printable(text):
            self.texts[place] = _printable(text)
        artist = Text(
            x,
            self.height - y - 0.36 * size / _POINTS,
            drawn,
            color=colour,
            fontproperties=_font(size, bold=bold),
            horizontalalignment=align,
            verticalalignment="baseline",
            parse_math=False,
            transform=self.figure.dpi_scale_trans,
            gid=place,
        )
        self.figure.add_artist(artist)

    def mark(self, x: float, y: float, look: _Look, *, filled: bool, size: float, gid: str | None = None) -> None:
        line = Line2D(
            [x],
            [self.height - y],
            linestyle="none",
            marker=look.marker,
            markersize=size,
            markeredgewidth=1.2,
            markeredgecolor=look.colour,
            markerfacecolor=look.colour if filled else "white",
            transform=self.figure.dpi_scale_trans,
            clip_on=False,
            gid=gid,
            zorder=4,
        )
        self.figure.add_artist(line)

    def line(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        colour: str,
        width: float,
        *,
        dashed: bool = False,
        gid: str | None = None,
    ) -> None:
        line = Line2D(
            x,
            [self.height - end for end in y],
            color=colour,
            linewidth=width,
            linestyle=(0, (2.5, 1.5)) if dashed else "solid",
            solid_capstyle="butt",
            transform=self.figure.dpi_scale_trans,
            clip_on=False,
            gid=gid,
            zorder=3 if gid else 2,
        )
        self.figure.add_artist(line)

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        corner = (x, self.height - y - height)
        band = Rectangle(corner, width, height, color=colour, linewidth=0, transform=self.figure.dpi_scale_trans)
        self.figure.add_artist(band)


def _bytes(sheet: _Sheet, figure_format: FigureFormat, shown: Picture) -> bytes:
    written = io.BytesIO()
    title = _printable(f"{shown.heading}. {shown.title}")
    description = "\n".join(map(_printable, shown.description.split("\n")))
    if figure_format == "png":
        # Software is the version of matplotlib: with it, an upgrade that draws the same would change the bytes.
        facts = {"Software": None, "Title": title, "Description": description}
        sheet.figure.savefig(written, format="png", dpi=_PNG_DPI, metadata=facts)
        return written.getvalue()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    sheet.figure.savefig(written, format="svg", metadata=nothing)
    return _accessible(written.getvalue().decode(), sheet, title, description).encode()


def _accessible(svg: str, sheet: _Sheet, title: str, description: str) -> str:
    """Give the picture and each thing in it a name, and write the letters that the font did not have."""
    svg = re.sub(r'(<g id="([^"]+)">\s*<text[^>]*>)[^<]*', lambda found: _said(found, sheet), svg)
    svg = re.sub(r'<g id="([^"]+)">', lambda found: found[0] + _titled(sheet.names.get(found[1])), svg)
    svg = svg.replace("<svg ", '<svg role="img" aria-labelledby="figure-title figure-description" ', 1)
    opening_end = svg.index(">", svg.index("<svg ")) + 1
    named = (
        f'\n <title id="figure-title">{_escaped(title)}</title>'
        f'\n <desc id="figure-description">{_escaped(description)}</desc>'
    )
    return svg[:opening_end] + named + svg[opening_end:]


def _said(found: re.Match[str], sheet: _Sheet) -> str:
    text = sheet.texts.get(found[2])
    return found[0] if text is None else found[1] + _escaped(text)


def _titled(name: str | None) -> str:
    return "" if name is None else f"<title>{_escaped(name)}</title>"


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)


def _printable(text: str) -> str:
    """Show what has no look of its own, such as a line end or a character XML forbids, by its escape."""
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in text)


def _drawable(text: str) -> str:
    """What the font can draw of a text: a letter it lacks becomes its escape, which two names still differ by."""
    return "".join(letter if _in_font(letter) else _escape(letter) for letter in _printable(text))


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


@lru_cache(maxsize=4096)
def _in_font(letter: str) -> bool:
    return all(font_manager.get_font(str(_font_file(bold=bold))).get_char_index(ord(letter)) for bold in (False, True))


def _font_file(*, bold: bool) -> Path:
    """The font that comes with matplotlib, because a picture must not depend on the machine it is made on."""
    return Path(mpl.get_data_path()) / "fonts" / "ttf" / ("DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf")


@lru_cache(maxsize=16)
def _font(size: float, *, bold: bool = False) -> font_manager.FontProperties:
    return font_manager.FontProperties(fname=str(_font_file(bold=bold)), size=size, weight="bold" if bold else "normal")


@lru_cache(maxsize=4096)
def _width(text: str, size: float, *, bold: bool = False) -> float:
    """How wide a text is drawn, in inches."""
    drawn = _drawable(text)
    width, _, _ = text_to_path.get_text_width_height_descent(drawn, _font(size, bold=bold), ismath=False)
    return width / _POINTS


def _shortened(text: str, room: float, size: float, *, bold: bool = False) -> str:
    """A text that fits, cut in its middle, because names of a family begin alike and differ at their ends."""
    if _width(text, size, bold=bold) <= room:
        return text
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        kept = (fits + too_long) // 2
        fits, too_long = (kept, too_long) if _width(_cut(text, kept), size, bold=bold) <= room else (fits, kept)
    return _cut(text, fits)


def _cut(text: str, kept: int) -> str:
    """The beginning and the end of a text, `kept` letters of it."""
    end = kept // 2
    return f"{text[: kept - end]}…{text[len(text) - end :]}"


def _widest(texts: Iterable[str]) -> float:
    return max((_width(text, _SMALL) for text in texts), default=0.0)


def _wrapped(text: str, room: float) -> list[str]:
    """Lines of whole words; a word that is too long for a line is shortened."""
    lines: list[str] = []
    for word in text.split():
        fitting = _shortened(word, room, _SMALL)
        longer = f"{lines[-1]} {fitting}" if lines else fitting
        if lines and _width(longer, _SMALL) <= room:
            lines[-1] = longer
        else:
            lines.append(fitting)
    return lines
