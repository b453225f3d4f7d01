"""Each case's own `expect`: what a reply to it must hold, whatever the suite asks of all cases."""

from __future__ import annotations

from collections.abc import Sequence

from eval_assets.metrics import arguments
from eval_assets.model import expectations
from eval_assets.model.cases import Case, Expect
from eval_assets.model.runs import RunOutput
from eval_assets.model.scores import Failed, Metric, Passed, Score, Unscored

_NOTHING = Expect()


def expectation(*, tags: Sequence[str] = ()) -> Metric:
    """
    The run met the case's own `expect`; the reason names each expectation it did not meet. A run that errored fails.

    Unscored where the case has no `expect`, and where tool calls matter and the trajectory could not be read.
    """
    return Metric("expectation", _as_expected, tags=arguments.labels(tags))


def _as_expected(case: Case, output: RunOutput) -> Score:
    expect = case.expect
    if expect is None or expect == _NOTHING:
        return Unscored("the case has no `expect`" if expect is None else "the case's `expect` asks nothing")
    if output.error is not None:
        return Failed(f"the run errored: {output.error}")
    if output.trace_error is not None and expectations.asks_about_calls(expect):
        return Unscored(f"the trajectory could not be read: {output.trace_error}")
    unmet = expectations.unmet(expect, output.final, output.trajectory.tool_calls)
    return Failed("; ".join(unmet)) if unmet else Passed()
