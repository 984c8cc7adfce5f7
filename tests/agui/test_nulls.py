from __future__ import annotations

import copy
from typing import Any

import ag_ui.core as official
import pytest
from hypothesis import given, settings
from pydantic import BaseModel

from gateway import jsontext
from gateway.agui.nulls import EVENTS, Shape, Union, drop_nulls
from tests.encode.vectors import VECTORS, Vector
from tests.encode.wire_events import events


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_the_official_encoder_drops_the_same_nulls(vector: Vector) -> None:
    assert drop_nulls(vector.event) == jsontext.loads(vector.json)


@settings(deadline=None)
@given(events)
def test_an_event_without_such_nulls_comes_back_as_the_same_object(event: dict[str, Any]) -> None:
    assert drop_nulls(event) is event


def test_the_event_given_is_never_changed() -> None:
    event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "usage": [{"model": None}], "result": None}
    before = copy.deepcopy(event)
    assert drop_nulls(event) == {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "usage": [{}]}
    assert event == before


def test_keys_keep_their_order() -> None:
    event: dict[str, Any] = {
        "usage": [{"model": None}],
        "type": "RUN_ERROR",
        "code": None,
        "message": "m",
        "metadata": {},
    }
    assert list(drop_nulls(event)) == ["usage", "type", "message", "metadata"]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "CUSTOM", "name": "n", "value": None},
        {"type": "RAW", "event": None},
        {"type": "STATE_SNAPSHOT", "snapshot": None},
        {"type": "STATE_SNAPSHOT", "snapshot": {"a": None}, "metadata": {"k": None}, "rawEvent": [None]},
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": None, "from": None}]},
        {"type": "ACTIVITY_DELTA", "messageId": "m", "activityType": "t", "patch": [{"op": "test", "value": None}]},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "t", "content": {"a": None}},
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "activity", "content": {"a": None}}]},
    ],
    ids=lambda event: event["type"],
)
def test_nulls_in_open_values_stay(event: dict[str, Any]) -> None:
    assert drop_nulls(event) is event


@pytest.mark.parametrize(
    "event",
    [
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": None, "delta": None},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "colour": None},
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "tool", "content": None, "name": None}]},
        {"type": "MESSAGES_SNAPSHOT", "messages": None},
        {"type": "MESSAGES_SNAPSHOT", "messages": [None, "x", {"role": None}, {"role": ["user"], "name": None}]},
        {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": None}},
        {"type": "RUN_FINISHED", "outcome": {"type": "from-the-future", "detail": None}},
        {"type": "FROM_THE_FUTURE", "metadata": None},
        {"type": ["RAW"], "metadata": None},
        {"metadata": None},
    ],
)
def test_nulls_in_required_or_undescribed_places_stay(event: dict[str, Any]) -> None:
    assert drop_nulls(event) is event


def test_nulls_go_at_every_depth_that_is_described() -> None:
    source = {"type": "url", "value": "u", "mimeType": None}
    part = {"type": "image", "id": None, "source": source, "metadata": None}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}, "encryptedValue": None}
    snapshot = {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [
            {"id": "1", "role": "user", "content": [part], "name": None},
            {"id": "2", "role": "assistant", "content": None, "toolCalls": [call, {**call, "metadata": {"a": None}}]},
            {"id": "3", "role": "assistant", "toolCalls": None},
            {"id": "4", "role": "tool", "toolCallId": "c", "content": [part], "error": None},
        ],
    }
    image = {"type": "image", "source": {"type": "url", "value": "u"}}
    plain = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert drop_nulls(snapshot)["messages"] == [
        {"id": "1", "role": "user", "content": [image]},
        {"id": "2", "role": "assistant", "toolCalls": [plain, {**plain, "metadata": {"a": None}}]},
        {"id": "3", "role": "assistant"},
        {"id": "4", "role": "tool", "toolCallId": "c", "content": [image]},
    ]


def test_nulls_go_from_interrupts_and_keep_their_open_parts() -> None:
    interrupt = {"id": "i", "reason": "r", "message": None, "responseSchema": None, "metadata": {"a": None}}
    event = {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [interrupt]}}
    kept = {"id": "i", "reason": "r", "metadata": {"a": None}}
    assert drop_nulls(event)["outcome"] == {"type": "interrupt", "interrupts": [kept]}


# ---- held against the official models


def optional(model: type[BaseModel]) -> set[str]:
    """JSON keys that may be absent: those that default to None."""
    return {field.alias or name for name, field in model.model_fields.items() if field.default is None}


def inner(shape: Shape | Union, *path: str) -> Shape:
    """Down through fields and variants: `inner(shape, "outcome", "success")`."""
    for step in path:
        shape = shape.shapes[step] if isinstance(shape, Union) else shape.inside[step]
    assert isinstance(shape, Shape)
    return shape


def model_of(kind: str) -> type[BaseModel]:
    name = "".join(word.capitalize() for word in kind.split("_")) + "Event"
    model: type[BaseModel] = getattr(official, name)
    return model


@pytest.mark.parametrize("kind", sorted(EVENTS))
def test_an_events_optional_fields_are_the_official_ones(kind: str) -> None:
    assert EVENTS[kind].optional == optional(model_of(kind))


INPUT = ("RUN_STARTED", "input")
MESSAGES = (*INPUT, "messages")
PARTS = (*MESSAGES, "user", "content")


@pytest.mark.parametrize(
    ("path", "model"),
    [
        (INPUT, official.RunAgentInput),
        ((*INPUT, "tools"), official.Tool),
        ((*INPUT, "resume"), official.ResumeEntry),
        ((*MESSAGES, "developer"), official.DeveloperMessage),
        ((*MESSAGES, "system"), official.SystemMessage),
        ((*MESSAGES, "user"), official.UserMessage),
        ((*MESSAGES, "assistant"), official.AssistantMessage),
        ((*MESSAGES, "assistant", "toolCalls"), official.ToolCall),
        ((*MESSAGES, "tool"), official.ToolMessage),
        ((*MESSAGES, "activity"), official.ActivityMessage),
        ((*MESSAGES, "reasoning"), official.ReasoningMessage),
        ((*PARTS, "text"), official.TextInputContent),
        ((*PARTS, "image"), official.ImageInputContent),
        ((*PARTS, "audio"), official.AudioInputContent),
        ((*PARTS, "video"), official.VideoInputContent),
        ((*PARTS, "document"), official.DocumentInputContent),
        ((*PARTS, "image", "source", "data"), official.InputContentDataSource),
        ((*PARTS, "image", "source", "url"), official.InputContentUrlSource),
        (("RUN_FINISHED", "usage"), official.TokenUsage),
        (("RUN_ERROR", "usage"), official.TokenUsage),
        (("RUN_FINISHED", "outcome", "success"), official.RunFinishedSuccessOutcome),
        (("RUN_FINISHED", "outcome", "interrupt"), official.RunFinishedInterruptOutcome),
        (("RUN_FINISHED", "outcome", "interrupt", "interrupts"), official.Interrupt),
    ],
    ids=lambda value: "/".join(value) if isinstance(value, tuple) else value.__name__,
)
def test_an_objects_optional_fields_are_the_official_ones(path: tuple[str, ...], model: type[BaseModel]) -> None:
    kind, *rest = path
    assert inner(EVENTS[kind], *rest).optional == optional(model)


def test_all_31_types_are_described() -> None:
    assert len(EVENTS) == 31
