"""One function per command: read the arguments, call the pipeline, print what render returns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from eval_assets.cli import files

if TYPE_CHECKING:
    from eval_assets.model.reports import StoredReport
    from eval_assets.pipeline import Compared, Workspace

_SUITE = click.argument("suite", type=click.Path(exists=True, path_type=Path))
_JSON = click.option("--json", "json_file", callback=files.writable, metavar="F", help="Write JSON to F; - is stdout.")
_MARKDOWN = click.option(
    "--markdown", "markdown_file", callback=files.writable, metavar="F", help="Write Markdown to F; - is stdout."
)


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
        raise ConfigError(found)
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
@_JSON
def run(suite: Path, target: str, *, new: bool, json_file: str | None) -> int:
    """
    Run every case against TARGET, score the runs and summarize them into a report.

    An interrupted evaluation of the same target is resumed. Exit code 3 when a run got no answer.
    """
    from eval_assets import pipeline
    from eval_assets.cli import progress

    workspace = pipeline.open_workspace(suite)
    with progress.shown(f"{workspace.suite.name} {target}") as watch:
        pipeline.execute_target(workspace, target, new=new, progress=watch)
    pipeline.score_target(workspace, target)
    stored = pipeline.summarize_target(workspace, target)
    files.write(json_file, stored.report.to_json())
    _show_report(stored, quiet=json_file == files.STDOUT)
    return _after_run(workspace, stored)


@click.command()
@_SUITE
@click.argument("target")
@_JSON
@_MARKDOWN
def report(suite: Path, target: str, *, json_file: str | None, markdown_file: str | None) -> None:
    """Show the latest report of TARGET."""
    from eval_assets import pipeline
    from eval_assets.analysis import markdown, render

    stored = pipeline.latest_report(pipeline.open_workspace(suite), target)
    document = render.report_document(stored.report, title=_title(stored))
    files.write(json_file, stored.report.to_json())
    files.write(markdown_file, markdown.markdown(document))
    _show_report(stored, quiet=files.STDOUT in {json_file, markdown_file})


@click.command()
@_SUITE
@click.argument("candidate")
@_JSON
@_MARKDOWN
def compare(suite: Path, candidate: str, *, json_file: str | None, markdown_file: str | None) -> int:
    """Compare CANDIDATE's latest report with the baseline's. Decides as `gate` does, and stores nothing."""
    from eval_assets import pipeline

    compared = pipeline.compare_candidate(pipeline.open_workspace(suite), candidate)
    return _show_comparison(compared, json_file, markdown_file)


@click.command()
@_SUITE
@click.argument("candidate")
@_JSON
@_MARKDOWN
def gate(suite: Path, candidate: str, *, json_file: str | None, markdown_file: str | None) -> int:
    """Compare CANDIDATE with the baseline, decide, and store the verdict. The exit code is the verdict."""
    from eval_assets import pipeline

    workspace = pipeline.open_workspace(suite)
    decided = pipeline.decide_candidate(workspace, candidate, decided_by="cli")
    code = _show_comparison(decided.compared, json_file, markdown_file)
    if decided.stored_verdict.verdict.outcome == "pass":
        click.echo(f"next: eval-assets promote {_said(suite)} {candidate} --reason '…'", err=True)
    return code


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


COMMANDS = (demo, check, run, report, compare, gate, promote, sql, ui)


def _title(stored: StoredReport) -> str:
    return f"report of {stored.target} in {stored.suite}"


def _show_report(stored: StoredReport, *, quiet: bool) -> None:
    from eval_assets.analysis import render
    from eval_assets.cli import terminal

    if not quiet:
        terminal.show(render.report_document(stored.report, title=_title(stored)))


def _after_run(workspace: Workspace, stored: StoredReport) -> int:
    """Say what to do next; exit code 3 where a run got no answer, because then something was not measured."""
    suite, target = workspace.suite, stored.target
    unanswered = sum((stored.report.extensions.get("unavailable") or {}).values())
    if unanswered:
        click.echo(
            f"error: {unanswered} of {stored.report.total_runs} runs got no answer (see above why); a gate on this "
            f"report is inconclusive. Mend it, then: eval-assets run {_said(suite.path)} {target}",
            err=True,
        )
        return 3
    if target in suite.candidates:
        click.echo(f"next: eval-assets gate {_said(suite.path)} {target}", err=True)
    elif target == suite.baseline and suite.candidates:
        click.echo(f"next: eval-assets run {_said(suite.path)} {suite.candidates[0]}", err=True)
    return 0


def _show_comparison(compared: Compared, json_file: str | None, markdown_file: str | None) -> int:
    from eval_assets.analysis import markdown, render
    from eval_assets.cli import terminal
    from eval_assets.model import verdicts

    title = f"{compared.candidate.target} against {compared.baseline.target} in {compared.candidate.suite}"
    document = render.comparison_document(compared.comparison, compared.verdict, title=title)
    files.write(json_file, verdicts.comparison_json(compared.comparison, compared.verdict))
    files.write(markdown_file, markdown.markdown(document))
    if files.STDOUT not in {json_file, markdown_file}:
        terminal.show(document)
    return compared.verdict.exit_code


def _said(path: Path) -> str:
    """A path as a person would type it here."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
