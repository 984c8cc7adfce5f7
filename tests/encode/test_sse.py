from __future__ import annotations

import pytest

from gateway import jsonio
from gateway.agui.validate import validate
from gateway.encode import sse
from tests.encode.vectors import VECTORS, Vector


def test_a_frame_has_its_number_and_its_line_and_ends_with_an_empty_line() -> None:
    assert sse.encode_frames(7, [b'{"type":"RAW"}']) == b'id: 7\ndata: {"type":"RAW"}\n\n'


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 500])
def test_numbers_go_on_from_the_first_however_many_there_are(count: int) -> None:
    lines = [b'{"n":%d}' % n for n in range(count)]
    one_by_one = b"".join(sse.encode_frames(99 + at, [line]) for at, line in enumerate(lines))
    assert sse.encode_frames(99, lines) == one_by_one
    assert one_by_one.count(b"\n\n") == count


def test_a_percent_sign_in_a_line_is_only_a_percent_sign() -> None:
    lines = [b'{"d":"100%% %d %b"}'] * 20
    assert sse.encode_frames(1, lines).count(b'data: {"d":"100%% %d %b"}\n\n') == 20


def test_no_carriage_return_is_ever_written() -> None:
    frames = sse.encode_frames(1, [jsonio.dumps({"type": "CUSTOM", "name": "n", "value": "a\r\nb\rc"})] * 9)
    assert b"\r" not in frames + sse.KEEP_ALIVE


def test_the_keep_alive_is_a_comment() -> None:
    assert sse.KEEP_ALIVE == b": keep-alive\n\n"


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_a_frame_has_the_content_of_the_official_one(vector: Vector) -> None:
    head, line, *rest = sse.encode_frames(3, [jsonio.dumps(validate(vector.event))]).split(b"\n")
    assert (head, rest) == (b"id: 3", [b"", b""])
    assert line.startswith(b"data: ")
    assert jsonio.loads(line[6:]) == jsonio.loads(vector.json)


def test_all_vectors_are_there() -> None:
    assert len(VECTORS) == 111
    assert len({vector.event["type"] for vector in VECTORS}) == 31
