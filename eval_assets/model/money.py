"""What runs cost: a price per token, and a cost that says how much of it is unknown. Unknown is never 0."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from eval_assets.model.base import Noun

Usd = Annotated[float, Field(gt=0, strict=True)]
"""Dollars to be spent at most; strict, because `true` would pass for 1."""
_PerMillion = Annotated[float, Field(ge=0, strict=True)]
_MILLION = 1_000_000


class Price(Noun):
    """What a provider charges, in US dollars per million tokens."""

    input_per_million: _PerMillion
    output_per_million: _PerMillion

    def cost(self, input_tokens: int | None, output_tokens: int | None) -> float | None:
        """What a run cost; None where it did not say both its counts."""
        if input_tokens is None or output_tokens is None:
            return None
        spent = input_tokens * self.input_per_million + output_tokens * self.output_per_million
        return spent / _MILLION


class Cost(Noun):
    """What an evaluation cost, as far as its runs said what they used."""

    known: float = Field(ge=0)
    """US dollars of the runs whose usage is known."""
    runs_without_usage: int = Field(ge=0)
    """Runs that did not say what they used, unanswered ones included."""
    total: float | None = Field(default=None, ge=0)
    """US dollars of all runs; None where any run's are unknown."""
