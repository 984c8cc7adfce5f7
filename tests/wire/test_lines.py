"""Bytes in any cut → whole lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.lines import START_BYTES, Lines, TooLong

PIECES = st.sampled_from([b"a", b"bc", b"\n", b"\n\n", b"\r\n", b"\r", b" ", b"\t\n", b"x" * 7, b'{"k":1}\n'])
STREAMS = st.lists(PIECES, max_size=30).map(b"".join)
CUTS = st.lists(st.integers(0, 100), max_size=12)


def read(limit: int, *parts: bytes) -> list[bytes | TooLong]:
    lines = Lines(limit)
    return [line for part in parts for line in lines.feed(part)] + lines.eof()


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    return [data[start:end] for start, end in zip(edges, edges[1:], strict=False)]


@given(STREAMS, CUTS, st.integers(1, 20))
def test_any_cut_of_the_bytes_gives_the_same_lines(data: bytes, places: list[int], limit: int) -> None:
    assert read(limit, *cut(data, places)) == read(limit, data)


@given(STREAMS, st.integers(1, 20))
def test_byte_by_byte_is_no_different(data: bytes, limit: int) -> None:
    assert read(limit, *(bytes([byte]) for byte in data)) == read(limit, data)


@given(STREAMS)
def test_nothing_is_lost_but_line_ends_and_blank_lines(data: bytes) -> None:
    plain = [line.rstrip(b"\r") for line in data.split(b"\n")]
    assert read(1000, data) == [line for line in plain if line.strip()]


def test_a_line_is_read_when_it_ends() -> None:
    lines = Lines(100)
    assert lines.feed(b"one\ntw") == [b"one"]
    assert lines.feed(b"") == []
    assert lines.feed(b"o") == []
    assert lines.feed(b"\nthree\nfour") == [b"two", b"three"]
    assert lines.eof() == [b"four"]
    assert lines.eof() == []


@pytest.mark.parametrize("parts", [(b"one\r\ntwo\r\n",), (b"one\r", b"\ntwo\r", b"\n")])
def test_a_return_before_the_line_end_belongs_to_it(parts: tuple[bytes, ...]) -> None:
    assert read(100, *parts) == [b"one", b"two"]


def test_spaces_and_returns_inside_a_line_are_its_own() -> None:
    assert read(100, b"  a\rb  \n") == [b"  a\rb  "]


def test_a_line_of_just_the_limit_passes() -> None:
    assert read(5, b"12345\n123456\n12345\n") == [b"12345", TooLong(6, b"123456"), b"12345"]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_line_over_the_limit_is_lost_and_the_next_is_read(size: int) -> None:
    data = b"before\n" + b"0123456789" * 100 + b"\nafter\n"
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    assert read(50, *parts) == [b"before", TooLong(1000, (b"0123456789" * 100)[:START_BYTES]), b"after"]


def test_a_line_over_the_limit_is_reported_even_without_its_end() -> None:
    assert read(3, b"12", b"34") == [TooLong(4, b"1234")]


def test_a_lost_line_is_not_kept() -> None:
    lines = Lines(1000)
    for _ in range(1000):
        lines.feed(b"x" * 1000)
    assert len(lines._buffer) == 0
    assert lines.feed(b"\n") == [TooLong(1_000_000, b"x" * START_BYTES)]


def test_small_pieces_cost_no_more_than_their_bytes() -> None:
    lines = Lines(1_000_000)
    for _ in range(100_000):
        lines.feed(b"xy")
    assert lines._buffer.__sizeof__() < 300_000
    assert lines.feed(b"\n") == [b"xy" * 100_000]
