"""When a suite's baseline is measured again."""

from collections.abc import Callable

import dagster as dg

from eval_assets.defs import keys, partitions
from eval_assets.suite import Refresh, Suite

_SUGGESTED = Refresh(cron="0 3 * * *")
"""Where a suite names no time; switched off until a person wants it, because measuring costs money."""


def baseline_refresh(suite: Suite) -> dg.ScheduleDefinition:
    """Measure the baseline anew at the suite's `refresh`; a suite without one has the schedule, stopped."""
    refresh = suite.refresh or _SUGGESTED
    status = dg.DefaultScheduleStatus.RUNNING if suite.refresh else dg.DefaultScheduleStatus.STOPPED
    certifies = suite.conformance is not None
    return dg.ScheduleDefinition(
        name=f"{suite.name}_baseline_refresh",
        target=keys.baseline_selection(suite.name, certifies=certifies),
        execution_fn=_with_certification(suite) if certifies else None,
        cron_schedule=refresh.cron,
        execution_timezone=refresh.timezone,
        default_status=status,
        description=f"Measures {suite.baseline}, the baseline of {suite.name}, anew, and checks it for drift.",
    )


def _with_certification(suite: Suite) -> Callable[[dg.ScheduleEvaluationContext], dg.RunRequest]:
    """The baseline's run names its partition, because its certification has one per target."""

    def request(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
        context.instance.add_dynamic_partitions(partitions.targets_name(suite.name), [suite.baseline])
        return dg.RunRequest(partition_key=suite.baseline)

    return request
