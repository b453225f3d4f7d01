"""The whole job on this machine, through Dagster: what `eval-assets demo` runs. The verdicts are measured, not told."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from eval_assets import pipeline
from eval_assets.analysis import render
from eval_assets.analysis.document import Document, Heading, Paragraph
from eval_assets.demo import SUITE_PATH, URL_VARIABLE
from eval_assets.demo.server import demo_server
from eval_assets.model.verdicts import Outcome
from eval_assets.pipeline import Workspace

if TYPE_CHECKING:
    import dagster as dg

Show = Callable[[Document], None]

_TONES = {"pass": "good", "regression": "bad", "inconclusive": "unsure"}


def run(*, show: Show) -> None:
    """
    Measure a baseline and three candidates over HTTP, decide on each, and try to promote each.

    Args:
        show: Called with each piece of what a person should read, as it is known.
    """
    started = time.perf_counter()
    home = pipeline.home_for(Path.cwd())
    with demo_server() as url, _environment({URL_VARIABLE: url, pipeline.HOME_VARIABLE: str(home)}):
        show(_opening(url))
        workspace = pipeline.open_workspace(SUITE_PATH)
        with _dagster(workspace) as dagster:
            dagster.measure_baseline()
            show(_report(workspace, workspace.suite.baseline))
            outcomes = {name: _candidate(workspace, dagster, name, show) for name in workspace.suite.candidates}
    show(_closing(workspace, outcomes, time.perf_counter() - started))


def _candidate(workspace: Workspace, dagster: _Dagster, name: str, show: Show) -> Outcome:
    """Measure, decide and try to promote one candidate; show each."""
    dagster.measure_candidate(name)
    show(_report(workspace, name))
    compared = pipeline.compare_candidate(workspace, name)
    title = f"{name} against {workspace.suite.baseline}"
    show(render.comparison_document(compared.comparison, compared.verdict, title=title))
    refusal = dagster.promote(name)
    if refusal is None:
        show((Paragraph(f"Promotion granted: {name} may replace {workspace.suite.baseline}.", "good"),))
    else:
        show((Paragraph(f"Promotion refused: {refusal}", "bad"),))
    return compared.verdict.outcome


class _Dagster:
    """The suite's assets in a Dagster instance that the UI can open afterwards."""

    def __init__(self, workspace: Workspace, instance: dg.DagsterInstance) -> None:
        from eval_assets.defs import assets, checks, partitions, resources

        suite = workspace.suite
        self._suite = suite.name
        self._instance = instance
        self._assets = [*assets.build_assets(suite), *checks.build_checks(suite.name)]
        self._resources = {resources.key(suite.name): resources.WorkspaceResource(suite_file=str(suite.path))}
        instance.add_dynamic_partitions(partitions.candidates_of(suite.name).name or "", list(suite.candidates))

    def measure_baseline(self) -> None:
        """Materialize the case set and the baseline, up to its report."""
        from eval_assets.defs import keys

        steps = [keys.case_set(self._suite), *(keys.baseline(self._suite, step) for step in keys.STEPS)]
        self._materialize(steps, partition=None)

    def measure_candidate(self, name: str) -> bool:
        """Materialize a candidate up to its comparison; says whether the gate let it through."""
        from eval_assets.defs import keys

        return self._materialize(keys.candidate_keys(self._suite), partition=name).success

    def promote(self, name: str) -> str | None:
        """Materialize the promotion alone, as someone might the day after; returns why it was refused."""
        from eval_assets.defs import keys

        result = self._materialize([keys.promotion(self._suite)], partition=name)
        if result.success:
            return None
        failures = (event.step_failure_data.user_failure_data for event in result.get_step_failure_events())
        return next((failure.description or "" for failure in failures if failure), "Dagster could not run it")

    def _materialize(self, keys: Sequence[dg.AssetKey], *, partition: str | None) -> dg.ExecuteInProcessResult:
        import dagster as dg

        return dg.materialize(
            self._assets,
            selection=dg.AssetSelection.assets(*keys),
            partition_key=partition,
            instance=self._instance,
            resources=self._resources,
            raise_on_error=False,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )


@contextmanager
def _dagster(workspace: Workspace) -> Iterator[_Dagster]:
    folder = pipeline.instance_folder(Path.cwd(), workspace.home)
    with _environment({"DAGSTER_HOME": str(folder)}):
        import dagster as dg

        logging.getLogger("alembic").setLevel(logging.ERROR)  # it tells of every table of a new instance
        with dg.DagsterInstance.get() as instance:
            yield _Dagster(workspace, instance)


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables for a while: suites and Dagster read their settings there."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _opening(url: str) -> Document:
    return (
        Heading("May a new agent replace the one in production?"),
        Paragraph(
            f"A small agent server plays four models on {url}. Each is asked the same cases, five times, with tools; "
            "the answers are scored, summarized, compared and judged. Everything is measured now, on this machine."
        ),
    )


def _program() -> str:
    """How this command is called here: `make demo` puts it where no PATH finds it."""
    return "eval-assets" if shutil.which("eval-assets") else os.path.relpath(sys.argv[0])


def _report(workspace: Workspace, target: str) -> Document:
    stored = pipeline.latest_report(workspace, target)
    report = stored.report
    return (
        Heading(f"report of {target}: {len(report.cases)} cases × {report.runs_per_case} runs"),
        *render.metric_table(report),
        Paragraph(render.latency_sentence(report), "quiet"),
    )


def _closing(workspace: Workspace, outcomes: dict[str, Outcome], seconds: float) -> Document:
    return (
        Heading("verdicts"),
        *(Paragraph(f"{name}: {outcome}", _TONES[outcome]) for name, outcome in outcomes.items()),  # type: ignore[arg-type]
        Paragraph(
            f"Done in {seconds:.0f} s. {render.CAUTION}\n"
            f"The numbers are in {workspace.store.path}\n"
            f'Ask them anything:    {_program()} sql "from latest_reports"\n'
            f"See them in Dagster:  {_program()} ui"
        ),
    )
