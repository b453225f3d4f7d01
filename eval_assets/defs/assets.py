"""
The nine assets of a suite, and a tenth where it asks for conformance.

Each calls one function of the pipeline and says what came of it; the data is in the store.
Baseline and candidates go through the same three steps, in two roles: the baseline's assets have no partitions, a
candidate's have one per candidate.
"""

from collections.abc import Callable
from typing import NamedTuple

import dagster as dg

from eval_assets import pipeline
from eval_assets.defs import checks, keys, metadata, partitions, resources
from eval_assets.defs.keys import Step
from eval_assets.errors import NothingMeasured, PromotionRefused
from eval_assets.pipeline import Progress, Workspace
from eval_assets.suite import Suite

_PROGRESS_STEPS = 10


class PromotionConfig(dg.Config):
    """What a promotion is asked with."""

    reason: str = "promoted in Dagster"


class _Role(NamedTuple):
    """The part a target plays: where its assets are, how they are partitioned, and which target it is in a run."""

    called: str
    suite: str
    key: Callable[[str, Step], dg.AssetKey]
    partitions_def: dg.PartitionsDefinition[str] | None
    target: Callable[[dg.AssetExecutionContext, Workspace], str]
    certified: list[dg.AssetDep]
    """The certification its outputs wait for; empty where the suite asks for none."""


def build_assets(suite: Suite) -> list[dg.AssetsDefinition]:
    """The assets of a suite: key prefix and group are its name."""
    name = suite.name
    baseline = _Role(
        "the baseline",
        name,
        keys.baseline,
        None,
        lambda _, workspace: workspace.suite.baseline,
        _certified(suite, dg.SpecificPartitionsPartitionMapping([suite.baseline])),
    )
    candidate = _Role(
        "a candidate",
        name,
        keys.candidate,
        partitions.candidates_of(name),
        lambda context, _: context.partition_key,
        _certified(suite, dg.IdentityPartitionMapping()),
    )
    measured = [build(role) for role in (baseline, candidate) for build in (_outputs, _scores, _report)]
    certification = [_conformance(name)] if suite.conformance is not None else []
    return [_case_set(name), *certification, *measured, _comparison(name), _promotion(name)]


def _certified(suite: Suite, mapping: dg.PartitionMapping) -> list[dg.AssetDep]:
    if suite.conformance is None:
        return []
    return [dg.AssetDep(keys.conformance(suite.name), partition_mapping=mapping)]


