"""
What the demo's models say: a customer-support script that reads the question and the tools' results.

It knows neither the cases nor the records: who asks about order 48213 gets what `lookup_order` returned. No chance and
no HTTP here; slips are handed in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

Kind = Literal["refund", "shipping", "account"]
Slip = Literal[
    "skips_lookup",  # answers without looking the order or account up
    "skips_policy",  # answers a shipping question without reading the policy
    "misreads",  # looks things up, then states the wrong one
    "vague",  # leaves out which order it is about
    "mixes_up_order",  # writes another order's number
    "chatty",  # wraps an answer that was to stand alone in a sentence
    "dawdles",  # looks the same thing up again and again before answering
    "garbles",  # writes its first arguments as broken JSON
    "loops",  # looks the same thing up for ever
]

_ORDER = re.compile(r"(?<!\d)\d{5}(?!\d)")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_REFUND = re.compile(r"refund|money back|reimburse|return(?:ed|ing)? ", re.IGNORECASE)
_SHIPPING_TOPICS = (
    ("lost parcel", r"\blost\b|vanished|disappeared|not moved|no scan"),
    ("address change", r"address|moved|send it to"),
    ("express upgrade", r"express|faster|sooner"),
    ("damaged parcel", r"damaged|broken|cracked|crushed|dented"),
    ("pickup point", r"pickup|pick it up|collect"),
    ("late delivery", r"\blate\b|overdue|delay|should have (?:been|arrived|come)"),
)
_ACCOUNT_FIELDS = (
    ("renews", r"renew"),
    ("points", r"points"),
    ("two_factor", r"two-factor|2fa|second factor"),
    ("newsletters", r"newsletter|mailing list|subscri"),
    ("cities", r"cities|city|saved address"),
    ("plan", r"plan|membership|tier"),
)
_MOST_LOOKUPS = 2
_DAWDLING_CALLS = 4
_GUESSED_AMOUNT = 19.99

_NO_TOOLS = "I cannot look that up from here; please ask a colleague at the support desk."
_NOT_FOUND = "I am sorry, I could not find that in our records. Could you check the details and write again?"
_EVASIVE = "A colleague will get back to you by tomorrow; the tracking page has the latest."


class Question(NamedTuple):
    """What a customer wants, as the script reads it."""

    kind: Kind
    subject: str
    """The order's number or the account's e-mail address; empty where the text names none."""
    topic: str
    """For shipping the policy's topic, for an account the field asked for."""


class Call(NamedTuple):
    """A turn that calls a tool."""

    name: str
    arguments: str
    """JSON, unless the model garbled it."""


class Say(NamedTuple):
    """A turn that answers."""

    text: str


class Made(NamedTuple):
    """A call that was made, and what the tool said."""

    name: str
    result: Any
    """The tool message's content, decoded where it is JSON."""


def read_question(text: str) -> Question:
    """Tell what a customer wants from the words they use."""
    order, email = _ORDER.search(text), _EMAIL.search(text)
    if email and not order:
        return Question("account", email.group(), _first_match(_ACCOUNT_FIELDS, text))
    number = order.group() if order else ""
    if _REFUND.search(text):
        return Question("refund", number, "opened items")
    return Question("shipping", number, _first_match(_SHIPPING_TOPICS, text))


def next_turn(
    question: Question, slips: Collection[Slip], made: Sequence[Made], *, offered: Collection[str]
) -> Call | Say:
    """
    What a model does next.

    Args:
        question: What the customer wants.
        slips: What goes wrong in this run.
        made: The calls made so far, in order.
        offered: Names of the tools the request offers.
    """
    turn = _turn(question, slips, made)
    return Say(_NO_TOOLS) if isinstance(turn, Call) and turn.name not in offered else turn


def _turn(question: Question, slips: Collection[Slip], made: Sequence[Made]) -> Call | Say:
    if "loops" in slips:
        return _lookup(question)
    turn = _SCRIPTS[question.kind](question, slips, made)
    if isinstance(turn, Call) and "garbles" in slips and not made:
        return turn._replace(arguments=turn.arguments.rstrip("}"))
    if isinstance(turn, Say) and "dawdles" in slips and _looked_up(made) and len(made) < _DAWDLING_CALLS:
        return _lookup(question)
    return turn


