"""A suite's candidates as partitions of its candidate assets."""

import dagster as dg


def candidates_of(suite: str) -> dg.DynamicPartitionsDefinition:
    """One partition per candidate; dynamic, because candidates arrive while Dagster runs."""
    return dg.DynamicPartitionsDefinition(name=f"{suite}_candidates")
