"""Child sessions: subagents, and whose word an update is."""

from __future__ import annotations

from typing import Any

from gateway.events import (
    Custom,
    Event,
    InterruptRequested,
    SubagentError,
    SubagentFinished,
    SubagentStarted,
    TextMessageContent,
    ToolCallResult,
    ToolCallStart,
)
from tests.wire.acp.session_helper import call, message, read, reader, whole


def child(key: str = "kid", **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "subagent_update", "sessionId": key, **fields}


RUNNING: dict[str, Any] = {"state": {"state": "running"}}
IDLE: dict[str, Any] = {"state": {"state": "idle", "stopReason": "end_turn"}}


def test_a_child_is_a_subagent_from_running_to_idle() -> None:
    session = reader()
    assert read(session, child(title="helper", description="helps", **RUNNING)) == [
        SubagentStarted("t1/1", "helper", "helps")
    ]
    assert session.owns("kid")
    assert read(session, message("hi", "m"), session_id="kid") == [TextMessageContent("hi", "t1/1:m", "t1/1")]
    assert read(session, child(**IDLE)) == [SubagentFinished("t1/1")]


def test_a_session_that_is_no_child_is_the_session_itself() -> None:
    session = reader()
    assert not session.owns("self")
    assert read(session, message("hi", "m"), session_id="self") == [TextMessageContent("hi", "t1:m")]


def test_the_same_ids_of_parent_and_child_stay_apart() -> None:
    session = reader()
    read(session, child(**RUNNING), message("a", "m"), call("c"))
    events = read(session, message("b", "m"), call("c"), session_id="kid")
    assert isinstance(events[1], ToolCallStart)
    assert (events[1].id, events[1].subagent) == ("t1/1:c", "t1/1")


def test_a_child_that_goes_on_is_a_new_invocation() -> None:
    session = reader()
    read(session, child(title="helper", **RUNNING), child(**IDLE))
    assert read(session, message("again", "m"), session_id="kid") == [
        SubagentStarted("t1/2", "helper"),
        TextMessageContent("again", "t1/2:m", "t1/2"),
    ]


def test_a_child_at_work_in_the_next_turn_starts_there() -> None:
    session = reader()
    read(session, child(title="helper", **RUNNING))
    session.end_turn("end_turn")
    session.begin_turn("t2")
    assert read(session, message("late", "m"), session_id="kid")[0] == SubagentStarted("t2/2", "helper")


def test_a_childs_open_calls_are_closed_at_its_end() -> None:
    session = reader()
    read(session, child(**RUNNING))
    read(session, call("c"), session_id="kid")
    events = read(session, child(**IDLE))
    assert [type(event) for event in events][-2:] == [ToolCallResult, SubagentFinished]


def test_a_failed_child_has_a_reason() -> None:
    failed: dict[str, Any] = {"state": {"state": "idle", "stopReason": "error", "error": {"code": 1, "message": "no"}}}
    assert read(reader(), child(**RUNNING), child(**failed))[1] == SubagentError("t1/1", "no")


def test_a_childs_child_names_its_parent() -> None:
    session = reader()
    read(session, child("kid", title="a", **RUNNING))
    assert read(session, child("grandkid", title="b", **RUNNING), session_id="kid") == [
        SubagentStarted("t1/2", "b", parent="t1/1")
    ]


def test_a_parent_at_rest_is_started_before_its_child() -> None:
    session = reader()
    read(session, child("kid", title="a", **RUNNING))
    read(session, child("grandkid", title="b"), session_id="kid")
    read(session, child("kid", **IDLE))
    assert read(session, message("x"), session_id="grandkid")[:2] == [
        SubagentStarted("t1/2", "a"),
        SubagentStarted("t1/3", "b", parent="t1/2"),
    ]


def test_an_announcement_without_work_is_a_custom_event() -> None:
    events = read(reader(), child(title="helper"), child(title="helper"), child(description="helps", title=None))
    assert events == [
        Custom("acp.subagent", {"sessionId": "kid", "title": "helper"}),
        Custom("acp.subagent", {"sessionId": "kid", "description": "helps"}),
    ]


def test_a_childs_own_state_moves_it_too() -> None:
    session = reader()
    read(session, child(title="helper"))
    events: list[Event] = []
    for state in ("running", "running", "idle", "idle"):
        events += read(session, {"sessionUpdate": "state_update", "state": state}, session_id="kid")
    assert events == [SubagentStarted("t1/1", "helper"), SubagentFinished("t1/1")]
    assert session.is_in_turn


def test_a_childs_state_is_reported_under_its_name_and_not_kept() -> None:
    session = reader()
    read(session, child(**RUNNING))
    (event,) = read(session, {"sessionUpdate": "usage_update", "used": 1, "size": 2}, session_id="kid")
    assert event == Custom("session.usage", {"used": 1, "size": 2}, "t1/1")
    assert session.state.usage == {}
    read(session, child(**IDLE))
    (event,) = read(session, {"sessionUpdate": "usage_update", "used": 1, "size": 2}, session_id="kid")
    assert event == Custom("session.usage", {"used": 1, "size": 2}, "t1/1")


def between(sender: str, recipient: str) -> dict[str, Any]:
    return {**whole("m", "go", kind="session_message"), "senderSessionId": sender, "recipientSessionId": recipient}


def test_a_message_to_a_child_is_a_user_message_of_the_subagent() -> None:
    session = reader()
    read(session, child(**RUNNING))
    assert read(session, between("self", "kid"), session_id="kid") == [
        TextMessageContent("go", "t1/1:m:user", "t1/1", "user")
    ]
    assert read(session, between("kid", "self"), session_id="kid") == [TextMessageContent("go", "t1/1:m", "t1/1")]
    chunk = {"sessionUpdate": "session_message_chunk", "messageId": "n", "content": {"type": "text", "text": "on"}}
    assert read(session, chunk, session_id="kid") == [TextMessageContent("on", "t1/1:n:user", "t1/1", "user")]


def test_a_message_between_sessions_is_a_custom_event_of_the_parent() -> None:
    (event,) = read(reader(), between("self", "kid"))
    assert event == Custom(
        "acp.session_message",
        {"messageId": "m", "senderSessionId": "self", "recipientSessionId": "kid", "text": "go"},
    )


def test_a_childs_interrupt_is_raised_in_its_name() -> None:
    session = reader()
    read(session, child(**RUNNING))
    params = {"sessionId": "kid", "toolCall": {"toolCallId": "c", "title": "Run"}, "options": []}
    events, interrupt = session.read_permission(7, params)
    assert (interrupt.subagent, interrupt.tool_call_id) == ("t1/1", "t1/1:c")
    assert isinstance(events[0], ToolCallStart)
    assert InterruptRequested((interrupt,)).interrupts[0].id == "t1:ask:7"


def test_an_update_that_names_no_child_is_handed_on() -> None:
    (event,) = read(reader(), {"sessionUpdate": "subagent_update", "title": "?"})
    assert type(event).__name__ == "Raw"


def test_a_childs_messages_in_a_replay_are_tagged() -> None:
    session = reader()
    session.begin_replay()
    read(session, child(title="helper", **RUNNING), message("I ", "m"))
    read(session, message("hi", "m"), session_id="kid")
    read(session, message("wait.", "m"))
    assert session.end_replay() == [
        {"id": "t1:m", "role": "assistant", "content": "I wait."},
        {"id": "t1/1:m", "role": "assistant", "subagentRunId": "t1/1", "content": "hi"},
    ]
