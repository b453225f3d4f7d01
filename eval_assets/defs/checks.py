"""
The checks of a suite: the gate on `comparison`, decided in that asset's own step, and checks that read the store.

A check mirrors what the core found; none decides anything.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import dagster as dg

from eval_assets import pipeline
from eval_assets.defs import keys, metadata, partitions, resources
from eval_assets.model.verdicts import Comparison, StoredVerdict
from eval_assets.pipeline import Certified, Workspace


def gate_spec(suite: str) -> dg.AssetCheckSpec:
    """The blocking check on `comparison`: a verdict that does not pass stops what comes after it in the same run."""
    with _partitioned_checks_are_meant():
        return dg.AssetCheckSpec(
            name="gate",
            asset=keys.comparison(suite),
            description="The verdict on the candidate: passes on `pass`, fails on `regression` and `inconclusive`.",
            blocking=True,
            partitions_def=partitions.candidates_of(suite),
        )


def gate_result(stored: StoredVerdict, comparison: Comparison) -> dg.AssetCheckResult:
    """A verdict as the result of the gate check, for the step that decided it."""
    return dg.AssetCheckResult(
        check_name="gate",
        passed=stored.verdict.outcome == "pass",
        severity=dg.AssetCheckSeverity.ERROR,
        description=sentence(stored),
        metadata=metadata.of_verdict(stored, comparison),
    )


def sentence(stored: StoredVerdict) -> str:
    """The verdict and its reasons, as the check shows them."""
    return f"{stored.verdict.outcome}: {'; '.join(stored.verdict.reasons)}"


def certified_spec(suite: str) -> dg.AssetCheckSpec:
    """The blocking check on `conformance`: a target that does not conform is stopped before it is evaluated."""
    with _partitioned_checks_are_meant():
        return dg.AssetCheckSpec(
            name="certified",
            asset=keys.conformance(suite),
            description="Every conformance case passed. One that failed or was not measured stops the evaluation.",
            blocking=True,
            partitions_def=partitions.targets_of(suite),
        )


def certified_result(certified: Certified) -> dg.AssetCheckResult:
    """A certification as the result of its check."""
    report = certified.report
    failed = [f"{result.id}: {'; '.join(result.failures)}" for result in report.failing]
    unknown = [f"{result.id}: not measured, {result.unmeasured}" for result in report.unmeasured]
    return dg.AssetCheckResult(
        check_name="certified",
        passed=report.passed,
        severity=dg.AssetCheckSeverity.ERROR,
        description="\n".join([*failed, *unknown]) or f"all {len(report.results)} cases passed",
        metadata=metadata.of_certification(certified),
    )


def nobody_to_certify(target: str) -> dg.AssetCheckResult:
    """The check of a target whose runs happened elsewhere."""
    return dg.AssetCheckResult(
        check_name="certified",
        passed=True,
        description=f"{target} replays runs that happened elsewhere; there is no one to ask",
    )


def build_checks(suite: str) -> list[dg.AssetChecksDefinition]:
    """The checks of a suite that run in a step of their own. None of them blocks."""
    with _partitioned_checks_are_meant():
        return [
            _case_set_valid(suite),
            _complete(suite, keys.baseline(suite, "outputs"), None, lambda _, workspace: workspace.suite.baseline),
            _complete(
                suite,
                keys.candidate(suite, "outputs"),
                partitions.candidates_of(suite),
                lambda context, _: context.partition_key,
            ),
            _baseline_drift(suite),
        ]


def _case_set_valid(suite: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=keys.case_set(suite),
        description="The store gives the cases back as they were asked: their hash is that of the suite's file.",
        required_resource_keys={resources.key(suite)},
    )
    def case_set_valid(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        workspace = resources.workspace_of(context.resources, suite)
        asked = workspace.suite.case_set
        kept = workspace.store.case_set(asked.hash)
        return dg.AssetCheckResult(passed=kept.hash == asked.hash, metadata=metadata.of_case_set(kept))

    return case_set_valid


def _complete(
    suite: str,
    outputs: dg.AssetKey,
    partitions_def: dg.PartitionsDefinition[str] | None,
    target_of: Callable[[dg.AssetCheckExecutionContext, Workspace], str],
) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=outputs,
        description="Every run of the latest evaluation got an answer; one that did not leaves every metric unscored.",
        required_resource_keys={resources.key(suite)},
        partitions_def=partitions_def,
    )
    def complete(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        workspace = resources.workspace_of(context.resources, suite)
        evaluation = pipeline.latest_evaluation(workspace, target_of(context, workspace))
        unavailable = workspace.store.unavailable_reasons(evaluation.evaluation_id)
        unanswered = sum(unavailable.values())
        return dg.AssetCheckResult(
            passed=unanswered == 0,
            severity=dg.AssetCheckSeverity.WARN,
            description=f"{evaluation.total_runs - unanswered} of {evaluation.total_runs} runs got an answer",
            metadata={"evaluation_id": evaluation.evaluation_id, "unavailable": unavailable},
        )

    return complete


def _baseline_drift(suite: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=keys.baseline(suite, "report"),
        description="The baseline does as well as when it was last measured. If not, its provider may have changed.",
        required_resource_keys={resources.key(suite)},
    )
    def baseline_drift(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        drift = pipeline.baseline_drift(resources.workspace_of(context.resources, suite))
        if drift is None:
            return dg.AssetCheckResult(passed=True, description="measured for the first time; nothing to compare with")
        return dg.AssetCheckResult(
            passed=drift.verdict.outcome == "pass",
            severity=dg.AssetCheckSeverity.WARN,
            description=f"{drift.verdict.outcome}: {'; '.join(drift.verdict.reasons)}",
            metadata=metadata.of_drift(drift.comparison, drift.verdict, before=drift.baseline),
        )

    return baseline_drift


@contextmanager
def _partitioned_checks_are_meant() -> Iterator[None]:
    # Dagster calls them a preview feature; its version is pinned exactly because of it.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Specifying a partitions_def on an AssetCheckSpec", dg.PreviewWarning)
        yield
