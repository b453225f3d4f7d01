"""
What every run passes on its way out of a target, whatever the kind: its own count of waits, and redaction.

Behind this edge a secret may be anywhere (an agent sends back what its model said); past it, nowhere.
"""

from __future__ import annotations

from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput
from eval_assets.targets import retrying
from eval_assets.targets.redaction import Redactor
from eval_assets.targets.target import Target


class Guarded:
    """A target whose outputs hold no secret, and whose latency holds no wait that is not the target's own."""

    def __init__(self, target: Target, redactor: Redactor) -> None:
        self._target = target
        self._redactor = redactor

    async def ask(self, case: Case, run_index: int, run_id: str) -> RunOutput:
        """Ask once, as the target does."""
        with retrying.one_run() as waits:
            try:
                output = await self._target.ask(case, run_index, run_id)
            except Exception as failure:  # noqa: BLE001  # its text may hold a key, and would be kept as it is
                return RunOutput(error=self._redactor.text(f"{type(failure).__name__}: {failure}"))
        if output.latency_s is not None and waits.all_s:
            output = output.model_copy(update={"latency_s": max(0.0, output.latency_s - waits.all_s)})
        return self._redactor.output(output)
