from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.encode.protobuf import encoder
from gateway.encode.protobuf.decoder import FrameDecoder, decode
from gateway.encode.protobuf.pb import ag_ui_pb2
from gateway.encode.protobuf.tables import MAX_FRAME_BYTES, varint
from gateway.errors import AgentFault, EventTooLarge
from tests.encode.vectors import VECTORS, Vector
from tests.encode.wire_events import tried_briefly

pb: Any = ag_ui_pb2
"""Numbers that an enum does not have are part of what is tried here, so the classes' types are left aside."""


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_we_read_what_the_official_decoder_reads(vector: Vector) -> None:
    assert decode(vector.frame[4:]) == vector.decoded


def stepped(**base: int) -> bytes:
    event = pb.Event()
    event.step_started.base_event.MergeFrom(pb.BaseEvent(**base))
    data: bytes = event.SerializeToString()
    return data


def field(number: int, wire_type: int, content: bytes) -> bytes:
    return varint(number << 3 | wire_type) + content


STEP = encoder.encode_frame({"type": "STEP_STARTED", "stepName": "s"})[4:]
OTHER = encoder.encode_frame({"type": "STEP_FINISHED", "stepName": "s"})[4:]
UNKNOWN = field(99, 2, b"\x02hi")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "its length is zero"),
        (STEP + OTHER, "one frame holds STEP_FINISHED and STEP_STARTED"),
        (field(15, 0, b"\x01"), "an event has the wrong wire type"),
        (STEP + field(15, 0, b"\x01"), "an event has the wrong wire type"),
        (STEP + b"\x02\x00", "it has a field of the number 0"),
        (b"\x02\x00", "it has a field of the number 0"),
        (STEP[:-1], "rror parsing message"),
        (field(15, 2, b"\0"), "base_event is missing"),
        (stepped(type=15), "its base_event says STEP_FINISHED"),
        (stepped(type=77), "its base_event says 77"),
        (stepped(type=14, timestamp=2**53), "`timestamp` is beyond"),
    ],
)
def test_bytes_that_are_no_event_are_the_agents_fault(data: bytes, reason: str) -> None:
    with pytest.raises(AgentFault, match="cannot be decoded") as caught:
        decode(data)
    assert reason in caught.value.detail


def snapshot(**message: Any) -> bytes:
    event = pb.Event()
    event.messages_snapshot.base_event.type = pb.MESSAGES_SNAPSHOT
    event.messages_snapshot.messages.append(pb.Message(id="m", **message))
    data: bytes = event.SerializeToString()
    return data


TEXT_PART = [{"text": {"text": "x"}}]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "x", "content_parts": TEXT_PART},
        {"role": "user", "activity_content": {}},
        {"role": "assistant", "content_parts": TEXT_PART},
        {"role": "system", "activity_content": {}},
        {"role": "activity", "content": "x"},
        {"role": "activity", "content_parts": TEXT_PART},
    ],
)
def test_content_where_the_role_has_none_is_the_agents_fault(message: dict[str, Any]) -> None:
    with pytest.raises(AgentFault, match="ontent"):
        decode(snapshot(**message))


def test_an_unknown_role_is_passed_on() -> None:
    event = decode(snapshot(role="oracle", content="x"))
    assert event == {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "oracle", "content": "x"}]}


def test_a_part_or_a_source_of_an_unknown_type_is_dropped() -> None:
    parts = [{}, {"text": {"text": "x"}}, {"image": {"source": {}}}]
    event = decode(snapshot(role="user", content_parts=parts))
    assert event is not None
    assert event["messages"][0]["content"] == [{"type": "text", "text": "x"}]


def test_an_unknown_operation_is_passed_on() -> None:
    event = pb.Event()
    event.state_delta.base_event.type = pb.STATE_DELTA
    event.state_delta.delta.add(path="/a").op = 9
    assert decode(event.SerializeToString()) == {"type": "STATE_DELTA", "delta": [{"op": "9", "path": "/a"}]}


