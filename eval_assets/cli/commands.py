"""One function per command: read the arguments, call the pipeline, print what render returns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eval_assets.cli import files, showing
from eval_assets.cli.showing import Outputs, Shown

if TYPE_CHECKING:
    from eval_assets.model.reports import StoredReport
    from eval_assets.pipeline import Workspace

_SUITE = click.argument("suite", type=click.Path(exists=True, path_type=Path))
_FILE = click.Path(dir_okay=False, path_type=Path)
_JSON = click.option("--json", "json_file", callback=files.writable, metavar="F", help="Write JSON to F; - is stdout.")
_MARKDOWN = click.option(
    "--markdown", "markdown_file", callback=files.writable, metavar="F", help="Write Markdown to F; - is stdout."
)
_FIGURE = click.option(
    "--figure", "figure_file", callback=files.drawable, metavar="F", help="Draw the comparison in F, a .svg or .png."
)

_WHY = 'eval-assets sql "select metric, reason, count(*) from latest_scores where passed is null group by all"'


@click.command()
def demo() -> None:
    """Show the whole job on this machine: a local agent server, a baseline, candidates, verdicts, promotions."""
    from eval_assets.cli import terminal
    from eval_assets.demo import job

    job.run(show=terminal.show)


@click.command()
@_SUITE
def check(suite: Path) -> None:
    """Validate a suite, its cases and its targets; every problem at once, with file and line."""
    from eval_assets import pipeline
    from eval_assets.errors import ConfigError, Problem

    workspace = pipeline.open_workspace(suite)
    found: list[Problem] = []
    for target in workspace.suite.targets:
        try:
            pipeline.check_target(workspace.suite, target)
        except ConfigError as error:
            found.extend(error.problems)
    if found:
        raise ConfigError(dict.fromkeys(found))
    loaded = workspace.suite
    click.echo(
        f"{loaded.path} is valid: {len(loaded.case_set.cases)} cases × {loaded.runs} runs, "
        f"{len(loaded.metrics)} metrics, baseline {loaded.baseline}, "
        f"candidates {', '.join(loaded.candidates) or 'none'}, case set {loaded.case_set.hash[:12]}"
    )


@click.command()
@_SUITE
@click.argument("target")
@click.option("--new", is_flag=True, help="Begin a new evaluation even where one was interrupted.")
@click.option("--record", type=_FILE, metavar="F", help="Record every HTTP exchange in the cassette F.")
@click.option("--replay", type=_FILE, metavar="F", help="Answer from the cassette F; nothing is asked of anyone.")
@_JSON
def run(suite: Path, target: str, *, new: bool, record: Path | None, replay: Path | None, json_file: str | None) -> int:
    """
    Run every case against TARGET, score the runs and summarize them into a report.

    An interrupted evaluation of the same target is resumed. Exit code 3 when a run got no answer.
    """
    from eval_assets import pipeline
    from eval_assets.cli import progress

    workspace = pipeline.with_cassette(pipeline.open_workspace(suite), record=record, replay=replay)
    with progress.shown(f"{workspace.suite.name} {target}") as watch:
        pipeline.execute_target(workspace, target, new=new, progress=watch)
    pipeline.score_target(workspace, target)
    stored = pipeline.summarize_target(workspace, target)
    showing.report(stored, Outputs(json_file=json_file))
    return _after_run(workspace, stored)


@click.command()
@_SUITE
@click.argument("target")
@_JSON
@_MARKDOWN
def report(suite: Path, target: str, **outputs: str | None) -> None:
    """Show the latest report of TARGET."""
    from eval_assets import pipeline

    stored = pipeline.latest_report(pipeline.open_workspace(suite), target)
    showing.report(stored, Outputs(**outputs))


@click.command()
@_SUITE
@click.argument("candidate")
@_JSON
@_MARKDOWN
@_FIGURE
def compare(suite: Path, candidate: str, **outputs: str | None) -> int:
    """Compare CANDIDATE's latest report with the baseline's. Decides as `gate` does, and stores nothing."""
    from eval_assets import pipeline

    compared = pipeline.compare_candidate(pipeline.open_workspace(suite), candidate)
    return showing.comparison(Shown.of(compared), Outputs(**outputs))


@click.command()
@_SUITE
@click.argument("candidate")
@_JSON
@_MARKDOWN
@_FIGURE
def gate(suite: Path, candidate: str, **outputs: str | None) -> int:
    """Compare CANDIDATE with the baseline, decide, and store the verdict. The exit code is the verdict."""
    from eval_assets import pipeline

    decided = pipeline.decide_candidate(pipeline.open_workspace(suite), candidate, decided_by="cli")
    code = showing.comparison(Shown.of(decided.compared), Outputs(**outputs))
    if decided.stored_verdict.verdict.outcome == "pass":
        click.echo(f"next: eval-assets promote {showing.path(suite)} {candidate} --reason '…'", err=True)
    return code


@click.command()
@click.argument("old", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("new", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--test", type=click.Choice(["stratified", "sign_flip", "pooled"]), default="stratified", show_default=True
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="A change is significant below this.")
@click.option(
    "--unscored-tolerance", type=float, default=0.0, show_default=True, help="Share of runs that may be unscored."
)
@click.option("--allow-case-set-mismatch", is_flag=True, help="Compare the cases both share.")
@click.option("--margin", type=float, default=None, help="A drop this large must be ruled out: 0.05 is five points.")
@_JSON
@_MARKDOWN
@_FIGURE
def diff(
    old: Path,
    new: Path,
    *,
    json_file: str | None,
    markdown_file: str | None,
    figure_file: str | None,
    **policy: Any,
) -> int:
    """Compare and gate two report files, with no suite and no store. The exit code is the verdict."""
    from eval_assets.analysis import compare as comparing
    from eval_assets.analysis import gate as gating
    from eval_assets.model.reports import Report

    before, after = Report.from_file(old), Report.from_file(new)
    comparison = comparing.compare(before, after, **policy)
    shown = Shown(comparison, gating.decide(comparison), before, after, f"{new.name} against {old.name}")
    return showing.comparison(shown, Outputs(json_file, markdown_file, figure_file))


@click.command()
@_SUITE
@click.option("--drop", type=float, required=True, help="The drop to see: 0.05 is five points.")
@click.option("--power", type=float, default=0.8, show_default=True, help="The chance of seeing it.")
def plan(suite: Path, *, drop: float, power: float) -> None:
    """Say how many runs or cases it takes to see a drop, from how the baseline itself varied."""
    from eval_assets import pipeline
    from eval_assets.analysis import planning
    from eval_assets.cli import terminal

    workspace = pipeline.open_workspace(suite)
    stored = pipeline.latest_report(workspace, workspace.suite.baseline)
    terminal.show(planning.plan_document(stored.report, drop=drop, alpha=workspace.suite.gate.alpha, power=power))


@click.command()
@_SUITE
@click.argument("candidate")
@click.option("--reason", required=True, help="Why, in a sentence; it is kept with the promotion.")
def promote(suite: Path, candidate: str, *, reason: str) -> None:
    """Promote CANDIDATE, on a stored passing verdict of exactly the latest reports; refused otherwise."""
    import getpass

    from eval_assets import pipeline

    workspace = pipeline.open_workspace(suite)
    promotion = pipeline.promote_candidate(workspace, candidate, reason=reason, promoted_by=f"cli:{getpass.getuser()}")
    click.echo(f"promoted {promotion.candidate} in {promotion.suite} on verdict {promotion.verdict_id}")


@click.command()
@click.argument("statement")
@click.option("--json", "as_json", is_flag=True, help="Write the rows as JSON.")
def sql(statement: str, *, as_json: bool) -> None:
    """Read the store of this folder's project, as in: eval-assets sql "from latest_reports"."""
    import json

    from eval_assets import pipeline
    from eval_assets.analysis.document import Cell, Column, Table
    from eval_assets.cli import terminal
    from eval_assets.store.store import Store

    columns, rows = Store(pipeline.home_for(Path.cwd()) / "eval.duckdb").select(statement)
    if as_json:
        click.echo(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], default=str, indent=2))
        return
    cells = tuple(tuple(Cell("null" if value is None else str(value)) for value in row) for row in rows)
    terminal.show((Table(tuple(Column(name) for name in columns), cells),))


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Where the UI listens.")
@click.option("--port", default=3000, show_default=True, type=click.IntRange(1, 65535))
def ui(host: str, port: int) -> int:
    """Open the Dagster UI on the suites of this folder, or on the demo; its history is kept between starts."""
    from eval_assets.cli import ui as dagster_ui

    return dagster_ui.serve(host, port)


