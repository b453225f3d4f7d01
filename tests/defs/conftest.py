"""A suite of Python functions, its definitions as Dagster loads them, and a store and an instance of its own."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from eval_assets import pipeline
from eval_assets.defs import keys
from eval_assets.pipeline import Workspace

SUITE = """
name: greetings
cases:
  - {name: hello, input: hello, want: hello, tags: [short]}
  - {name: morning, input: good morning, want: good morning}
  - {name: evening, input: good evening, want: good evening}
runs: 10
targets:
  prod: {kind: python, function: "greetings_targets:echo"}
  same: {kind: python, function: "greetings_targets:echo_again"}
  worse: {kind: python, function: "greetings_targets:silent"}
baseline: prod
candidates: [same, worse]
metrics: [no_error, contains_want]
gate: {test: pooled}
"""
TARGETS = """
def echo(text): return f"You said {text}."
def echo_again(text): return f"Again: {text}."
def silent(text): return "..."
"""


class Shell:
    """The definitions of a code location over an instance, and the runs a person would start in the UI."""

    def __init__(self, instance: dg.DagsterInstance, workspace: Workspace, defs: dg.Definitions) -> None:
        self.instance = instance
        self.workspace = workspace
        self.defs = defs
        self.suite = workspace.suite.name

    def materialize(self, *assets: str, candidate: str | None = None, reason: str = "") -> dg.ExecuteInProcessResult:
        """One Dagster run of the named assets and the checks on them."""
        if candidate is not None:
            for partitions in ("candidates", "targets"):
                self.instance.add_dynamic_partitions(f"{self.suite}_{partitions}", [candidate])
        config = {"ops": {f"{self.suite}__promotion": {"config": {"reason": reason}}}} if reason else None
        return self.defs.resolve_implicit_global_asset_job_def().execute_in_process(
            run_config=config,
            instance=self.instance,
            asset_selection=[dg.AssetKey([self.suite, asset]) for asset in assets],
            partition_key=candidate,
            raise_on_error=False,
        )

    def measure_baseline(self) -> dg.ExecuteInProcessResult:
        return self.materialize("case_set", "baseline_outputs", "baseline_scores", "baseline_report")

    def judge(self, candidate: str) -> dg.ExecuteInProcessResult:
        """All that the candidates sensor requests for a candidate."""
        return self.materialize(*(key.path[-1] for key in keys.candidate_keys(self.suite)), candidate=candidate)

    def tick(self, sensor: str, cursor: str | None = None) -> dg.SensorResult:
        """One evaluation of a sensor, its partitions added as the daemon would."""
        context = dg.build_sensor_context(
            instance=self.instance,
            cursor=cursor,
            definitions=self.defs,
            resources=self.defs.resources or {},
        )
        result = self.defs.resolve_sensor_def(f"{self.suite}_{sensor}")(context)
        assert isinstance(result, dg.SensorResult)
        for request in result.dynamic_partitions_requests or []:
            self.instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
        return result

    def gate_of(self, candidate: str) -> tuple[str, bool] | None:
        """The gate's latest status for a candidate's partition, and whether it is of its latest comparison."""
        return gate_status(self.instance, self.suite, candidate)


def gate_status(instance: dg.DagsterInstance, suite: str, candidate: str) -> tuple[str, bool] | None:
    storage = instance.event_log_storage
    found = storage.get_asset_check_partition_info([keys.gate(suite)], partition_keys=[candidate])
    return (found[0].latest_execution_status.value, found[0].is_current) if found else None


@pytest.fixture
def suite_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A suite in a project of its own; Dagster and the command line find it and its home."""
    path, project = list(sys.path), tmp_path / "project"
    project.mkdir()
    (project / "suite.yaml").write_text(SUITE)
    (project / "greetings_targets.py").write_text(TARGETS)
    monkeypatch.setenv("EVAL_ASSETS_SUITES", str(project / "suite.yaml"))
    monkeypatch.setenv("EVAL_ASSETS_HOME", str(tmp_path / "home"))
    yield project / "suite.yaml"
    sys.path[:] = path
    sys.modules.pop("greetings_targets", None)


@pytest.fixture
def workspace(suite_file: Path) -> Workspace:
    return pipeline.open_workspace(suite_file)


@pytest.fixture
def shell(workspace: Workspace) -> Iterator[Shell]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Shell(instance, workspace, load_definitions())


def load_definitions() -> dg.Definitions:
    """The definitions as a code location that starts now would load them."""
    defs: dg.Definitions = runpy.run_module("eval_assets.definitions")["defs"]
    return defs


def measure(workspace: Workspace, target: str) -> None:
    """What `eval-assets run` does."""
    pipeline.execute_target(workspace, target)
    pipeline.score_target(workspace, target)
    pipeline.summarize_target(workspace, target)