def finished(**fields: Any) -> bytes:
    event = pb.Event(run_finished=pb.RunFinishedEvent(thread_id="t", run_id="r", **fields))
    event.run_finished.base_event.type = pb.RUN_FINISHED
    data: bytes = event.SerializeToString()
    return data


def test_an_unknown_outcome_is_passed_on() -> None:
    event = decode(finished(outcome="postponed"))
    assert event == {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "postponed"}}


def test_interrupts_without_an_outcome_are_not_taken_for_success() -> None:
    with pytest.raises(AgentFault, match="it has `interrupts` but no outcome"):
        decode(finished(interrupts=[{"id": "i", "reason": "r"}]))


def test_unknown_fields_are_ignored() -> None:
    assert decode(UNKNOWN + STEP + UNKNOWN) == {"type": "STEP_STARTED", "stepName": "s"}


def test_an_event_of_an_unknown_type_is_none() -> None:
    assert decode(UNKNOWN) is None


def test_an_arm_written_twice_is_merged() -> None:
    second = pb.Event(step_started={"step_name": "late"}).SerializeToString()
    assert decode(stepped(type=14) + second) == {"type": "STEP_STARTED", "stepName": "late"}


# ---- frames

STREAM = b"".join(vector.frame for vector in VECTORS)
EVENTS = [vector.decoded for vector in VECTORS]


def read(*pieces: bytes) -> list[dict[str, Any]]:
    decoder = FrameDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    decoder.eof()
    return events


def test_a_stream_read_whole_decodes_to_its_events() -> None:
    assert read(STREAM) == EVENTS


def test_a_stream_read_byte_by_byte_decodes_to_the_same_events() -> None:
    stream = b"".join(vector.frame for vector in VECTORS[:31])
    assert read(*(stream[at : at + 1] for at in range(len(stream)))) == EVENTS[:31]


@tried_briefly
@given(st.lists(st.integers(0, len(STREAM)), max_size=8).map(sorted))
def test_a_stream_cut_anywhere_decodes_to_the_same_events(cuts: list[int]) -> None:
    edges = [0, *cuts, len(STREAM)]
    assert read(*(STREAM[a:b] for a, b in zip(edges, edges[1:], strict=False))) == EVENTS


@pytest.mark.parametrize("left", [1, 4, 5, len(VECTORS[0].frame) - 1])
def test_a_stream_that_ends_inside_a_frame_is_the_agents_fault(left: int) -> None:
    decoder = FrameDecoder()
    assert decoder.feed(VECTORS[1].frame + VECTORS[0].frame[:left]) == [VECTORS[1].decoded]
    with pytest.raises(AgentFault, match=f"ended inside a frame, {left} bytes"):
        decoder.eof()


def test_an_empty_stream_ends_well() -> None:
    assert read() == []


def test_a_frame_of_length_zero_is_the_agents_fault() -> None:
    with pytest.raises(AgentFault, match="its length is zero"):
        FrameDecoder().feed(b"\0\0\0\0")


def test_a_frame_announced_too_large_is_refused_before_it_comes() -> None:
    assert FrameDecoder().feed((MAX_FRAME_BYTES - 4).to_bytes(4, "big")) == []
    with pytest.raises(EventTooLarge) as caught:
        FrameDecoder().feed((MAX_FRAME_BYTES - 3).to_bytes(4, "big"))
    assert caught.value.extra == {"size": MAX_FRAME_BYTES + 1, "limit": MAX_FRAME_BYTES}


def test_an_event_of_an_unknown_type_is_skipped() -> None:
    assert read(len(UNKNOWN).to_bytes(4, "big") + UNKNOWN + VECTORS[0].frame) == [VECTORS[0].decoded]


def test_events_before_a_fault_are_returned_first() -> None:
    decoder = FrameDecoder()
    assert decoder.feed(VECTORS[0].frame + b"\0\0\0\0" + VECTORS[1].frame) == [VECTORS[0].decoded]
    with pytest.raises(AgentFault, match="its length is zero"):
        decoder.feed(b"")
    with pytest.raises(AgentFault, match="its length is zero"):
        decoder.eof()