@click.command()
@_SUITE
@click.argument("target")
@_JSON
@_MARKDOWN
def certify(suite: Path, target: str, **outputs: str | None) -> int:
    """
    Ask TARGET the suite's conformance cases, to know whether it is fit to be evaluated at all.

    Exit code 1 when a case fails, 3 when none failed and some got no answer.
    """
    from eval_assets import pipeline

    certified = pipeline.certify_target(pipeline.open_workspace(suite), target)
    showing.certification(certified, Outputs(**outputs))
    if certified.exit_code == 0:
        click.echo(f"next: eval-assets run {showing.path(suite)} {target}", err=True)
    return certified.exit_code


COMMANDS = (demo, check, certify, run, report, compare, gate, promote, diff, plan, sql, ui)


def _after_run(workspace: Workspace, stored: StoredReport) -> int:
    """Say what to do next; exit code 3 where a run or a judge gave no answer: then something was not measured."""
    suite, target = workspace.suite, stored.target
    unanswered = sum((stored.report.extensions.get("unavailable") or {}).values())
    if unanswered and stored.report.unavailable_as == "fail":
        click.echo(
            f"warning: {unanswered} of {stored.report.total_runs} runs got no answer (see above why) and count as "
            "failed, because the gate says `unavailable: fail`",
            err=True,
        )
    elif unanswered:
        click.echo(
            f"error: {unanswered} of {stored.report.total_runs} runs got no answer (see above why); a gate on this "
            f"report is inconclusive. Mend it, then: eval-assets run {showing.path(suite.path)} {target}",
            err=True,
        )
        return 3
    silent = [name for name in stored.report.extensions.get("judges") or {} if stored.report.overall[name].unscored]
    if silent:
        click.echo(
            f"error: {', '.join(silent)} left runs unscored, so a gate on this report is inconclusive. See why: {_WHY}",
            err=True,
        )
        return 3
    if target in suite.candidates:
        click.echo(f"next: eval-assets gate {showing.path(suite.path)} {target}", err=True)
    elif target == suite.baseline and suite.candidates:
        click.echo(f"next: eval-assets run {showing.path(suite.path)} {suite.candidates[0]}", err=True)
    return 0
