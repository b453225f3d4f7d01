"""
What Dagster notices by itself: verdicts somebody stored, and candidates nobody measured yet.

Both sensors run from the start. Neither decides: the verdict is read, and the pipeline says which candidates wait.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import dagster as dg

from eval_assets import pipeline
from eval_assets.defs import keys, mirror, partitions, resources
from eval_assets.model.verdicts import StoredVerdict
from eval_assets.pipeline import CandidateToEvaluate, Workspace
from eval_assets.suite import Suite

GATE_SECONDS = 10
CANDIDATES_SECONDS = 30

# A tick may take 60 s, and reporting one verdict to an SQLite instance takes about 0.2.
_MOST_PER_TICK = 100
# A verdict is stored a little after it was decided: it may have waited for the store, and clocks of machines differ.
_LATEST_ARRIVAL = timedelta(minutes=10)
# A Dagster run reports its verdict a moment after storing it, unless its process died in between.
_RUN_REPORTS_WITHIN = timedelta(minutes=5)


# `**_resources` below, because calling a sensor directly, as its tests do, hands it every required resource by name.


def build_sensors(suite: str, *, certifies: bool = False) -> list[dg.SensorDefinition]:
    """The sensors of a suite; `certifies` where its candidates must pass its conformance cases first."""
    return [_gate(suite), _candidates(suite, certifies)]


class MirroredVerdicts(NamedTuple):
    """The cursor of a gate sensor: what it has dealt with, as far back as another verdict may still turn up."""

    decided: dict[str, datetime]
    """When each was decided, by verdict id."""

    @classmethod
    def read(cls, cursor: str | None) -> "MirroredVerdicts":
        return cls({name: datetime.fromisoformat(moment) for name, moment in json.loads(cursor or "{}").items()})

    def write(self) -> str:
        return json.dumps({name: moment.isoformat() for name, moment in self.decided.items()})

    @property
    def since(self) -> datetime | None:
        """The moment after which verdicts may be new."""
        return max(self.decided.values()) - _LATEST_ARRIVAL if self.decided else None

    def new(self, stored: Iterable[StoredVerdict]) -> list[StoredVerdict]:
        """Those not dealt with yet, as many as one tick may take."""
        return [verdict for verdict in stored if verdict.verdict_id not in self.decided][:_MOST_PER_TICK]

    def adding(self, stored: Iterable[StoredVerdict]) -> "MirroredVerdicts":
        """With these dealt with too, and those forgotten that are too old to be met again."""
        known = MirroredVerdicts({**self.decided, **{verdict.verdict_id: verdict.decided_at for verdict in stored}})
        since = known.since
        return MirroredVerdicts({name: moment for name, moment in known.decided.items() if since and moment > since})


def _gate(suite: str) -> dg.SensorDefinition:
    @dg.sensor(
        name=f"{suite}_gate",
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=GATE_SECONDS,
        description="Shows every stored verdict as the gate check of its candidate, whoever decided it.",
        required_resource_keys={resources.key(suite)},
    )
    def gate(context: dg.SensorEvaluationContext, **_resources: object) -> dg.SensorResult:
        workspace = resources.workspace_of(context.resources, suite)
        mirrored = MirroredVerdicts.read(context.cursor)
        stored = pipeline.verdicts_after(workspace, mirrored.since, limit=len(mirrored.decided) + _MOST_PER_TICK)
        settled = [verdict for verdict in mirrored.new(stored) if not _is_being_reported(context.instance, verdict)]
        foreign = [verdict for verdict in settled if not mirror.was_reported(context.instance, verdict)]
        for verdict in foreign:
            mirror.report(context.instance, verdict, workspace.store.comparison(verdict.comparison_id))
        said = ", ".join(f"{verdict.candidate} {verdict.verdict.outcome}" for verdict in foreign)
        return dg.SensorResult(
            skip_reason=f"mirrored: {said}" if said else "no new verdict",
            cursor=mirrored.adding(settled).write(),
            dynamic_partitions_requests=_adding(
                context, partitions.candidates_of(suite), (verdict.candidate for verdict in foreign)
            ),
        )

    return gate


def _candidates(suite: str, certifies: bool) -> dg.SensorDefinition:
    certification = [keys.conformance(suite)] if certifies else []

    @dg.sensor(
        name=f"{suite}_candidates",
        target=dg.AssetSelection.assets(*certification, *keys.candidate_keys(suite)),
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=CANDIDATES_SECONDS,
        description=(
            "Gives each candidate a partition and requests one run per new definition of it, once the baseline has a "
            "report; where the suite asks for conformance, first one to certify it. Never promotes."
        ),
        required_resource_keys={resources.key(suite)},
    )
    def candidates(context: dg.SensorEvaluationContext, **_resources: object) -> dg.SensorResult:
        workspace = resources.workspace_of(context.resources, suite)
        requests = [_request(workspace, waiting) for waiting in pipeline.candidates_to_evaluate(workspace)]
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else "no candidate waits to be measured, or the baseline has no report yet",
            dynamic_partitions_requests=[
                *_adding(context, partitions.candidates_of(suite), workspace.suite.candidates),
                *(_adding(context, partitions.targets_of(suite), _measured(workspace.suite)) if certifies else []),
            ],
        )

    return candidates


def _is_being_reported(instance: dg.DagsterInstance, stored: StoredVerdict) -> bool:
    return datetime.now(UTC) - stored.decided_at < _RUN_REPORTS_WITHIN and mirror.is_pending(instance, stored)


def _request(workspace: Workspace, waiting: CandidateToEvaluate) -> dg.RunRequest:
    """The run a candidate needs next. Its certification is a run of its own: it is partitioned by target."""
    suite = workspace.suite.name
    due = pipeline.certification_due(workspace, waiting.name)
    return dg.RunRequest(
        run_key=f"{waiting.name}:{waiting.fingerprint}" if due is None else f"{waiting.name}:certify:{due}",
        partition_key=waiting.name,
        asset_selection=keys.candidate_keys(suite) if due is None else [keys.conformance(suite)],
    )


def _measured(suite: Suite) -> list[str]:
    return [suite.baseline, *suite.candidates]


def _adding(
    context: dg.SensorEvaluationContext, partitions_def: dg.DynamicPartitionsDefinition, names: Iterable[str]
) -> list[dg.AddDynamicPartitionsRequest]:
    """A request for the partitions that are not there yet; none where all are."""
    known = partitions_def.get_partition_keys(dynamic_partitions_store=context.instance)
    missing = [name for name in dict.fromkeys(names) if name not in known]
    return [partitions_def.build_add_request(missing)] if missing else []
