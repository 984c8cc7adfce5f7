"""The house's own events, one playbook each: what a client sees of them."""

from __future__ import annotations

from typing import Any

import pytest

from gateway import events as e
from gateway.agui.translate import HANDLERS, Translator
from gateway.errors import AgentFault
from gateway.events import Event, Wire
from tests.agui.replay import played, types

FINISH = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def seen(*turn: Event) -> list[Wire]:
    """In one run that goes well, each event for itself, without its end."""
    *stream, last = played(turn, merging=False)
    assert last == FINISH
    return stream


def test_text_opens_a_message_and_goes_on_with_it() -> None:
    assert seen(
        e.TextMessageContent("a"), e.TextMessageContent("b"), e.TextMessageEnd(), e.TextMessageContent("c")
    ) == [
        {"type": "TEXT_MESSAGE_START", "messageId": "x-1", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "x-1", "delta": "a"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "x-1", "delta": "b"},
        {"type": "TEXT_MESSAGE_END", "messageId": "x-1"},
        {"type": "TEXT_MESSAGE_START", "messageId": "x-2", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "x-2", "delta": "c"},
        {"type": "TEXT_MESSAGE_END", "messageId": "x-2"},
    ]


def test_another_message_id_closes_the_message_before_it() -> None:
    stream = seen(e.TextMessageContent("a", "m"), e.TextMessageContent("b", "n"), e.TextMessageContent("c", "m"))
    assert [(event["type"][13:], event["messageId"]) for event in stream] == [
        ("START", "m"),
        ("CONTENT", "m"),
        ("END", "m"),
        ("START", "n"),
        ("CONTENT", "n"),
        ("END", "n"),
        ("START", "m"),  # legal, and adds to the same message
        ("CONTENT", "m"),
        ("END", "m"),
    ]


def test_text_has_the_role_and_the_metadata_of_its_event() -> None:
    start, content, _ = seen(e.TextMessageContent("a", role="system", metadata={"k": 1}))
    assert start["role"] == "system"
    assert content["metadata"] == {"k": 1}


def test_the_end_of_another_message_leaves_the_open_one_open() -> None:
    stream = seen(
        e.TextMessageContent("a", "m"),
        e.TextMessageEnd("other"),
        e.TextMessageContent("b"),
        e.ReasoningMessageEnd("other"),
    )
    assert types(stream) == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]


def test_reasoning_stands_in_a_span_of_its_own_id() -> None:
    assert seen(e.ReasoningMessageContent("hm"), e.ReasoningMessageEnd()) == [
        {"type": "REASONING_START", "messageId": "x-1"},
        {"type": "REASONING_MESSAGE_START", "messageId": "x-1", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "x-1", "delta": "hm"},
        {"type": "REASONING_MESSAGE_END", "messageId": "x-1"},
        {"type": "REASONING_END", "messageId": "x-1"},
    ]


def test_text_ends_the_reasoning_before_it_and_the_reverse() -> None:
    stream = seen(e.ReasoningMessageContent("hm"), e.TextMessageContent("so"), e.ReasoningMessageContent("but"))
    assert types(stream)[3:6] == ["REASONING_MESSAGE_END", "REASONING_END", "TEXT_MESSAGE_START"]
    assert types(stream)[7:9] == ["TEXT_MESSAGE_END", "REASONING_START"]


def test_parallel_calls_stand_in_one_message_until_one_is_answered() -> None:
    stream = seen(
        e.TextMessageContent("look", "m"),
        e.ToolCallStart("c1", "f"),
        e.ToolCallStart("c2", "g"),
        e.ToolCallArgs("c2", "{}"),
        e.ToolCallArgs("c1", "{}"),
        e.ToolCallEnd("c1"),
        e.ToolCallResult("c1", "one"),
        e.ToolCallResult("c2", "two"),
        e.ToolCallStart("c3", "h"),
        e.ToolCallResult("c3", "three"),
    )
    parents = {event["toolCallId"]: event["parentMessageId"] for event in stream if event["type"] == "TOOL_CALL_START"}
    assert parents["c1"] == parents["c2"] == "m"
    assert parents["c3"] not in ("m", "c3")
    ends = [event["toolCallId"] for event in stream if event["type"] == "TOOL_CALL_END"]
    assert ends == ["c1", "c2", "c3"], "a result ends the arguments, once"