def _refund(question: Question, slips: Collection[Slip], made: Sequence[Made]) -> Call | Say:
    order = _result(made, "lookup_order", "paid")
    policy = _result(made, "search_policy", "fee_percent")
    refund = _result(made, "issue_refund", "amount", "business_days")
    if order is None and "skips_lookup" not in slips:
        return _lookup_or_give_up(question, made)
    if order and order.get("opened") and policy is None and _times(made, "search_policy") < _MOST_LOOKUPS:
        return _call("search_policy", topic=question.topic)
    if refund is None and _times(made, "issue_refund") < _MOST_LOOKUPS:
        return _call("issue_refund", order_id=question.subject, amount=_due(order, policy))
    return Say(_refund_answer(question, slips, refund)) if refund else Say(_NOT_FOUND)


def _due(order: Mapping[str, Any] | None, policy: Mapping[str, Any] | None) -> float:
    if order is None:
        return _GUESSED_AMOUNT
    kept: float = policy["fee_percent"] if policy else 0
    return round(float(order["paid"]) * (100 - kept) / 100, 2)


def _refund_answer(question: Question, slips: Collection[Slip], refund: Mapping[str, Any]) -> str:
    amount = refund["amount"] + (10 if "misreads" in slips else 0)
    within = f"within {refund['business_days']} business days"
    if "vague" in slips:
        return f"All done: ${amount:.2f} is on its way back to your card and arrives {within}."
    return f"I have issued a refund of ${amount:.2f} for {_named(question, slips)}. It reaches your card {within}."


def _shipping(question: Question, slips: Collection[Slip], made: Sequence[Made]) -> Call | Say:
    order = _result(made, "lookup_order", "order_id")
    policy = _result(made, "search_policy", "field", "at_least", "at_most", "then", "otherwise")
    if order is None and "skips_lookup" not in slips:
        return _lookup_or_give_up(question, made)
    if policy is None and "skips_policy" not in slips and _times(made, "search_policy") < _MOST_LOOKUPS:
        return _call("search_policy", topic=question.topic)
    answer = _outcome(order, policy, slips) if order and policy else _EVASIVE
    about = "your parcel" if "vague" in slips else _named(question, slips)
    return Say(f"I checked {about}: {answer}")


def _outcome(order: Mapping[str, Any], policy: Mapping[str, Any], slips: Collection[Slip]) -> str:
    applies = policy["at_least"] <= order.get(policy["field"], -1) <= policy["at_most"]
    return str(policy["then"] if applies != ("misreads" in slips) else policy["otherwise"])


def _account(question: Question, slips: Collection[Slip], made: Sequence[Made]) -> Call | Say:
    account = _result(made, "lookup_account", *(name for name, _ in _ACCOUNT_FIELDS))
    if account is None and "skips_lookup" not in slips:
        return _lookup_or_give_up(question, made)
    if account is None:
        return Say(_EVASIVE)
    answer = _plain(account[_field_beside(question.topic) if "misreads" in slips else question.topic])
    return Say(f"Here is what I found for you: {answer}" if "chatty" in slips else answer)


def _field_beside(field: str) -> str:
    fields = [name for name, _ in _ACCOUNT_FIELDS]
    return fields[(fields.index(field) + 1) % len(fields)]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _named(question: Question, slips: Collection[Slip]) -> str:
    number = question.subject
    transposed = number[:-2] + number[-1:] + number[-2:-1]
    return f"order #{transposed if 'mixes_up_order' in slips else number}"


def _lookup_or_give_up(question: Question, made: Sequence[Made]) -> Call | Say:
    tried = sum(_times(made, name) for name in ("lookup_order", "lookup_account"))
    return Say(_NOT_FOUND) if tried >= _MOST_LOOKUPS else _lookup(question)


def _lookup(question: Question) -> Call:
    if question.kind == "account":
        return _call("lookup_account", email=question.subject)
    return _call("lookup_order", order_id=question.subject)


def _call(name: str, **arguments: Any) -> Call:
    return Call(name, json.dumps(arguments))


def _looked_up(made: Sequence[Made]) -> bool:
    return any(call.name.startswith("lookup_") for call in made)


def _times(made: Sequence[Made], name: str) -> int:
    return sum(call.name == name for call in made)


def _result(made: Sequence[Made], name: str, *needed: str) -> Mapping[str, Any] | None:
    """The last result of a tool that holds what is needed of it; one that reports an error is none."""
    results = (call.result for call in reversed(made) if call.name == name)
    return next((result for result in results if isinstance(result, dict) and result.keys() >= set(needed)), None)


def _first_match(topics: Sequence[tuple[str, str]], text: str) -> str:
    return next((topic for topic, words in topics if re.search(words, text, re.IGNORECASE)), topics[-1][0])


_SCRIPTS = {"refund": _refund, "shipping": _shipping, "account": _account}