def _case_set(suite: str) -> dg.AssetsDefinition:
    @dg.asset(
        key=keys.case_set(suite),
        group_name=suite,
        kinds={"duckdb", "json"},
        description="The cases every target of this suite is asked, and the hash that says two sets ask the same.",
        required_resource_keys={resources.key(suite)},
    )
    def case_set(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        registered = pipeline.register_cases(resources.workspace_of(context.resources, suite))
        return dg.MaterializeResult(metadata=metadata.of_case_set(registered))

    return case_set


def _conformance(suite: str) -> dg.AssetsDefinition:
    @dg.asset(
        key=keys.conformance(suite),
        group_name=suite,
        kinds={"duckdb", "python"},
        description="Whether a target is fit to be evaluated: each conformance case asked once, before it costs more.",
        partitions_def=partitions.targets_of(suite),
        check_specs=[checks.certified_spec(suite)],
        required_resource_keys={resources.key(suite)},
    )
    def conformance(context: dg.AssetExecutionContext) -> dg.MaterializeResult:  # type: ignore[type-arg]  # as comparison
        workspace = resources.workspace_of(context.resources, suite)
        target = context.partition_key
        if not pipeline.is_certifiable(workspace.suite, target):
            return dg.MaterializeResult(check_results=[checks.nobody_to_certify(target)])
        certified = pipeline.certify_target(workspace, target)
        return dg.MaterializeResult(
            metadata=metadata.of_certification(certified), check_results=[checks.certified_result(certified)]
        )

    return conformance


def _outputs(role: _Role) -> dg.AssetsDefinition:
    @dg.asset(
        key=role.key(role.suite, "outputs"),
        group_name=role.suite,
        kinds={"duckdb", "python"},
        description=f"What {role.called} answered: every case, `runs` times. An interrupted evaluation is resumed.",
        deps=[keys.case_set(role.suite), *role.certified],
        partitions_def=role.partitions_def,
        required_resource_keys={resources.key(role.suite)},
    )
    def outputs(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        workspace = resources.workspace_of(context.resources, role.suite)
        target = role.target(context, workspace)
        try:
            pipeline.require_certified(workspace, target)
        except NothingMeasured as missing:
            raise dg.Failure(description=str(missing), allow_retries=False) from missing
        evaluation = pipeline.execute_target(workspace, target, progress=_logged(context))
        return dg.MaterializeResult(
            metadata=metadata.of_evaluation(
                evaluation,
                errored=workspace.store.error_count(evaluation.evaluation_id),
                unavailable=workspace.store.unavailable_reasons(evaluation.evaluation_id),
            )
        )

    return outputs


def _scores(role: _Role) -> dg.AssetsDefinition:
    @dg.asset(
        key=role.key(role.suite, "scores"),
        group_name=role.suite,
        kinds={"duckdb", "python"},
        description=f"Each run of {role.called} under each metric: passed, failed, or unscored with a reason.",
        deps=[role.key(role.suite, "outputs")],
        partitions_def=role.partitions_def,
        required_resource_keys={resources.key(role.suite)},
    )
    def scores(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        workspace = resources.workspace_of(context.resources, role.suite)
        scoring = pipeline.score_target(workspace, role.target(context, workspace))
        counts = workspace.store.case_counts(scoring.scoring_id)
        return dg.MaterializeResult(
            metadata=metadata.of_scores(scoring.evaluation_id, scoring.scoring_id, counts),
        )

    return scores


def _report(role: _Role) -> dg.AssetsDefinition:
    @dg.asset(
        key=role.key(role.suite, "report"),
        group_name=role.suite,
        kinds={"duckdb"},
        description=f"How often {role.called} passed each metric, with intervals: overall, per tag, per case.",
        deps=[role.key(role.suite, "scores")],
        partitions_def=role.partitions_def,
        required_resource_keys={resources.key(role.suite)},
    )
    def report(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        workspace = resources.workspace_of(context.resources, role.suite)
        stored = pipeline.summarize_target(workspace, role.target(context, workspace))
        return dg.MaterializeResult(metadata=metadata.of_report(stored))

    return report


def _comparison(suite: str) -> dg.AssetsDefinition:
    @dg.asset(
        key=keys.comparison(suite),
        group_name=suite,
        kinds={"duckdb"},
        description="The candidate's latest report against the baseline's, and the verdict on exactly these two.",
        deps=[keys.baseline(suite, "report"), keys.candidate(suite, "report")],
        partitions_def=partitions.candidates_of(suite),
        check_specs=[checks.gate_spec(suite)],
        required_resource_keys={resources.key(suite)},
    )
    def comparison(context: dg.AssetExecutionContext) -> dg.MaterializeResult:  # type: ignore[type-arg]  # dagster takes MaterializeResult[None] for a second output
        workspace = resources.workspace_of(context.resources, suite)
        decided = pipeline.decide_candidate(
            workspace, context.partition_key, decided_by=f"dagster:{context.run.run_id}"
        )
        return dg.MaterializeResult(
            metadata=metadata.of_verdict(decided.stored_verdict, decided.compared.comparison),
            check_results=[checks.gate_result(decided.stored_verdict, decided.compared.comparison)],
        )

    return comparison


def _promotion(suite: str) -> dg.AssetsDefinition:
    @dg.asset(
        key=keys.promotion(suite),
        group_name=suite,
        kinds={"duckdb"},
        description=(
            "The candidate promoted. Refused without a stored passing verdict of exactly the latest reports: a gate "
            "check that passed in some other run counts for nothing."
        ),
        deps=[keys.comparison(suite)],
        partitions_def=partitions.candidates_of(suite),
        required_resource_keys={resources.key(suite)},
    )
    def promotion(context: dg.AssetExecutionContext, config: PromotionConfig) -> dg.MaterializeResult[None]:
        workspace = resources.workspace_of(context.resources, suite)
        try:
            granted = pipeline.promote_candidate(
                workspace, context.partition_key, reason=config.reason, promoted_by=f"dagster:{context.run.run_id}"
            )
        except PromotionRefused as refusal:
            raise dg.Failure(description=str(refusal), allow_retries=False) from refusal
        return dg.MaterializeResult(metadata=metadata.of_promotion(granted))

    return promotion


def _logged(context: dg.AssetExecutionContext) -> Callable[[Progress], None]:
    """Say how far an evaluation is, about ten times, however many runs it has: each line is a write to a database."""
    said = -1

    def tell(progress: Progress) -> None:
        nonlocal said
        tenth = _PROGRESS_STEPS * progress.finished // progress.expected
        if tenth > said:
            said = tenth
            context.log.info(
                "%d of %d runs finished; %d failed by the target, %d without an answer",
                progress.finished,
                progress.expected,
                progress.errored,
                progress.unavailable,
            )

    return tell
