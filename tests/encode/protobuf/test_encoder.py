from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway import jsonio
from gateway.agui.validate import validate
from gateway.encode.protobuf import encoder
from gateway.encode.protobuf.pb import ag_ui_pb2
from gateway.encode.protobuf.tables import MAX_FRAME_BYTES
from gateway.errors import AgentFault, EventTooLarge
from tests.encode.vectors import VECTORS, Vector
from tests.encode.wire_events import events, tried

DELTAS = {"TEXT_MESSAGE_CONTENT": "messageId", "REASONING_MESSAGE_CONTENT": "messageId", "TOOL_CALL_ARGS": "toolCallId"}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_our_bytes_are_the_official_encoders_bytes(vector: Vector) -> None:
    assert encoder.encode_frame(vector.event) == vector.frame
    assert encoder.encode_frames([vector.event]) == vector.frame
    assert encoder.encode_frame(validate(vector.event)) == vector.frame


def test_frames_follow_each_other_in_order() -> None:
    assert encoder.encode_frames([vector.event for vector in VECTORS]) == b"".join(vector.frame for vector in VECTORS)
    assert encoder.encode_frames([]) == b""


@tried
@given(events.filter(lambda event: b'"":' not in jsonio.dumps(event)))
def test_the_protobuf_library_reads_our_bytes_and_would_write_as_many(event: dict[str, Any]) -> None:
    frame = encoder.encode_frame(event)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    message = ag_ui_pb2.Event.FromString(frame[4:])
    assert message.WhichOneof("event") == event["type"].lower()
    # It would write an empty key of an object, which the official encoder does not: no such event here.
    assert message.ByteSize() == len(frame) - 4


@tried
@given(
    st.sampled_from(sorted(DELTAS)),
    st.text(st.characters(), max_size=300),
    st.text(st.characters(), max_size=300),
    st.none() | st.text(max_size=5),
)
def test_a_delta_event_has_the_same_bytes_by_the_short_way(
    kind: str, of: str, delta: str, subagent: str | None
) -> None:
    event = {"type": kind, DELTAS[kind]: of, "delta": delta, "subagentRunId": subagent}
    plain = {key: value for key, value in event.items() if value is not None}
    assert encoder.encode_frames([event]) == encoder.encode_frames([plain]) == encoder.encode_frame(plain)


@pytest.mark.parametrize("kind", sorted(DELTAS))
@pytest.mark.parametrize("length", [0, 1, 100, 127, 128, 16_000, 16_383, 16_384, 40_000])
def test_a_delta_of_any_length_has_the_same_bytes_by_the_short_way(kind: str, length: int) -> None:
    event = {"type": kind, DELTAS[kind]: "id", "delta": "x" * length, "subagentRunId": "s"}
    assert encoder.encode_frames([event, event]) == 2 * encoder.encode_frame(event)


def test_a_delta_with_more_than_plain_strings_goes_the_long_way() -> None:
    event = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x", "timestamp": 5}
    assert encoder.encode_frames([event]) == encoder.encode_frame(event)


def test_an_id_too_long_for_the_cache_is_written_all_the_same() -> None:
    event = {"type": "TOOL_CALL_ARGS", "toolCallId": "i" * 5000, "delta": "x"}
    assert encoder.encode_frames([event]) == encoder.encode_frame(event)


def test_fields_that_agui_does_not_describe_vanish() -> None:
    bare = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
    strays = {"interrupts": [{}], "pendingToolCallIds": ["x"], "baseEvent": {"type": "RAW"}, "colour": "red"}
    assert encoder.encode_frame(bare | strays) == encoder.encode_frame(bare)


def test_a_stray_list_of_parts_beside_a_string_vanishes() -> None:
    result = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "t", "content": "42"}
    part = {"type": "text", "text": "x"}
    assert encoder.encode_frame(result | {"contentParts": [part]}) == encoder.encode_frame(result)


def test_an_outcome_carries_only_the_list_of_its_own_type() -> None:
    def finished(outcome: dict[str, Any]) -> bytes:
        return encoder.encode_frame({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome})

    assert finished({"type": "cancelled", "pendingToolCallIds": ["x"]}) == finished({"type": "cancelled"})
    assert finished({"type": "from-the-future", "interrupts": [1]}) == finished({"type": "from-the-future"})


def snapshot(*messages: Any) -> dict[str, Any]:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def test_a_message_carries_only_the_fields_of_its_role() -> None:
    tool = {"id": "m", "role": "tool", "toolCallId": "t", "content": "42"}
    stray = {"name": "Ann", "toolCalls": [], "activityType": "plan"}
    assert encoder.encode_frame(snapshot(tool | stray)) == encoder.encode_frame(snapshot(tool))


def test_a_message_of_an_unknown_role_is_passed_on_without_content() -> None:
    newer = {"id": "m", "role": "oracle", "content": {"any": "thing"}, "metadata": {"a": 1}}
    message = ag_ui_pb2.Event.FromString(encoder.encode_frame(snapshot(newer))[4:]).messages_snapshot.messages[0]
    assert (message.id, message.role, message.HasField("content")) == ("m", "oracle", False)


@pytest.mark.parametrize(
    "part",
    [{"type": "hologram", "beam": 1}, {"type": "image", "source": {"type": "quantum", "value": "v"}}],
    ids=["type", "source"],
)
def test_a_part_of_an_unknown_type_is_left_out(part: dict[str, Any]) -> None:
    text = {"type": "text", "text": "x"}
    user = {"id": "m", "role": "user"}
    with_it = encoder.encode_frame(snapshot(user | {"content": [part, text, part]}))
    assert with_it == encoder.encode_frame(snapshot(user | {"content": [text]}))


