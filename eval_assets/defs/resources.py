"""The workspace of a suite, handed to whatever runs. Opens files, decides nothing."""

from pathlib import Path
from typing import cast

import dagster as dg

from eval_assets import pipeline
from eval_assets.pipeline import Workspace


class WorkspaceResource(dg.ConfigurableResource):  # type: ignore[type-arg]  # the type parameter is dagster's own business
    """A suite and its home. The suite is read anew each time, so that an edited file counts from the next run on."""

    suite_file: str
    """Path of the suite.yaml."""

    def open(self) -> Workspace:
        """
        Load the suite as it is now.

        Raises:
            ConfigError: Every problem of the suite at once.
        """
        return pipeline.open_workspace(Path(self.suite_file))


def key(suite: str) -> str:
    """A key per suite, because a code location has one set of resources for all of its suites."""
    return f"{suite}_workspace"


def workspace_of(resources: object, suite: str) -> Workspace:
    """The workspace of a suite, from the resources of a running asset, check or sensor."""
    return cast(WorkspaceResource, getattr(resources, key(suite))).open()
