from __future__ import annotations

import copy
import json
from types import MappingProxyType
from typing import Any

import pytest
from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    Event,
    EventType,
    Interrupt,
    MessagesSnapshotEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageStartEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    TextMessageContentEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    UserMessage,
)
from hypothesis import given
from pydantic import TypeAdapter

from gateway.agui.validate import EVENT_TYPES, validate
from gateway.errors import AgentFault
from gateway.events import Wire
from tests.agui.streams import BAD, EVENTS, FIELDS, GOOD, events, steady

OFFICIAL: TypeAdapter[BaseEvent] = TypeAdapter(Event)

ENFORCED = [case for case in BAD if case["stage"] == "enforce"]
NULLS = {
    "field/timestamp-null",
    "field/metadata-null",
    "field/subagent-null",
    "field/name-null",
    "field/usage-null",
    "field/error-code-null",
    "field/interrupt-owner-null",
    "field/assistant-content-null",
    "field/message-owner-null",
}
"""A null in an optional position fails the client, so it must not leave the house; whoever sends one means absence."""


def fault(event: object) -> AgentFault:
    with pytest.raises(AgentFault) as caught:
        validate(event)
    return caught.value


def has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(has_null(item) for item in value.values())
    return any(has_null(item) for item in value) if isinstance(value, list) else value is None


def rewritten(event: Wire) -> Any:
    return json.loads(json.dumps(event))


@pytest.mark.parametrize("case", [c for c in ENFORCED if c["name"] not in NULLS], ids=lambda case: str(case["name"]))
def test_a_malformed_event_is_refused_with_its_type_and_place(case: dict[str, Any]) -> None:
    for event in case["events"][: case["at"]]:
        validate(event)
    event = case["events"][case["at"]]
    found = fault(event)
    place = case["error"].split(":")[0]
    assert found.extra["event"] == event["type"]
    assert found.extra["pointer"].startswith(place)
    assert found.detail.startswith(f"{event['type']} at {place}")


@pytest.mark.parametrize("case", [c for c in ENFORCED if c["name"] in NULLS], ids=lambda case: str(case["name"]))
def test_a_null_in_an_optional_position_is_left_out(case: dict[str, Any]) -> None:
    event = case["events"][case["at"]]
    assert has_null(event)
    assert not has_null(validate(event))


def test_the_null_cases_are_all_there() -> None:
    assert {case["name"] for case in ENFORCED} >= NULLS


