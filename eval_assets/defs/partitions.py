"""A suite's candidates and targets as partitions."""

import dagster as dg


def candidates_of(suite: str) -> dg.DynamicPartitionsDefinition:
    """One partition per candidate; dynamic, because candidates arrive while Dagster runs."""
    return dg.DynamicPartitionsDefinition(name=f"{suite}_candidates")


def targets_of(suite: str) -> dg.DynamicPartitionsDefinition:
    """One partition per target that is measured: the baseline and the candidates."""
    return dg.DynamicPartitionsDefinition(name=targets_name(suite))


def targets_name(suite: str) -> str:
    """What the partitions of a suite's targets are called."""
    return f"{suite}_targets"
