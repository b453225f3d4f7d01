"""The demo's tools answer from their records and refuse what cannot be."""

from __future__ import annotations

import asyncio

import pytest

from eval_assets.demo import tools


def test_an_order_is_found_by_its_number() -> None:
    assert tools.lookup_order("48297")["paid"] == 120


@pytest.mark.parametrize("order_id", ["", "99999", "48213 "])
def test_an_unknown_order_is_said_to_be_unknown(order_id: str) -> None:
    with pytest.raises(LookupError, match="no order"):
        tools.lookup_order(order_id)


def test_an_account_is_found_by_its_address() -> None:
    assert tools.lookup_account("mara.lind@example.com")["plan"] == "Premium"


@pytest.mark.parametrize("amount", [0, -5, 120.01])
def test_no_more_is_refunded_than_was_paid(amount: float) -> None:
    with pytest.raises(ValueError, match=r"at most 120\.00"):
        asyncio.run(tools.issue_refund("48297", amount))