TOLERATED: dict[str, Wire | None] = {
    "tolerated/unknown-event": None,  # nothing to make of it: whoever calls may still hand it on as RAW
    "tolerated/unknown-field": {"type": "TEXT_MESSAGE_START", "messageId": "m"},
    "tolerated/unknown-role": {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [{"id": "u", "role": "user", "content": "hi"}],
    },
    "tolerated/unknown-part": {
        "type": "TOOL_CALL_RESULT",
        "messageId": "tm",
        "toolCallId": "c",
        "content": [{"type": "text", "text": "x"}],
    },
    "tolerated/unknown-outcome": {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": 1},
    "tolerated/unknown-operation": {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/b", "value": 1}]},
    "tolerated/legacy-nulls": {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
}
"""What the client bends into shape, we bend before it is sent: the first event that changes, as it comes out."""


@pytest.mark.parametrize("case", GOOD, ids=lambda case: str(case["name"]))
def test_what_the_client_accepts_comes_out_as_it_went_in(case: dict[str, Any]) -> None:
    changed: list[Wire | None] = []
    for event in case["events"]:
        try:
            wire = validate(event)
        except AgentFault:
            changed.append(None)
        else:
            changed.extend([wire] if wire != event else [])
    assert changed[:1] == ([TOLERATED[case["name"]]] if case["name"] in TOLERATED else [])


@pytest.mark.parametrize("case", EVENTS, ids=lambda case: str(case["name"]))
def test_an_event_is_written_as_the_official_encoder_writes_it(case: dict[str, Any]) -> None:
    written = json.loads(case["sse"].removeprefix("data: "))
    assert validate(case["event"]) == written
    assert validate(OFFICIAL.validate_python(case["event"])) == written


def test_all_events_of_the_protocol_are_known() -> None:
    assert {kind.value for kind in EventType} == EVENT_TYPES
    assert set(FIELDS) == EVENT_TYPES
    assert len(EVENT_TYPES) == 31


@pytest.mark.parametrize(
    ("event", "pointer"),
    [
        ({"type": "CUSTOM", "name": "n", "value": 1, "timestamp": "1"}, "/timestamp"),
        ({"type": "CUSTOM", "name": "n", "value": 1, "timestamp": True}, "/timestamp"),
        ({"type": "CUSTOM", "name": "n", "value": 1, "timestamp": 1.5}, "/timestamp"),
        ({"type": "CUSTOM", "name": "n", "value": 1, "timestamp": -(2**53)}, "/timestamp"),
        ({"type": "CUSTOM", "name": b"n", "value": 1}, "/name"),
        ({"type": "CUSTOM", "name": "n", "value": 1, "metadata": {1: 2}}, "/metadata"),
        ({"type": "TEXT_MESSAGE_CONTENT", "messageId": None, "delta": "x"}, "/messageId"),
        ({"type": "TEXT_MESSAGE_CONTENT", "message_id": "m", "delta": "x"}, "/messageId"),
        ({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": None}, "/delta"),
        ({"type": "ACTIVITY_SNAPSHOT", "messageId": "", "activityType": "", "content": {}, "replace": 1}, "/replace"),
        ({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "x", "entityId": "", "encryptedValue": ""}, "/subtype"),
        ({"type": "STATE_DELTA", "delta": [{"op": "copy", "path": "/a", "from": "b"}]}, "/delta/0/from"),
        ({"type": "STATE_DELTA", "delta": {"op": "remove", "path": "/a"}}, "/delta"),
        ({"type": "STATE_DELTA", "delta": [{"path": "/a"}]}, "/delta/0"),
        ({"type": "STATE_DELTA", "delta": [{"op": 5, "path": "/a"}]}, "/delta/0"),
        ({"type": "STATE_DELTA", "delta": [5]}, "/delta/0"),
        ({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "reasoning"}]}, "/messages/0/content"),
        (
            {"type": "TOOL_CALL_RESULT", "messageId": "", "toolCallId": "", "content": [{"type": "text", "text": 5}]},
            "/content/0/text",
        ),
        (
            {
                "type": "RUN_STARTED",
                "threadId": "",
                "runId": "",
                "input": {"threadId": "", "runId": "", "messages": [], "tools": [{"name": "t"}]},
            },
            "/input/tools/0/description",
        ),
        ({"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": {}}, "/outcome"),
        ({"type": "FUTURE_EVENT"}, "/type"),
        ({"type": 5}, "/type"),
        ({"type": ["RAW"]}, "/type"),
        ({}, "/type"),
    ],
)
def test_nothing_is_coerced_and_the_fault_is_pointed_at(event: Wire, pointer: str) -> None:
    assert fault(event).extra["pointer"] == pointer


@pytest.mark.parametrize("thing", [None, "RAW", 5, [], UserMessage(id="u", content="hi")])
def test_what_is_no_event_at_all_is_refused(thing: object) -> None:
    assert "not an AG-UI event" in fault(thing).detail


def test_an_unknown_member_that_is_wrong_elsewhere_too_is_still_refused() -> None:
    event = {"type": "STATE_DELTA", "delta": [{"op": "increment"}, {"op": "add", "path": "a", "value": 1}]}
    assert fault(event).extra["pointer"] == "/delta/0/path", "counted without the one that is left out"


def test_several_unknown_members_are_left_out_at_every_depth() -> None:
    message = {"id": "u", "role": "user", "content": [{"type": "new"}, {"type": "text", "text": "x"}, {"type": "new"}]}
    event = {"type": "MESSAGES_SNAPSHOT", "messages": [{"role": "new"}, message, {"role": "new"}]}
    before = copy.deepcopy(event)
    assert validate(event) == {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [{"id": "u", "role": "user", "content": [{"type": "text", "text": "x"}]}],
    }
    assert event == before


def test_undescribed_keys_are_left_out_at_the_top_and_kept_in_open_data() -> None:
    event = {"type": "CUSTOM", "name": "n", "value": {"extra": 1}, "extra": 1, "metadata": {"extra": None}}
    assert validate(event) == {"type": "CUSTOM", "name": "n", "value": {"extra": 1}, "metadata": {"extra": None}}
    official = CustomEvent.model_validate(event)
    assert validate(official) == validate(event)


def test_a_type_may_be_the_official_constant() -> None:
    wire = validate({"type": EventType.TEXT_MESSAGE_CONTENT, "messageId": "m", "delta": "x"})
    assert type(wire["type"]) is str
    assert wire == {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}


def test_any_mapping_will_do() -> None:
    event = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
    assert validate(MappingProxyType(event)) == event


@pytest.mark.parametrize("extra", [{}, {"subagentRunId": "s"}, {"timestamp": 5}, {"metadata": {}}, {"rawEvent": 0}])
@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("TEXT_MESSAGE_CONTENT", "messageId"),
        ("REASONING_MESSAGE_CONTENT", "messageId"),
        ("TOOL_CALL_ARGS", "toolCallId"),
    ],
)
def test_deltas_come_out_the_same_on_the_short_way_and_on_the_long_one(kind: str, key: str, extra: Wire) -> None:
    event = {"type": kind, key: "m", "delta": "cut \ud83d", **extra}
    wire = validate(event)
    assert wire == event
    assert wire is not event
    assert validate(OFFICIAL.validate_python(event)) == event


@pytest.mark.parametrize(
    "broken",
    [
        TextMessageContentEvent.model_construct(message_id=5, delta="x"),
        ReasoningMessageContentEvent.model_construct(delta="x"),
        ToolCallArgsEvent.model_construct(tool_call_id="c", delta=None),
        TextMessageStartEvent.model_construct(message_id="m", role="tool"),
        RunFinishedEvent.model_construct(thread_id="t", run_id="r", usage=[{"inputTokens": -1}]),
        BaseEvent(type=EventType.TEXT_MESSAGE_START),
    ],
    ids=lambda broken: type(broken).__name__,
)
def test_an_official_object_that_was_made_around_its_own_checks_is_refused(broken: BaseEvent) -> None:
    assert fault(broken).extra["event"] in EVENT_TYPES


def test_a_wrong_value_put_into_an_official_object_later_is_refused() -> None:
    interrupt = Interrupt(id="i", reason="r")
    outcome = RunFinishedInterruptOutcome(interrupts=[interrupt])
    event = RunFinishedEvent(thread_id="t", run_id="r", outcome=outcome)
    assert validate(event)["outcome"]["interrupts"] == [{"id": "i", "reason": "r"}]
    interrupt.__dict__["reason"] = 5
    assert fault(event).extra["event"] == "RUN_FINISHED"


def test_an_official_object_of_ones_own_making_is_read_by_the_protocols_fields() -> None:
    class OwnEvent(CustomEvent):
        trace: str = "t"

    assert validate(OwnEvent(name="n", value=None)) == {"type": "CUSTOM", "name": "n", "value": None}


def test_the_role_that_official_objects_fill_in_is_required_of_a_dict() -> None:
    assert validate(ReasoningMessageStartEvent(message_id="m"))["role"] == "reasoning"
    assert fault({"type": "REASONING_MESSAGE_START", "messageId": "m"}).extra["pointer"] == "/role"


def test_a_tool_calls_type_can_only_be_one_and_is_filled_in() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": ""}}
    event = {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "a", "role": "assistant", "toolCalls": [call]}]}
    assert validate(event)["messages"][0]["toolCalls"][0]["type"] == "function"


