"""Whether the outcome stayed compliant, whatever the model judged: the second number beside every judgement metric."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from eval_assets.metrics import arguments
from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput
from eval_assets.model.scores import Metric, Score

Compliant = Callable[[RunOutput], "bool | Score | Awaitable[bool | Score]"]
"""Whether an outcome kept the rules; raises to leave the run unscored."""


def governance_held(name: str, compliant: Compliant, *, tags: Sequence[str] = ()) -> Metric:
    """
    The outcome kept the rules: guards, limits and approvals did their work, whether or not the model was right.

    Args:
        name: The metric's name.
        compliant: Gets the output alone, sync or async. It is asked of a run that errored too.
        tags: Ask it only of cases that carry one of these.

    Returns:
        A metric of the governance kind: reports set it beside each judgement metric, and count the runs where the
        model erred and the outcome stayed compliant all the same.
    """
    arguments.text(name, of="governance_held: the metric's name")
    arguments.function(compliant, of=f"governance_held {name!r}: `compliant` must be a function of (output)", takes=1)

    def held(_: Case, output: RunOutput) -> bool | Score | Awaitable[bool | Score]:
        return compliant(output)

    return Metric(name, held, tags=arguments.labels(tags), kind="governance", waits=arguments.is_async(compliant))
