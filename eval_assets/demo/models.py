"""
Who the demo server plays: the models, how often each slips, and where their chance comes from.

Nothing here knows what a model says; that is `script.py`. Chance is a hash of what was asked and which start of that
conversation it is, so a seed gives the same runs however many are in flight and in whatever order they arrive.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from eval_assets.demo.script import Kind, Slip

DEFAULT_SEED = 12
_SLIPS: Mapping[Slip, float] = {
    "skips_lookup": 0.035,
    "skips_policy": 0.035,
    "misreads": 0.075,
    "vague": 0.05,
    "mixes_up_order": 0.025,
    "chatty": 0.06,
    "dawdles": 0.05,
    "garbles": 0.03,
    "loops": 0.012,
}
_MOST_LIKELY = 0.95


@dataclass(frozen=True)
class SupportModel:
    """One served model: how likely each slip is on a case of middling difficulty, and how often its server is down."""

    slips: Mapping[Slip, float]
    """Probability of each slip, in [0, 1]."""
    slips_on: Mapping[Kind, Mapping[Slip, float]] = field(default_factory=dict)
    """Probabilities that replace those above on one kind of question."""
    unavailable: float = 0.0
    """Share of runs that are answered 503 from their second turn on, however often they try again; in [0, 1]."""

    def chance_of(self, slip: Slip, kind: Kind) -> float:
        """The probability of a slip on a kind of question, before the difficulty of the case."""
        return self.slips_on.get(kind, {}).get(slip, self.slips[slip])


_CAREFUL = {slip: chance / 2 for slip, chance in _SLIPS.items()}

MODELS: Mapping[str, SupportModel] = {
    "support-1": SupportModel(slips=_SLIPS),
    "support-2": SupportModel(slips=_CAREFUL),
    "support-2-hasty": SupportModel(slips=_SLIPS, slips_on={"refund": {"skips_lookup": 0.6}}),
    "support-2-flaky": SupportModel(slips=_CAREFUL, unavailable=0.25),
}
"""The served models by name: the baseline, a better one, one that hurries refunds, one whose server is often down."""


class Start(NamedTuple):
    """One start of a conversation with a model; everything that is left to chance in a run follows from it."""

    seed: int
    model: str
    prompt: str
    """The conversation's first user message."""
    earlier: int
    """How many times this model had been asked this before."""

    def draw(self, what: str) -> float:
        """A number in [0, 1), the same each time for the same thing."""
        return _fraction("\0".join((*map(str, self), what)))

    def token(self, what: str, *, length: int) -> str:
        """A hexadecimal identifier, the same each time for the same thing."""
        return hashlib.sha256("\0".join((*map(str, self), what)).encode()).hexdigest()[:length]

    def is_unavailable(self) -> bool:
        """Whether the model's server gives up on this run."""
        return self.draw("unavailable") < MODELS[self.model].unavailable

    def slips(self, kind: Kind) -> frozenset[Slip]:
        """What goes wrong in this run."""
        model, difficulty = MODELS[self.model], _difficulty(self.prompt)
        return frozenset(
            slip
            for slip in model.slips
            if self.draw(slip) < min(_MOST_LIKELY, model.chance_of(slip, kind) * difficulty)
        )


def _difficulty(prompt: str) -> float:
    """
    How much likelier slips are on this prompt, in [0.4, 1.6), 1 on average; the same for every model and seed.

    Because repeats of a real case are alike: some cases are hard for everyone.
    """
    return 0.4 + 1.2 * _fraction(prompt)


def _fraction(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7]) / 2**56
