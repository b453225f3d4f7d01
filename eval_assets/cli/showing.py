"""What commands show of reports and comparisons: on the terminal, and in the files they were asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from eval_assets.cli import files

if TYPE_CHECKING:
    from eval_assets.model.reports import Report, StoredReport
    from eval_assets.model.verdicts import Comparison, Verdict
    from eval_assets.pipeline import Certified, Compared


class Outputs(NamedTuple):
    """The files a command was asked to write; None where it was not. `-` is stdout, which then holds nothing else."""

    json_file: str | None = None
    markdown_file: str | None = None
    figure_file: str | None = None

    @property
    def take_stdout(self) -> bool:
        """Whether stdout belongs to one of them."""
        return files.STDOUT in self


class Shown(NamedTuple):
    """A comparison, what follows from it, and the reports it is of."""

    comparison: Comparison
    verdict: Verdict
    old: Report
    new: Report
    title: str

    @classmethod
    def of(cls, compared: Compared) -> Shown:
        """What is shown of a candidate and its baseline."""
        title = f"{compared.candidate.target} against {compared.baseline.target} in {compared.candidate.suite}"
        return cls(compared.comparison, compared.verdict, compared.baseline.report, compared.candidate.report, title)


def report(stored: StoredReport, outputs: Outputs) -> None:
    """Show a report and write the files asked for."""
    from eval_assets.analysis import markdown, render
    from eval_assets.cli import terminal

    document = render.report_document(stored.report, title=f"report of {stored.target} in {stored.suite}")
    files.write(outputs.json_file, stored.report.to_json())
    files.write(outputs.markdown_file, markdown.markdown(document))
    if not outputs.take_stdout:
        terminal.show(document)


def certification(certified: Certified, outputs: Outputs) -> None:
    """Show a certification, against the last that passed, and write the files asked for."""
    from eval_assets.analysis import markdown
    from eval_assets.analysis.conformance import document as documents
    from eval_assets.cli import terminal

    stored = certified.stored
    document = documents.conformance_document(
        stored.report,
        title=f"conformance of {stored.target} in {stored.suite}",
        baseline=None if certified.before is None else certified.before.report,
    )
    files.write(outputs.json_file, stored.report.to_json())
    files.write(outputs.markdown_file, markdown.markdown(document))
    if not outputs.take_stdout:
        terminal.show(document)


def comparison(shown: Shown, outputs: Outputs) -> int:
    """Show a comparison and write the files asked for, whatever the verdict; returns the verdict's exit code."""
    from eval_assets.analysis import markdown, render
    from eval_assets.cli import terminal
    from eval_assets.model import verdicts

    document = render.comparison_document(shown.comparison, shown.verdict, title=shown.title)
    files.write(outputs.json_file, verdicts.comparison_json(shown.comparison, shown.verdict))
    files.write(outputs.markdown_file, markdown.markdown(document))
    if outputs.figure_file is not None:
        files.write(outputs.figure_file, _figure(shown, outputs.figure_file))
    if not outputs.take_stdout:
        terminal.show(document)
    return shown.verdict.exit_code


def path(file: Path) -> str:
    """A path as a person would type it here."""
    try:
        return str(file.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(file)


def _figure(shown: Shown, figure_file: str) -> bytes:
    from eval_assets.analysis import plots

    return plots.comparison_figure(
        shown.comparison,
        shown.old,
        shown.new,
        figure_format=files.figure_format(figure_file),
        title=shown.title,
        verdict=shown.verdict,
    )
