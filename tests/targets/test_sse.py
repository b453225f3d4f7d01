"""Event streams cut anywhere."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_assets.targets.sse import Decoder, Event

STREAM = 'event: a\ndata: {"x":\ndata: 1}\n\n: comment\r\n\r\ndata:é\u2028ü\r\rdata: last'
EVENTS = [Event("a", '{"x":\n1}'), Event("", "é\u2028ü"), Event("", "last")]


def decoded(*chunks: bytes) -> list[Event]:
    decoder = Decoder()
    return [*(event for chunk in chunks for event in decoder.feed(chunk)), *decoder.end()]


@given(cuts=st.lists(st.integers(min_value=0, max_value=len(STREAM.encode()))))
def test_where_it_is_cut_does_not_matter(cuts: list[int]) -> None:
    whole = STREAM.encode()
    edges = [0, *sorted(cuts), len(whole)]

    assert decoded(*(whole[a:b] for a, b in itertools.pairwise(edges))) == EVENTS


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_in_three_ways(end: str) -> None:
    assert decoded(f"data: 1{end}{end}data: 2{end}{end}".encode()) == [Event("", "1"), Event("", "2")]


def test_invalid_utf_8_is_replaced() -> None:
    assert decoded(b"data: \xff\n\n") == [Event("", "\ufffd")]
