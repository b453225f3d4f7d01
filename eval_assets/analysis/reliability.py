"""What a metric's repeats say beyond its rate: how alike runs of a case are, and how far the rate reaches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from eval_assets.model.scores import CaseCount
from eval_assets.stats import intervals, reliability

_LONGEST_CURVE = 100  # pass^k of more runs than this is 0 or 1 to the eye.


def by_metric(counts: Iterable[CaseCount]) -> dict[str, dict[str, Any]]:
    """
    Describe each metric of a report, from its counts case by case.

    Returns:
        By metric: `measured` of `expected` runs and the `worst_rate` and `best_rate` the unscored ones could have made
        (None where none was expected); `effective_runs`, copies counted once; the rate of `cases_like_these` with its
        interval, where these cases' own is the stat's; `icc` and `design_effect` (None where runs of a case cannot be
        compared); `pass_at` and `pass_hat`, entry k - 1 being about k runs.
    """
    grouped: dict[str, list[CaseCount]] = {}
    for count in counts:
        grouped.setdefault(count.metric, []).append(count)
    return {metric: _of(cases) for metric, cases in sorted(grouped.items())}


class Sums(NamedTuple):
    """A metric's runs over all cases."""

    passes: int
    scored: int
    unscored: int

    @property
    def expected(self) -> int:
        """Runs the metric was asked of."""
        return self.scored + self.unscored

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """The rate if every unscored run had failed, and if every one had passed."""
        if not self.expected:
            return None, None
        return self.passes / self.expected, (self.passes + self.unscored) / self.expected


def _of(cases: Sequence[CaseCount]) -> dict[str, Any]:
    passes, scored = [case.passes for case in cases], [case.scored for case in cases]
    sums = Sums(sum(passes), sum(scored), sum(case.unscored for case in cases))
    alike = reliability.intraclass_correlation(passes, scored)
    curves = reliability.pass_curves(passes, scored, longest=_LONGEST_CURVE)
    worst, best = sums.bounds
    return {
        "measured": sums.scored,
        "expected": sums.expected,
        "worst_rate": worst,
        "best_rate": best,
        "effective_runs": sum(case.effective_scored for case in cases),
        "cases_like_these": _interval(intervals.wilson_over_cases(passes, scored)._asdict()),
        "icc": None if alike is None else alike.icc,
        "design_effect": None if alike is None else alike.design_effect,
        "pass_at": curves.pass_at.tolist(),
        "pass_hat": curves.pass_hat.tolist(),
    }


def _interval(found: Mapping[str, float]) -> dict[str, float]:
    return {"rate": found["rate"], "ci_low": found["low"], "ci_high": found["high"]}
