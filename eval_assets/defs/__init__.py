"""
The Dagster shell: it says when; what happens is in `pipeline`.

    suites.py      which suites a code location holds, and what becomes of one that cannot be read
    resources.py   the workspace of a suite, handed to whatever runs
    partitions.py  a suite's candidates as partitions
    keys.py        asset keys and names, as INTERFACE promises them
    assets.py      the nine assets of a suite
    checks.py      the gate on `comparison`, and checks beside the other assets
    sensors.py     verdicts mirrored into checks; new candidates requested
    schedules.py   the baseline measured again
    metadata.py    nouns as what the UI shows

No `from __future__ import annotations` and no TYPE_CHECKING in here: dagster reads annotations at run time.
"""
