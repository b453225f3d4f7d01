"""The demo's own questions about a run; a suite names them as `custom` metrics."""

from __future__ import annotations

import re

from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput

_ORDER_NUMBER = re.compile(r"\b\d{5}\b")


def cites_order_number(case: Case, output: RunOutput) -> bool:
    """Whether the final text names the very order the customer asked about, and no other."""
    return set(_ORDER_NUMBER.findall(output.final or "")) == set(_ORDER_NUMBER.findall(case.input))