def test_a_call_ends_the_text_before_it() -> None:
    assert types(seen(e.TextMessageContent("a"), e.ToolCallStart("c", "f"), e.ToolCallResult("c", "r")))[2:4] == [
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
    ]


def test_events_of_a_subagents_call_are_in_the_subagents_name() -> None:
    stream = seen(
        e.SubagentStarted("s", "scout"),
        e.ToolCallStart("c", "f", subagent="s"),
        e.ToolCallArgs("c", "{}"),
        e.ToolCallEnd("c"),
        e.ToolCallResult("c", "r"),
    )
    assert [event.get("subagentRunId") for event in stream] == ["s"] * 6


def test_the_end_that_a_result_brings_is_in_the_callers_name_too() -> None:
    stream = seen(e.ToolCallStart("c", "f", subagent="s"), e.ToolCallResult("c", "r"))
    assert [(event["type"], event.get("subagentRunId")) for event in stream] == [
        ("TOOL_CALL_START", "s"),
        ("TOOL_CALL_END", "s"),
        ("TOOL_CALL_RESULT", "s"),
    ]


def test_a_result_by_another_subagent_is_in_that_ones_name() -> None:
    stream = seen(e.ToolCallStart("c", "f", subagent="s"), e.ToolCallResult("c", "r", subagent="t"))
    assert [event.get("subagentRunId") for event in stream] == ["s", "s", "t"]


def test_a_result_ends_the_text_of_the_owner_that_made_the_call() -> None:
    stream = seen(
        e.TextMessageContent("parent", "m"),
        e.ToolCallStart("c", "f", subagent="s"),
        e.TextMessageContent("child", "n", "s"),
        e.ToolCallResult("c", "r"),
        e.TextMessageContent("goes on"),
    )
    assert [event["messageId"] for event in stream if event["type"] == "TEXT_MESSAGE_END"] == ["n", "m"]


def test_owners_do_not_close_each_others_streams() -> None:
    stream = seen(
        e.TextMessageContent("a"),
        e.TextMessageContent("b", subagent="s"),
        e.TextMessageContent("c"),
        e.TextMessageContent("d", subagent="s"),
    )
    assert types(stream).count("TEXT_MESSAGE_START") == types(stream).count("TEXT_MESSAGE_END") == 2


def test_the_end_of_a_subagent_ends_its_text() -> None:
    stream = seen(
        e.SubagentStarted("s", "scout"), e.TextMessageContent("a", subagent="s"), e.SubagentFinished("s", {"found": 1})
    )
    assert types(stream)[-2:] == ["TEXT_MESSAGE_END", "SUBAGENT_FINISHED"]
    assert stream[-1]["result"] == {"found": 1}


