"""
Everything Dagster is told: `dagster dev -m eval_assets.definitions`.

A list of what `defs/` builds for each suite, and nothing else.
"""

from pathlib import Path

import dagster as dg

from eval_assets.defs import assets, checks, resources, schedules, sensors, suites

_FOUND = suites.load_suites(suites.suite_files(Path.cwd()))

defs = dg.Definitions(
    assets=[
        *(asset for suite in _FOUND.suites for asset in assets.build_assets(suite)),
        *suites.broken_assets(_FOUND.broken),
    ],
    asset_checks=[check for suite in _FOUND.suites for check in checks.build_checks(suite.name)],
    sensors=[
        sensor
        for suite in _FOUND.suites
        for sensor in sensors.build_sensors(suite.name, certifies=suite.conformance is not None)
    ],
    schedules=[schedules.baseline_refresh(suite) for suite in _FOUND.suites],
    resources={
        resources.key(suite.name): resources.WorkspaceResource(suite_file=str(suite.path)) for suite in _FOUND.suites
    },
    # One process for all steps: a step in a new process costs 5-10 s, and waiting for a model is asyncio's job.
    executor=dg.in_process_executor,
)
