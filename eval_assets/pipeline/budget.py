"""What an evaluation may spend: whether the plan fits, and when spending has reached the limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eval_assets.errors import ConfigError, EvaluationIncomplete, Problem
from eval_assets.execution.executor import PlannedRun
from eval_assets.execution.journal import Journal
from eval_assets.model.money import Price
from eval_assets.model.runs import Run, Usage
from eval_assets.pipeline.workspace import Workspace
from eval_assets.suite import Suite
from eval_assets.targets import opening


def problems(suite: Suite, target: str) -> list[str]:
    """What keeps a budget from being held: a target that is paid for and says no price."""
    paid = opening.is_live(target, suite.targets)
    if suite.budget_usd is None or not paid or opening.price_of(target, suite.targets) is not None:
        return []
    return [
        f"the suite has a budget_usd of {suite.budget_usd:g}, but this target has no price; add "
        "`price: {input_per_million: …, output_per_million: …}`, 0 and 0 where it costs nothing"
    ]


def budget_of(workspace: Workspace, kept: Journal) -> Budget | None:
    """The budget of an evaluation, with what its kept runs spent; None where there is no limit or nothing to pay."""
    suite, evaluation = workspace.suite, kept.evaluation
    if suite.budget_usd is None or evaluation.price is None or evaluation.replayed_from is not None:
        return None
    earlier = workspace.store.largest_run_cost(suite.name, evaluation.target, evaluation.price)
    budget = Budget(suite.budget_usd, evaluation.price, earlier=earlier, patience=suite.concurrency)
    for usage, answered in kept.usages():
        budget.add(usage, answered=answered)
    return budget


class Budget:
    """Counts what an evaluation spends. A run that does not say what it used counts as much as the dearest known."""

    def __init__(self, limit: float, price: Price, *, earlier: float | None, patience: int) -> None:
        self.limit = limit
        self._price = price
        self._earlier = earlier
        self._patience = patience
        self._known: float = 0
        self._known_runs = 0
        self._unknown_runs = 0
        self._answered_unknown = 0
        self._largest: float | None = None
        self._in_flight = 0

    @property
    def spent(self) -> float:
        """US dollars, with an estimate for the runs that did not say."""
        return self._known + self._unknown_runs * (self._worst or 0)

    @property
    def is_reached(self) -> bool:
        """Whether what was spent, and what is under way at the mean cost of a run, comes to the limit."""
        mean = self._known / self._known_runs if self._known_runs else self._earlier or 0
        return self.spent + self._in_flight * mean >= self.limit or self._is_blind

    def add(self, usage: Usage, *, answered: bool = True) -> None:
        """Count a finished run."""
        cost = self._price.cost(usage.input_tokens, usage.output_tokens)
        if cost is None:
            self._unknown_runs += 1
            self._answered_unknown += answered
            return
        self._known += cost
        self._known_runs += 1
        self._largest = max(self._largest or 0, cost)

    def finished(self, run: Run) -> None:
        """Count a run that was under way."""
        self._in_flight -= 1
        self.add(run.output.usage, answered=not run.output.unavailable)

    def affordable(self, planned: Iterable[PlannedRun]) -> Iterator[PlannedRun]:
        """The planned runs, up to where the budget is reached; what is under way by then is finished and kept."""
        for run in planned:
            if self.is_reached:
                return
            self._in_flight += 1
            yield run

    def check_plan(self, kept: Journal) -> None:
        """
        Refuse an evaluation that would go beyond the budget if every run to come cost as much as the dearest known.

        Where nothing is known yet it may begin, and stops when spending reaches the budget.

        Raises:
            ConfigError: It would; nothing was asked.
        """
        missing = kept.evaluation.total_runs - len(kept.finished)
        if self._worst is None or not missing:
            return
        needed = self.spent + missing * self._worst
        if needed <= self.limit:
            return
        source = "of this evaluation" if self._largest is not None else "of its last evaluation"
        before = f"${self.spent:.4f} were spent and " if kept.finished else ""
        raise ConfigError(
            Problem(
                f"target {kept.evaluation.target!r}: {before}{missing} runs at ${self._worst:.4f}, the dearest run "
                f"{source}, come to ${needed:.4f}, more than the budget_usd of {self.limit:g}; raise it, or ask fewer "
                "runs or cases"
            )
        )

    def stopped(self, kept: Journal) -> EvaluationIncomplete:
        """Why an evaluation ended before its last run."""
        finished, expected = len(kept.finished), kept.evaluation.total_runs
        if self._is_blind:
            why = (
                f"none of the {finished} finished runs said how many tokens it used, so a budget_usd of "
                f"{self.limit:g} cannot be held"
            )
        else:
            guessed = f", {self._unknown_runs} runs without usage at the dearest known" if self._unknown_runs else ""
            why = f"${self.spent:.4f} of the budget_usd of {self.limit:g} are spent{guessed}"
        return EvaluationIncomplete(
            f"stopped by the budget: {why}. {finished} of {expected} runs are kept in {kept.path}; raise budget_usd, "
            "and the same command goes on there",
            finished=finished,
            expected=expected,
            reason="budget",
        )

    @property
    def _worst(self) -> float | None:
        """The dearest known run, of this evaluation or else of the last."""
        return self._earlier if self._largest is None else self._largest

    @property
    def _is_blind(self) -> bool:
        return self._worst is None and self._answered_unknown >= self._patience
