"""What the picture of a comparison shows, before anyone decides how it looks: rows, words and what is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from eval_assets.analysis import render, summarize
from eval_assets.model import verdicts
from eval_assets.model.reports import MetricStat, Report
from eval_assets.model.verdicts import Comparison, Direction, MetricComparison, Outcome, Verdict

FINDINGS: Mapping[Direction, str] = {
    "regression": "regression",
    "improvement": "improvement",
    "flat": "flat",
    "inconclusive": "inconclusive, not judged",
}
"""A finding in words."""

_MOST_ROWS = 200  # A picture taller than this is not looked at, and a backend refuses one of 65,536 pixels.
_SMALLEST_SHOWN = 0.0001  # A p is never 0, however it rounds.


class Row(NamedTuple):
    """Two stats side by side: of a metric, or of a metric in the cases of one tag."""

    name: str
    old: MetricStat | None
    """None where the report does not have it."""
    new: MetricStat | None

    @property
    def change(self) -> str:
        """How far the rate moved; a dash where one of them is unknown."""
        if self.old is None or self.new is None or not self.old.scored or not self.new.scored:
            return "–"
        return f"{100 * (self.new.rate - self.old.rate):+.1f} pp"


class Group(NamedTuple):
    """A metric: its row, what was found, and the rows of its tags, which are shown and never tested."""

    row: Row
    metric: MetricComparison
    tags: tuple[Row, ...]

    @property
    def sure(self) -> str:
        """How sure the finding is; empty where nothing was tested."""
        if self.metric.direction == "inconclusive":
            return ""
        p_value = self.metric.adjusted_p
        said = f"p = {p_value:.4f}" if p_value >= _SMALLEST_SHOWN else f"p < {_SMALLEST_SHOWN}"
        return f"significant, {said}" if self.metric.significant else f"not significant, {said}"


class Picture(NamedTuple):
    """Everything a picture says."""

    outcome: Outcome
    title: str
    tally: str
    """How many metrics there are of each finding."""
    groups: tuple[Group, ...]
    caption: str

    @property
    def heading(self) -> str:
        """The verdict, as the picture's title says it."""
        return f"Verdict: {self.outcome}"

    @property
    def description(self) -> str:
        """The picture for whoever cannot see it."""
        found = [f"{verdicts.sentence(group.metric)}." for group in self.groups]
        return "\n".join([f"{self.heading}. {self.title}: {self.tally}.", *found, self.caption])


def picture(comparison: Comparison, old: Report, new: Report, *, title: str, verdict: Verdict | None) -> Picture:
    """Select what is shown: every metric with the tags both reports have, as far as a picture can hold them."""
    groups, left_out = _select(comparison, old, new)
    return Picture(
        outcome=(verdict or comparison).outcome,
        title=title or _models(old, new),
        tally=_tally(comparison),
        groups=groups,
        caption=" ".join([*_floors(comparison), *left_out, *_caption(comparison, old, new)]),
    )


def counts(stat: MetricStat | None) -> str:
    """A stat in the room of a table's cell."""
    if stat is None:
        return "missing"
    if not stat.scored:
        return f"0 of {stat.unscored} scored"
    missing = f" +{stat.unscored}?" if stat.unscored else ""
    return f"{stat.passes}/{stat.scored}{missing} ({render.percent(stat.rate)})"


def interval(stat: MetricStat) -> str:
    """A stat's interval in words."""
    return f"95 % interval {render.percent(stat.ci_low)} to {render.percent(stat.ci_high)}"


