"""
One stored verdict as what Dagster shows: `comparison` materialized, and its `gate` check passed or failed.

The verdict is the store's; Dagster's copy decides nothing. Which verdicts to mirror is the sensor's business.
"""

import dagster as dg

# Not among dagster's public names, though the public AssetCheckEvaluation takes it.
from dagster._core.definitions.asset_checks.asset_check_evaluation import AssetCheckEvaluationTargetMaterializationData

from eval_assets.defs import checks, keys, metadata
from eval_assets.model.verdicts import Comparison, StoredVerdict


def report(instance: dg.DagsterInstance, stored: StoredVerdict, comparison: Comparison) -> None:
    """
    Tell an instance of a verdict that none of its own runs reported. Telling it twice is telling it once.

    The check is reported under the verdict's id as its run id, because an instance keeps one evaluation of a check per
    (run id, partition): reported without a run, as a sensor's `asset_events` are, the second verdict on a candidate
    breaks a unique index and the tick with it.
    """
    evaluation = dg.AssetCheckEvaluation(
        asset_key=keys.comparison(stored.suite),
        check_name="gate",
        passed=stored.verdict.outcome == "pass",
        severity=dg.AssetCheckSeverity.ERROR,
        description=checks.sentence(stored),
        metadata=metadata.of_verdict(stored, comparison),
        target_materialization_data=_materialized(instance, stored, comparison),
        blocking=True,
        partition=stored.candidate,
    )
    event = dg.DagsterEvent(
        event_type_value=dg.DagsterEventType.ASSET_CHECK_EVALUATION.value,
        job_name="",
        event_specific_data=evaluation,
    )
    instance.report_dagster_event(event, run_id=stored.verdict_id)


def is_pending(instance: dg.DagsterInstance, stored: StoredVerdict) -> bool:
    """Whether a run of this instance decided it and is still at work: it will report the verdict itself."""
    run = instance.get_run_by_id(_dagster_run_id(stored))
    return run is not None and not run.is_finished and not was_reported(instance, stored)


def was_reported(instance: dg.DagsterInstance, stored: StoredVerdict) -> bool:
    """Whether the run that decided it reported it to this instance as its check."""
    run_id = _dagster_run_id(stored)
    if not instance.has_run(run_id):
        return False
    logged = instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    evaluations = (entry.dagster_event.event_specific_data for entry in logged if entry.dagster_event)
    return any(
        isinstance(evaluation, dg.AssetCheckEvaluation)
        and evaluation.asset_check_key == keys.gate(stored.suite)
        and evaluation.partition == stored.candidate
        for evaluation in evaluations
    )


def _dagster_run_id(stored: StoredVerdict) -> str:
    return stored.decided_by.removeprefix("dagster:")


def _materialized(
    instance: dg.DagsterInstance, stored: StoredVerdict, comparison: Comparison
) -> AssetCheckEvaluationTargetMaterializationData:
    """
    The materialization of `comparison` that holds this verdict, made unless it is there.

    A check that targets none shows as missing as soon as its partition has any.
    """
    found = _latest(instance, stored)
    if found is None or _verdict_id(found) != stored.verdict_id:
        instance.report_runless_asset_event(
            dg.AssetMaterialization(
                asset_key=keys.comparison(stored.suite),
                partition=stored.candidate,
                metadata=metadata.of_verdict(stored, comparison),
                description=f"decided by {stored.decided_by}",
            )
        )
        found = _latest(instance, stored)
    assert found is not None  # noqa: S101  it was reported one line above
    return AssetCheckEvaluationTargetMaterializationData(
        storage_id=found.storage_id, run_id=found.run_id, timestamp=found.timestamp
    )


def _latest(instance: dg.DagsterInstance, stored: StoredVerdict) -> dg.EventLogRecord | None:
    wanted = dg.AssetRecordsFilter(asset_key=keys.comparison(stored.suite), asset_partitions=[stored.candidate])
    return next(iter(instance.fetch_materializations(wanted, limit=1).records), None)


def _verdict_id(record: dg.EventLogRecord) -> object:
    materialization = record.asset_materialization
    return materialization.metadata["verdict_id"].value if materialization else None