@pytest.mark.parametrize(
    ("event", "wire"),
    [
        (
            e.ReasoningEncryptedValue("tool-call", "c", "zz", "s"),
            {
                "type": "REASONING_ENCRYPTED_VALUE",
                "subtype": "tool-call",
                "entityId": "c",
                "encryptedValue": "zz",
                "subagentRunId": "s",
            },
        ),
        (e.StateSnapshot(None), {"type": "STATE_SNAPSHOT", "snapshot": None}),
        (
            e.StateDelta([{"op": "add", "path": "/a", "value": None}]),
            {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": None}]},
        ),
        (e.MessagesSnapshot([]), {"type": "MESSAGES_SNAPSHOT", "messages": []}),
        (
            e.ActivitySnapshot("a", "plan", {"k": 1}, replace=False),
            {
                "type": "ACTIVITY_SNAPSHOT",
                "messageId": "a",
                "activityType": "plan",
                "content": {"k": 1},
                "replace": False,
            },
        ),
        (
            e.ActivityDelta("a", "plan", [{"op": "remove", "path": "/k"}]),
            {
                "type": "ACTIVITY_DELTA",
                "messageId": "a",
                "activityType": "plan",
                "patch": [{"op": "remove", "path": "/k"}],
            },
        ),
        (e.Custom("n", None, "s"), {"type": "CUSTOM", "name": "n", "value": None, "subagentRunId": "s"}),
        (e.Raw({"odd": [1]}, "otter"), {"type": "RAW", "event": {"odd": [1]}, "source": "otter"}),
        (e.Raw(None), {"type": "RAW", "event": None}),
        (
            e.Warning("W", "mind the gap", {"pointer": "/a"}),
            {
                "type": "CUSTOM",
                "name": "gateway.warning",
                "value": {"code": "W", "message": "mind the gap", "pointer": "/a"},
            },
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_events_that_stand_for_one(event: Event, wire: Wire) -> None:
    assert seen(event) == [wire]


def test_steps_and_a_subagent_that_breaks() -> None:
    assert seen(
        e.SubagentStarted("s", "scout", "looks", tool_call_id="c", message_id="m"),
        e.SubagentStarted("t", "inner", parent="s"),
        e.StepStarted("one", "s"),
        e.StepFinished("one", "s"),
        e.SubagentError("t", "lost", "LOST"),
        e.SubagentFinished("s"),
    ) == [
        {
            "type": "SUBAGENT_STARTED",
            "subagentRunId": "s",
            "name": "scout",
            "description": "looks",
            "parentToolCallId": "c",
            "parentMessageId": "m",
        },
        {"type": "SUBAGENT_STARTED", "subagentRunId": "t", "name": "inner", "parentSubagentRunId": "s"},
        {"type": "STEP_STARTED", "stepName": "one", "subagentRunId": "s"},
        {"type": "STEP_FINISHED", "stepName": "one", "subagentRunId": "s"},
        {"type": "SUBAGENT_ERROR", "subagentRunId": "t", "message": "lost", "code": "LOST"},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"},
    ]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (e.TextMessageContent(5), "TextMessageContent has a int for `text`"),  # type: ignore[arg-type] # an author's mistake
        (e.TextMessageContent("a", subagent=[]), "TextMessageContent has a list for `subagent`"),  # type: ignore[arg-type] # likewise
        (e.TextMessageContent("a", role="boss"), "TEXT_MESSAGE_START at /role"),
        (e.TextMessageContent("a", metadata=[1]), "TEXT_MESSAGE_CONTENT at /metadata"),  # type: ignore[arg-type] # likewise
        (e.ToolCallStart({}, "f"), "ToolCallStart has a dict for `id`"),  # type: ignore[arg-type] # likewise
        (e.ToolCallArgs("c", None), "ToolCallArgs has a NoneType for `delta`"),  # type: ignore[arg-type] # likewise
        (e.ToolCallResult("c", [{"type": "text"}]), "TOOL_CALL_RESULT at /content/0/text"),
        (e.StateDelta([{"op": "add", "path": "a", "value": 1}]), "STATE_DELTA at /delta/0/path"),
        (e.MessagesSnapshot([{"id": "m", "role": "user"}]), "MESSAGES_SNAPSHOT at /messages/0/content"),
        (e.ActivitySnapshot("a", "plan", []), "ACTIVITY_SNAPSHOT at /content"),  # type: ignore[arg-type] # likewise
        (e.Custom("n", object()), "CUSTOM"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_ag_ui_has_no_place_for_is_refused_by_name(event: Event, message: str) -> None:
    with pytest.raises(AgentFault) as refused:
        Translator("x").read(event)
    assert message in refused.value.detail


def test_every_event_of_the_house_has_its_handler() -> None:
    remote_proxy: set[Any] = {
        e.AguiEvent,
        e.EncodedText,
        e.InterruptRequested,
        e.ClientToolsCalled,
        e.TokenUsage,
        e.TurnEnded,
        e.TurnFailed,
    }
    assert set(HANDLERS) | remote_proxy == set(e.Event.__args__)
