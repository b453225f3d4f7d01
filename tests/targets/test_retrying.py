"""What a server tells of when to come back, in each of its ways."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from eval_assets.targets import retrying


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after": "1", "retry-after-ms": "1250"}, 1.25),
        ({"retry-after": formatdate(1_000_030, usegmt=True), "date": formatdate(1_000_000, usegmt=True)}, 30.0),
        ({"retry-after": formatdate(1_000_000, usegmt=True), "date": formatdate(1_000_030, usegmt=True)}, 0.0),
        ({"x-ratelimit-reset": "12"}, 12.0),
        ({"ratelimit-reset": "3"}, 3.0),
        ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-requests": "0"}, 360.0),
        ({"x-ratelimit-reset-tokens": "20ms", "x-ratelimit-remaining-tokens": "0"}, 0.02),
        ({"x-ratelimit-reset-tokens": "2m", "x-ratelimit-remaining-tokens": "149000"}, None),
        ({"retry-after": "1", "x-ratelimit-reset-requests": "6m0s"}, 1.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "-5"}, None),
        ({}, None),
    ],
)
def test_a_wait_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retrying.told_wait_s(429, headers) == (seconds if seconds is None else pytest.approx(seconds))


def test_a_moment_is_counted_from_now() -> None:
    """With no clock of the server's to go by, ours is it."""
    at = time.time() + 30

    assert retrying.told_wait_s(429, {"retry-after": formatdate(at, usegmt=True)}) == pytest.approx(30, abs=1.5)
    assert retrying.told_wait_s(429, {"x-ratelimit-reset": str(int(at))}) == pytest.approx(30, abs=1.5)
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
    assert retrying.told_wait_s(429, {"anthropic-ratelimit-requests-reset": moment}) == pytest.approx(30, abs=1.5)


def test_a_wait_is_read_in_the_body_too() -> None:
    body = b'{"error": {"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]}}'

    assert retrying.told_wait_s(429, {}, body) == 34.5


def test_what_resets_a_limit_says_nothing_of_another_trouble() -> None:
    assert retrying.told_wait_s(503, {"x-ratelimit-reset": "3600"}) is None


def test_backoff_is_spread_from_zero_to_a_doubling_ceiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_BACKOFF_S", 0.5)

    def largest(attempt: int) -> float:
        return max(retrying.backoff_s(attempt, rate_limited=False, ceiling_s=3) for _ in range(2000))

    assert largest(1) == pytest.approx(0.5, rel=0.05)
    assert largest(2) == pytest.approx(1.0, rel=0.05)
    assert largest(9) == pytest.approx(3.0, rel=0.05)
    assert min(retrying.backoff_s(9, rate_limited=False, ceiling_s=3) for _ in range(2000)) < 0.1
