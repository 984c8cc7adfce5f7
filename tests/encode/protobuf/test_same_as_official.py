"""Frames that differ from one that was read only in their text take a short way. They read as on the long one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.encode.protobuf import decoder
from gateway.encode.protobuf.decoder import FrameDecoder, decode
from gateway.encode.protobuf.encoder import encode_frame, encode_frames
from gateway.encode.protobuf.pb import ag_ui_pb2
from gateway.encode.protobuf.tables import varint
from gateway.errors import AgentFault
from gateway.events import Wire

KEYS = {"TEXT_MESSAGE_CONTENT": "messageId", "REASONING_MESSAGE_CONTENT": "messageId", "TOOL_CALL_ARGS": "toolCallId"}
TEXTS = st.sampled_from(["", "a", "b", "word", "drow", "é", "🎉", "x" * 130, "y" * 130, "\x12\x01m"])
DELTAS = st.builds(
    lambda kind, key, text, more: {"type": kind, KEYS[kind]: key, "delta": text, **more},
    st.sampled_from(list(KEYS)),
    st.sampled_from(["m", "n", "longer"]),
    TEXTS,
    st.sampled_from([{}, {}, {}, {"subagentRunId": "s"}, {"timestamp": 1}]),
)


def sized(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


@given(st.lists(DELTAS, max_size=12), st.integers(1, 300))
def test_the_short_way_reads_what_the_long_one_reads(events: list[Wire], size: int) -> None:
    body = encode_frames(events)
    reader, found = FrameDecoder(), list[Wire]()
    for at in range(0, len(body), size):
        found += reader.feed(body[at : at + size])
    reader.eof()
    assert found == [decode(encode_frame(event)[4:]) for event in events]


def test_most_deltas_do_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []

    def counted(data: bytes) -> Wire | None:
        read.append(data)
        return decode(data)

    monkeypatch.setattr(decoder, "decode", counted)
    events = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": f"{n:03}"} for n in range(100)]
    assert FrameDecoder().feed(encode_frames(events)) == events
    assert len(read) == 1


def test_text_that_is_not_unicode_is_still_refused() -> None:
    good = encode_frame({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "ab"})
    reader = FrameDecoder()
    assert len(reader.feed(good * 2)) == 2
    with pytest.raises(AgentFault, match="cannot be decoded"):
        reader.feed(good[:-2] + b"\xff\xfe")


def test_a_writer_with_another_order_of_fields_is_not_misread() -> None:
    """Its frames end with the id. One whose id ends like its text would be taken for another text."""
    pb: Any = ag_ui_pb2
    fields = {field.name: field.number for field in pb.TextMessageContentEvent.DESCRIPTOR.fields}

    def field(name: str, content: bytes) -> bytes:
        return varint(fields[name] << 3 | 2) + varint(len(content)) + content

    def swapped(text: bytes, key: bytes) -> bytes:
        base = pb.BaseEvent(type=pb.TEXT_MESSAGE_CONTENT).SerializeToString()
        inner = field("base_event", base) + field("delta", text) + field("message_id", key)
        arm = pb.Event.DESCRIPTOR.fields_by_name["text_message_content"].number
        return sized(varint(arm << 3 | 2) + varint(len(inner)) + inner)

    tail = field("delta", b"hi")
    found = FrameDecoder().feed(swapped(b"hi", tail) + swapped(b"hi", tail[:-2] + b"ho"))
    assert [(event["messageId"].encode(), event["delta"]) for event in found] == [
        (tail, "hi"),
        (tail[:-2] + b"ho", "hi"),
    ]


def test_no_more_lengths_are_remembered_than_the_bound() -> None:
    reader = FrameDecoder()
    for size in range(1, 2 * decoder.MAX_PATTERNS):
        reader.feed(encode_frame({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x" * size}))
    assert len(reader._patterns) <= decoder.MAX_PATTERNS
