"""
What the demo's agents can do: look up an order, look up an account, issue a refund.

The tools answer from files beside this module and change nothing: a refund that is issued is only confirmed, so that
runs do not see one another. The desk's policies are recorded results in `policies.jsonl`, no function.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parent
_BUSINESS_DAYS = 5


def lookup_order(order_id: str) -> dict[str, Any]:
    """
    Find an order by its five-digit number.

    Raises:
        LookupError: There is no such order.
    """
    return {"order_id": order_id, **_record("orders.json", order_id, "order")}


def lookup_account(email: str) -> dict[str, Any]:
    """
    Find a customer's account by its e-mail address.

    Raises:
        LookupError: There is no such account.
    """
    return {"email": email, **_record("accounts.json", email, "account")}


async def issue_refund(order_id: str, amount: float) -> dict[str, Any]:
    """
    Confirm a refund, in dollars, to the card the order was paid with.

    Raises:
        LookupError: There is no such order.
        ValueError: The amount is not positive, or more than was paid.
    """
    paid = _record("orders.json", order_id, "order")["paid"]
    if not 0 < amount <= paid:
        raise ValueError(f"a refund on order {order_id} must be above 0 and at most {paid:.2f}, got {amount}")
    return {"refund_id": f"R-{order_id}", "amount": amount, "business_days": _BUSINESS_DAYS}


def _record(file: str, key: str, noun: str) -> dict[str, Any]:
    records = _records(file)
    if key not in records:
        raise LookupError(f"no {noun} {key!r}")
    return records[key]


@functools.cache
def _records(file: str) -> dict[str, dict[str, Any]]:
    records: dict[str, dict[str, Any]] = json.loads((_DATA / file).read_text(encoding="utf-8"))
    return records