def test_open_data_comes_out_as_json() -> None:
    event = CustomEvent(name="n", value={"tuple": (1, 2), 3: float("nan"), "message": UserMessage(id="u", content="")})
    wire = validate(event)
    assert wire["value"] == {"tuple": [1, 2], "3": None, "message": {"id": "u", "role": "user", "content": ""}}
    assert rewritten(wire) == wire


@pytest.mark.parametrize("value", [object(), b"\xff"], ids=["an object", "bytes"])
def test_open_data_that_is_not_json_is_refused(value: object) -> None:
    assert fault({"type": "CUSTOM", "name": "n", "value": value}).extra["event"] == "CUSTOM"
    assert fault({"type": "CUSTOM", "name": 5, "value": value}).extra["event"] == "CUSTOM"


def test_data_that_holds_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["self"] = value
    assert fault({"type": "RAW", "event": value}).extra["event"] == "RAW"


@steady
@given(events())
def test_a_valid_event_comes_out_equal_and_new(event: Wire) -> None:
    wire = validate(event)
    assert wire == event
    assert wire is not event
    assert rewritten(wire) == wire


@steady
@given(events())
def test_a_valid_official_object_comes_out_as_its_json(event: Wire) -> None:
    assert validate(OFFICIAL.validate_python(event)) == event


def test_messages_keep_what_they_hold() -> None:
    event = MessagesSnapshotEvent(messages=[UserMessage(id="u", content="hi", metadata={"k": None})])
    assert validate(event) == {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [{"id": "u", "role": "user", "content": "hi", "metadata": {"k": None}}],
    }