def test_a_whole_number_may_be_spelled_as_a_float() -> None:
    step = {"type": "STEP_STARTED", "stepName": "s"}
    assert encoder.encode_frame(step | {"timestamp": 5.0}) == encoder.encode_frame(step | {"timestamp": 5})


@pytest.mark.parametrize("event", [{}, {"type": None}, {"type": ["RAW"]}, {"type": "THINKING_START"}, {"type": "raw"}])
def test_an_unknown_type_is_the_agents_fault(event: dict[str, Any]) -> None:
    with pytest.raises(AgentFault, match="which AG-UI does not have"):
        encoder.encode_frame(event)
    with pytest.raises(AgentFault, match="which AG-UI does not have"):
        encoder.encode_frames([event])


TEXT = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}
STEP = {"type": "STEP_STARTED", "stepName": "s"}
ENDED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
RESULT = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "t"}


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"type": "TEXT_MESSAGE_END"}, "`messageId` is missing"),
        (TEXT | {"messageId": None}, "`messageId` is missing"),
        (TEXT | {"messageId": 7}, "`messageId` must be a string"),
        (TEXT | {"messageId": ["m"]}, "`messageId` must be a string"),
        (TEXT | {"delta": 7}, "`delta` must be a string"),
        (TEXT | {"delta": b"x"}, "`delta` must be a string"),
        (TEXT | {"subagentRunId": 7}, "`subagentRunId` must be a string"),
        (STEP | {"timestamp": 1.5}, "`timestamp` must be an integer"),
        (STEP | {"timestamp": True}, "`timestamp` must be an integer"),
        (STEP | {"timestamp": 2**53}, "`timestamp` must be an integer"),
        (STEP | {"metadata": []}, "`metadata` must be an object"),
        (STEP | {"metadata": {1: 2}}, "the key 1 is not a string"),
        (STEP | {"rawEvent": {"a": {1, 2}}}, "a set is not JSON"),
        (ENDED | {"usage": {}}, "`usage` must be a list"),
        (ENDED | {"usage": ["x"]}, "`usage` must be an object"),
        (ENDED | {"outcome": "success"}, "`outcome` must be an object with a type"),
        (ENDED | {"outcome": {"type": "interrupt"}}, "must list its interrupts"),
        (ENDED | {"outcome": {"type": "interrupt", "interrupts": []}}, "must list its interrupts"),
        (ENDED | {"outcome": {"type": "success", "pendingToolCallIds": [1]}}, "`pendingToolCallIds` must be a string"),
        (RESULT, "`content` must be a string or a list of parts"),
        (RESULT | {"content": {}}, "`content` must be a string or a list of parts"),
        (RESULT | {"content": ["x"]}, "a content part must be an object with a type"),
        (RESULT | {"content": [{"type": "image"}]}, "a part's `source` must be an object with a type"),
        ({"type": "MESSAGES_SNAPSHOT"}, "`messages` is missing"),
        (snapshot({"id": "m"}), "a message must have a role"),
        (snapshot({"id": "m", "role": "system"}), "the role system must have `content`"),
        (snapshot({"id": "m", "role": "tool", "content": ""}), "the role tool must have `toolCallId`"),
        (snapshot({"id": "m", "role": "activity", "activityType": "t", "content": []}), "must be an object"),
        ({"type": "STATE_DELTA", "delta": None}, "`delta` is missing"),
        ({"type": "STATE_DELTA", "delta": [{"op": "zap", "path": ""}]}, "'zap' is not an operation of JSON Patch"),
        ({"type": "STATE_SNAPSHOT"}, "`snapshot` is missing"),
        (
            {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "t", "content": {}, "replace": 1},
            "`replace` must be true or false",
        ),
    ],
)
def test_an_invalid_event_is_the_agents_fault_with_the_reason(event: dict[str, Any], reason: str) -> None:
    with pytest.raises(AgentFault) as one:
        encoder.encode_frame(event)
    with pytest.raises(AgentFault) as several:
        encoder.encode_frames([TEXT, event])
    assert one.value.detail == several.value.detail
    assert f"The agent's {event['type']} event" in one.value.detail
    assert reason in one.value.detail


def sized_event(size: int) -> dict[str, Any]:
    """A delta event whose frame has this size."""
    overhead = len(encoder.encode_frame({**TEXT, "delta": "x" * 5_000_000})) - 5_000_000
    return {**TEXT, "delta": "x" * (size - overhead)}


def test_the_largest_frame_that_a_client_reads_is_written() -> None:
    event = sized_event(MAX_FRAME_BYTES)
    assert len(encoder.encode_frame(event)) == len(encoder.encode_frames([event])) == MAX_FRAME_BYTES == 10_485_760


def test_a_larger_one_is_refused_with_its_type_and_size() -> None:
    event = sized_event(MAX_FRAME_BYTES + 1)
    with pytest.raises(EventTooLarge, match=f"TEXT_MESSAGE_CONTENT event takes {MAX_FRAME_BYTES + 1} bytes") as one:
        encoder.encode_frame(event)
    with pytest.raises(EventTooLarge) as several:
        encoder.encode_frames([event])
    extra = {"event": "TEXT_MESSAGE_CONTENT", "size": MAX_FRAME_BYTES + 1, "limit": MAX_FRAME_BYTES}
    assert one.value.extra == several.value.extra == extra
