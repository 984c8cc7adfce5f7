"""Messages behind a Content-Length header, in any cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.content_length import Frames, frame
from gateway.wire.sse import Events

LIMIT = 100_000
MESSAGES = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1)


@given(st.lists(st.binary(min_size=1, max_size=60), max_size=6), st.data())
def test_messages_are_the_same_however_the_bytes_are_cut(messages: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(map(frame, messages))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    frames, found = Frames(LIMIT), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += frames.feed(stream[start:end])
    assert found == messages


def test_further_headers_and_lower_case_are_read() -> None:
    data = b"content-length: 2\r\nContent-Type: application/json\r\n\r\n{}Content-Type: x\r\nContent-Length:2\r\n\r\n[]"
    assert Frames(LIMIT).feed(data) == [b"{}", b"[]"]


def test_what_is_printed_between_messages_is_passed_over() -> None:
    data = b"Warning: something\n" + frame(b"{}") + b"another line\r\n\r\n" + frame(b"[]")
    assert Frames(LIMIT).feed(data) == [b"{}", b"[]"]


def test_a_message_over_the_limit_is_lost_and_the_next_is_read() -> None:
    frames = Frames(10)
    found = frames.feed(frame(b"x" * 1000)[:500])
    found += frames.feed(frame(b"x" * 1000)[500:] + frame(b"{}"))
    assert found == [b"{}"]
    assert frames.lost_count == 1


def test_a_header_that_never_ends_is_not_kept_for_ever() -> None:
    frames = Frames(LIMIT)
    for _ in range(100):
        assert frames.feed(b"content-length: " + b"9" * 1000) == []
    assert len(frames._buffer) < 40_000


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@given(messages=st.lists(MESSAGES, max_size=5), data=st.data())
def test_events_are_the_same_however_the_bytes_are_cut(end: str, messages: list[str], data: st.DataObject) -> None:
    stream = "".join(f": comment{end}event: x{end}data: {text}{end}{end}" for text in messages).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    events, found = Events(LIMIT), []
    for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += events.feed(stream[start:stop])
    assert found == [text.encode() for text in messages]


def test_data_in_several_lines_is_one_message() -> None:
    assert Events(LIMIT).feed(b"data: {\ndata: }\n\n") == [b"{\n}"]


def test_an_event_over_the_limit_is_reported_and_the_next_is_read() -> None:
    long, short = Events(20).feed(b"data: " + b"x" * 100 + b"\n\ndata: ok\n\n")
    assert not isinstance(long, bytes) and long.size > 100
    assert short == b"ok"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_damaged_header_gives_the_same_messages_however_the_bytes_are_cut(size: int) -> None:
    data = (
        b"Content-Length: x\r\n\r\n{}Content-Length: 2\r\nnoise\r\n\r\n" + frame(b"[1]") + b"Content-Length: 3\n\n[2]"
    )
    frames = Frames(100)
    cut = [message for at in range(0, len(data), size) for message in frames.feed(data[at : at + size])]
    assert cut == Frames(100).feed(data) == [b"[1]", b"[2]"]


def test_a_length_of_thousands_of_digits_is_noise() -> None:
    assert Frames(100).feed(b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n" + frame(b"{}")) == [b"{}"]
