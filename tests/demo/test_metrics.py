"""The demo's own metric."""

from __future__ import annotations

import pytest

from eval_assets.demo import metrics
from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput


@pytest.mark.parametrize(
    ("final", "cites"),
    [
        ("Refunded order #48213.", True),
        ("Refunded order #48231.", False),
        ("Refunded #48213 and #48297.", False),
        ("Refunded.", False),
        (None, False),
    ],
)
def test_the_order_asked_about_is_cited(final: str | None, cites: bool) -> None:
    case = Case(name="a", input="About order #48213, please")

    assert metrics.cites_order_number(case, RunOutput(final=final)) is cites
