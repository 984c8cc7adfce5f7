"""Server-sent events: the quick way for plain ones gives what the long way gives, whatever comes, in any cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.lines import TooLong
from gateway.wire.sse import Events

PIECES = [b"data: a\n", b"data: {}\n", b"\n", b"\n\n", b"id: 3\n", b"event: x\n", b"data:\n", b"data: \n", b"data:x\n"]
PIECES += [b"foo: data: y\n", b"\r\n", b": note\n", b"data: {}\r\n", b"x", b"data: " + b"q" * 30 + b"\n"]
PIECES += [b"id: 1\ndata: z\n\n"] * 5


class LongWay(Events):
    def _take_plain(self, found: list[bytes | TooLong]) -> None:
        return None


@given(
    st.lists(st.sampled_from(PIECES), max_size=14), st.lists(st.integers(1, 40), min_size=1), st.sampled_from([20, 999])
)
def test_both_ways_give_the_same(pieces: list[bytes], cuts: list[int], limit: int) -> None:
    text = b"".join(pieces)
    quick, slow = Events(limit), LongWay(limit)
    found: list[bytes | TooLong] = []
    wanted: list[bytes | TooLong] = []
    at = number = 0
    while at < len(text):
        end = at + cuts[number % len(cuts)]
        found += quick.feed(text[at:end])
        wanted += slow.feed(text[at:end])
        at, number = end, number + 1
    assert found == wanted


@pytest.mark.parametrize("count", [1, 3])
def test_plain_events_are_taken_at_once_and_the_rest_waits(count: int) -> None:
    events = Events(1000)
    assert events.feed(b"id: 1\ndata: {}\n\n" * count + b"id: 2\nda") == [b"{}"] * count
    assert events.feed(b"ta: []\n\n") == [b"[]"]