def _select(comparison: Comparison, old: Report, new: Report) -> tuple[tuple[Group, ...], list[str]]:
    """The groups there is room for, and sentences on what is not shown. Tags give way before metrics do."""
    metrics = _most_important(comparison.metrics)
    left_out = []
    if len(metrics) < len(comparison.metrics):
        left_out.append(f"{len(metrics)} of {len(comparison.metrics)} metrics are shown, flat ones left out first.")
    tags = [tag for tag in old.by_tag if tag in new.by_tag]
    if tags and old.provenance.case_set_hash != new.provenance.case_set_hash:
        left_out.append("Tags are left out: the case sets differ.")
        tags = []
    groups = tuple(_group(metric, old, new, tags) for metric in metrics)
    size = sum(1 + len(group.tags) for group in groups)
    if size > _MOST_ROWS:
        left_out.append(f"Tags are left out: {size} rows are too many for a picture.")
        groups = tuple(group._replace(tags=()) for group in groups)
    return groups, left_out


def _most_important(metrics: Sequence[MetricComparison]) -> list[MetricComparison]:
    """The first `_MOST_ROWS` by finding, in the order they came in."""
    order: tuple[Direction, ...] = ("regression", "inconclusive", "improvement", "flat")
    by_finding = sorted(range(len(metrics)), key=lambda place: order.index(metrics[place].direction))
    return [metrics[place] for place in sorted(by_finding[:_MOST_ROWS])]


def _group(metric: MetricComparison, old: Report, new: Report, tags: Iterable[str]) -> Group:
    name = metric.metric
    row = Row(
        name,
        _compared(old.overall.get(name), metric.old_passes, metric.old_scored, metric.old_unscored),
        _compared(new.overall.get(name), metric.new_passes, metric.new_scored, metric.new_unscored),
    )
    return Group(row, metric, tuple(_tag_rows(name, old, new, tags)))


def _tag_rows(metric: str, old: Report, new: Report, tags: Iterable[str]) -> Iterator[Row]:
    for tag in tags:
        before, after = old.by_tag[tag].get(metric), new.by_tag[tag].get(metric)
        if before and after:
            yield Row(tag, before, after)


def _compared(stat: MetricStat | None, passes: int, scored: int, unscored: int) -> MetricStat | None:
    """The counts that were compared. They are fewer than the report's where only the shared cases were."""
    if stat and (stat.passes, stat.scored, stat.unscored) == (passes, scored, unscored):
        return stat
    return summarize.stat(passes, scored, unscored) if scored + unscored else None


def _models(old: Report, new: Report) -> str:
    ours, theirs = (report.provenance.model_id or "model unknown" for report in (new, old))
    return f"candidate ({ours}) against baseline ({theirs})"


def _tally(comparison: Comparison) -> str:
    directions = [metric.direction for metric in comparison.metrics]
    found = ((direction, directions.count(direction)) for direction in FINDINGS)
    said = [f"{count} {_plural(direction, count)}" for direction, count in found if count] or ["nothing was compared"]
    floors = {"missed": comparison.missed_floors, "not settled": comparison.open_floors}
    said += [f"{len(those)} floor{'s' if len(those) > 1 else ''} {words}" for words, those in floors.items() if those]
    return ", ".join(said)


def _plural(direction: Direction, count: int) -> str:
    many = count > 1 and direction in {"regression", "improvement"}
    return f"{FINDINGS[direction]}{'s' if many else ''}"


def _floors(comparison: Comparison) -> list[str]:
    """The floors that keep the candidate from passing; no row shows them."""
    offending = (*comparison.missed_floors, *comparison.open_floors)
    return [f"Floor {floor.floor}: {floor.note.rstrip('.')}." for floor in offending]


def _caption(comparison: Comparison, old: Report, new: Report) -> list[str]:
    facts = {name: comparison.extensions.get(name) for name in ("test", "alpha")}
    method = "".join(f", {name} {fact}" for name, fact in facts.items() if fact is not None)
    return [
        _size("Baseline", old),
        _size("Candidate", new),
        "Lines are 95 % intervals, dashed where runs are unscored or the metric was not judged.",
        f"p is adjusted over the metrics compared (Benjamini-Hochberg{method}).",
        render.CAUTION,
    ]


def _size(side: str, report: Report) -> str:
    return f"{side}: {len(report.cases)} cases × {report.runs_per_case} runs = {report.total_runs} runs."
