"""A session's turns, questions and replay."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import Raw, TextMessageContent, TokenUsage, TurnEnded, TurnFailed, Warning
from gateway.wire.acp.errors import ERROR_TEXTS
from gateway.wire.acp.session import SessionReader
from gateway.wire.jsonrpc import Fault
from tests.wire.acp.session_helper import call, message, printed, read, reader, whole

EMPTY = "EMPTY_TURN"


def codes(events: list[Any]) -> list[str]:
    return [event.code for event in events if isinstance(event, Warning)]


@pytest.mark.parametrize("reason", ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "_own"])
def test_a_turn_ends_for_the_agents_reason(reason: str) -> None:
    session = reader()
    read(session, message("hi"))
    assert session.end_turn(reason) == [TurnEnded(reason)]
    assert not session.is_in_turn


def test_a_turn_that_the_gateway_cancelled_was_cancelled_whatever_the_agent_reports() -> None:
    session = reader()
    assert session.end_turn("end_turn", cancelled=True) == [TurnEnded("cancelled")]


def test_no_reason_is_the_usual_one() -> None:
    session = reader()
    read(session, message("hi"))
    assert session.end_turn(None) == [TurnEnded("end_turn")]


def test_a_turn_without_anything_in_it_is_reported() -> None:
    assert codes(reader().end_turn("end_turn")) == [EMPTY]
    assert codes(reader().end_turn("cancelled")) == []


@pytest.mark.parametrize(
    "update",
    [
        message("hi"),
        message("hm", kind="agent_thought_chunk"),
        call(),
        {"sessionUpdate": "plan", "entries": []},
        {"sessionUpdate": "compaction_update", "compactionId": "k"},
        {"sessionUpdate": "current_mode_update", "currentModeId": "plan"},
    ],
)
def test_a_turn_in_which_something_was_done_is_not_empty(update: dict[str, Any]) -> None:
    session = reader()
    read(session, update)
    assert codes(session.end_turn("end_turn")) == []


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "usage_update", "used": 1, "size": 2},
        {"sessionUpdate": "session_info_update", "title": "x"},
        {"sessionUpdate": "notice", "title": "x"},
        message("", "m"),
    ],
)
def test_a_turn_of_state_changes_alone_is_empty(update: dict[str, Any]) -> None:
    session = reader()
    read(session, update)
    assert codes(session.end_turn("end_turn")) == [EMPTY]


def test_a_failure_dressed_as_an_answer_stays_text_and_is_reported() -> None:
    session = reader(error_texts=ERROR_TEXTS)
    read(session, message("Looking.", "a"), message("HTTP 400: ", "b"), message("no", "b"))
    assert codes(session.end_turn("end_turn")) == ["MODEL_ERROR_AS_TEXT"]
    silent = reader()
    read(silent, message("HTTP 400: no"))
    assert codes(silent.end_turn("end_turn")) == []


def test_tokens_are_reported_at_the_end() -> None:
    session = reader()
    read(session, message("hi"))
    usage = {"inputTokens": 11, "outputTokens": 20, "totalTokens": 31}
    assert session.end_turn("end_turn", usage) == [TokenUsage(None, None, 11, 20, 31), TurnEnded("end_turn")]


def test_tokens_reported_per_call_are_not_reported_again() -> None:
    session = reader()
    usage = {"inputTokens": 11, "outputTokens": 20, "totalTokens": 31}
    counted = {**message(""), "_meta": {"usage": usage, "durationMs": 3}}
    assert read(session, message("hi"), counted)[1:] == [TokenUsage(None, None, 11, 20, 31)]
    assert session.end_turn("end_turn", usage) == [TurnEnded("end_turn")]
    session.begin_turn("t2")
    read(session, message("hi"))
    assert session.end_turn("end_turn", usage)[0] == TokenUsage(None, None, 11, 20, 31)


def test_an_error_ends_the_turn_with_its_message() -> None:
    session = reader()
    read(session, call())
    *_, last = session.fail_turn(Fault(-32603, "Internal error", {"details": "no model"}))
    assert last == TurnFailed(
        "the agent answered session/prompt with error -32603: Internal error: no model", "AGENT_ERROR"
    )


def test_an_error_after_our_cancel_is_its_end() -> None:
    assert reader().fail_turn(Fault(-32603, "'NoneType'"), cancelled=True) == [TurnEnded("cancelled")]


def state(message: str, **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "state_update", "state": message, **fields}


def test_version_2_ends_a_turn_by_going_idle() -> None:
    session = reader()
    assert read(session, state("running"), message("hi", "m"))[1:] == []
    assert read(session, state("requires_action"), state("running")) == []
    assert read(session, state("idle", stopReason="end_turn")) == [TurnEnded("end_turn")]
    assert session.state.state == "idle"
    assert read(session, state("idle", stopReason="end_turn")) == []


def test_an_idle_state_from_before_the_turn_does_not_end_it() -> None:
    session = reader()
    assert read(session, state("idle")) == []
    assert session.is_in_turn
    read(session, state("running"), message("hi", "m"))
    assert read(session, state("idle")) == [TurnEnded("end_turn")]


def test_version_2_reports_a_failure_as_a_state() -> None:
    session = reader()
    (event,) = read(session, state("idle", stopReason="error", error={"code": -32000, "message": "sign in"}))
    assert event == TurnFailed("the agent answered session/prompt with error -32000: sign in", "AUTH_REQUIRED")
    session.begin_turn("t2")
    *_, event = read(session, message("no model", "m"), state("idle", stopReason="error"))
    assert isinstance(event, TurnFailed)
    assert event.message.endswith("error -32603: no model")


def test_a_state_update_without_a_state_becomes_raw() -> None:
    assert read(reader(), {"sessionUpdate": "state_update"}) == [Raw({"sessionUpdate": "state_update"}, "acp")]


def test_what_is_not_known_is_handed_on_without_vendors_data() -> None:
    update = {"sessionUpdate": "_new", "a": [{"_meta": {"key": "sk"}, "b": 1}], "_meta": {"key": "sk"}}
    assert read(reader(), update) == [Raw({"sessionUpdate": "_new", "a": [{"b": 1}]}, "acp")]


def test_an_interrupt_ends_its_calls_input_and_links_to_it() -> None:
    session = reader()
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    read(session, call("c", rawInput={}))
    tool_call = {"toolCallId": "c", "title": "ls", "rawInput": {"command": "ls"}}
    events, interrupt = session.read_permission("q-1", {"sessionId": "s", "toolCall": tool_call, "options": options})
    assert [type(event).__name__ for event in events] == ["ToolCallArgs", "ToolCallArgs", "ToolCallEnd"]
    assert (interrupt.id, interrupt.tool_call_id, interrupt.message) == ("t1:ask:q-1", "t1:c", "ls")
    assert session.park() == []


def test_an_interrupt_may_be_the_first_that_is_seen_of_a_call() -> None:
    events, interrupt = reader().read_permission(0, {"toolCall": {"toolCallId": "c", "kind": "edit"}, "options": []})
    assert [type(event).__name__ for event in events] == ["ToolCallStart", "ToolCallArgs", "ToolCallEnd"]
    assert interrupt.tool_call_id == "t1:c"


def test_a_form_is_linked_to_a_call_that_is_known() -> None:
    session = reader()
    read(session, call("c"))
    params = {"mode": "form", "message": "Which?", "requestedSchema": {"type": "object"}, "toolCallId": "c"}
    assert session.read_elicitation(1, params)[1].tool_call_id == "t1:c"
    assert session.read_elicitation(2, {**params, "toolCallId": "unseen"})[1].tool_call_id is None


def test_a_replay_is_history() -> None:
    session = SessionReader()
    session.begin_replay()
    assert session.is_replaying
    events = read(
        session,
        message("hi ", "u1", "user_message_chunk"),
        message("there", "u1", "user_message_chunk"),
        message("hm", "m", "agent_thought_chunk"),
        message("I look.", "m"),
        call("c", rawInput={"a": 1}, status="completed", content=[printed("seen")]),
        message("Done.", "n"),
        message("more", "u2", "user_message_chunk"),
        call("c", kind="read"),
        {"sessionUpdate": "session_info_update", "title": "A talk"},
    )
    assert events == []
    history = session.end_replay()
    assert [(one["id"], one["role"], one.get("content")) for one in history] == [
        ("h1:user", "user", "hi there"),
        ("h1:m:thought", "reasoning", "hm"),
        ("h1:m", "assistant", "I look."),
        ("h1:c:result", "tool", "seen"),
        ("h1:n", "assistant", "Done."),
        ("h2:user", "user", "more"),
        ("h2:c:call", "assistant", None),
        ("h2:c:result", "tool", "The agent ended its turn without a result for this call."),
    ]
    assert history[2]["toolCalls"][0]["function"] == {"name": "execute", "arguments": '{"a":1}'}
    assert session.state.title == "A talk"
    assert session.end_replay() == []


def test_users_images_are_parts_of_history() -> None:
    session = SessionReader()
    session.begin_replay()
    image = {"sessionUpdate": "user_message_chunk", "content": {"type": "image", "data": "AA==", "mimeType": "a/b"}}
    read(session, message("see", kind="user_message_chunk"), image, message("!", kind="user_message_chunk"))
    (events,) = session.end_replay()
    assert [part["type"] for part in events["content"]] == ["text", "image", "text"]


def test_a_live_turn_after_a_replay_has_ids_of_its_own() -> None:
    session = SessionReader()
    session.begin_replay()
    read(session, whole("u", "hi", kind="user_message"), whole("m", "ho"))
    session.end_replay()
    session.begin_turn("t9")
    assert read(session, message("ho", "m")) == [TextMessageContent("ho", "t9:m")]
