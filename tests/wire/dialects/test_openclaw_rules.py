"""OpenClaw: each rule by itself."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from gateway.events import (
    ActivitySnapshot,
    Custom,
    Event,
    Raw,
    ReasoningMessageContent,
    TextMessageContent,
    TextMessageEnd,
    TokenUsage,
    ToolCallResult,
    TurnEnded,
    TurnFailed,
    Warning,
)
from gateway.wire.dialects import SessionStart
from gateway.wire.dialects.openclaw import OpenClaw
from tests.wire.dialects.openclaw_live import KEY, RUN, OpenClawSession

# -- the connection


def test_the_first_session_connects_and_others_do_not() -> None:
    first, second = OpenClaw(), OpenClaw()
    first.start_session(SessionStart("/workspace", tag="a", params={"token": "secret"}))
    second.start_session(SessionStart("/workspace", tag="b", params={"token": "secret", "connected": True}))
    sent = [orjson.loads(message) for message in first.outbox]
    assert [request["method"] for request in sent] == ["connect", "sessions.create"]
    assert sent[0]["params"]["auth"] == {"token": "secret"} and "tool-events" in sent[0]["params"]["caps"]
    assert [orjson.loads(message)["method"] for message in second.outbox] == ["sessions.create"]


def test_a_connection_that_was_accepted_for_another_is_as_good() -> None:
    session = OpenClawSession()
    message = "connect is only valid as the first request"
    session.read({"type": "res", "id": "connect", "ok": False, "error": {"message": message}})
    assert session.dialect.failure is None


def test_a_refused_connection_has_the_reason() -> None:
    dialect = OpenClaw()
    dialect.start_session(SessionStart("/workspace", tag="a", params={"token": "wrong"}))
    refused = {"type": "res", "id": "connect", "ok": False, "error": {"message": "token mismatch"}}
    dialect.read([orjson.dumps(refused)])
    assert dialect.failure is not None and "token mismatch" in dialect.failure.detail


# -- sessions


def test_a_session_is_made_in_the_threads_directory_with_the_mode_of_the_definition() -> None:
    session = OpenClawSession(params={"agent": "main", "mode": "guarded"}, session_id=None)
    assert session.calls() == [
        ("sessions.create", {"cwd": "/workspace", "agentId": "main", "permissionMode": "guarded"})
    ]


def test_a_session_that_is_gone_is_replaced_by_a_new_one() -> None:
    session = OpenClawSession(session_id="agent:main:old")
    assert session.calls() == [("sessions.resolve", {"key": "agent:main:old", "allowMissing": True})]
    session.answers(ok=False)
    assert session.calls() == [("sessions.create", {"cwd": "/workspace"})]
    session.answers(key=KEY)
    assert (session.dialect.is_ready, session.dialect.has_lost_history, session.dialect.session_id) == (True, True, KEY)


def test_a_copy_is_made_of_the_session_to_come_back_to() -> None:
    session = OpenClawSession(session_id="agent:main:old", fork=True)
    assert session.calls() == [("sessions.create", {"fork": True, "parentSessionKey": "agent:main:old"})]
    session.answers(key="agent:main:copy")
    assert (session.dialect.is_ready, session.dialect.session_id) == (True, "agent:main:copy")


def test_a_session_that_cannot_be_created_has_the_reason() -> None:
    session = OpenClawSession(session_id=None, fork=False)
    session.refuses("missing scope: operator.admin")
    assert session.dialect.failure is not None and "operator.admin" in session.dialect.failure.detail


def test_events_of_other_sessions_are_skipped() -> None:
    session = OpenClawSession().working()
    assert session.agent_event("assistant", key="agent:main:other", run="r", text="hi", delta="hi") == []
    assert session.event("heartbeat", status="ok") == []
    assert session.dialect.is_busy


# -- a turn


def test_a_run_is_answered_twice_and_the_second_is_its_end() -> None:
    session = OpenClawSession()
    session.prompt()
    assert session.answers(status="accepted", runId=RUN) == []
    session.agent_event("assistant", itemId="i", text="hi", delta="hi")
    assert session.answers(status="ok", result={"payloads": [{"text": "hi"}]}) == [TextMessageEnd(), TurnEnded()]


def test_an_answer_that_did_not_stream_is_sent_whole() -> None:
    session = OpenClawSession().working()
    events = session.answers(status="ok", result={"payloads": [{"text": "one"}, {"text": "two"}, {"mediaUrl": "x"}]})
    assert [event.text for event in events if isinstance(event, TextMessageContent)] == ["one\n\ntwo"]


def test_an_answer_that_was_cut_off_has_its_stop_reason() -> None:
    assert OpenClawSession().working().answers(status="ok", result={"meta": {"stopReason": "length"}})[-1] == TurnEnded(
        "max_tokens"
    )


def test_options_are_in_the_request() -> None:
    [(method, params)] = OpenClawSession().prompt(model="openai/gpt-5/mini", thinking={"thinking": "high"})
    assert method == "agent"
    assert (params["provider"], params["model"], params["thinking"]) == ("openai", "gpt-5/mini", "high")
    assert params["idempotencyKey"] == RUN


def test_another_mode_is_set_before_the_run() -> None:
    session = OpenClawSession()
    assert session.prompt(mode="read-only") == [("sessions.patch", {"key": KEY, "permissionMode": "read-only"})]
    session.answers(ok=True)
    assert session.calls()[0][0] == "agent"
    session.answers(status="ok", result={})
    assert session.prompt(mode="read-only")[0][0] == "agent"


def test_a_mode_that_cannot_be_had_breaks_the_turn() -> None:
    session = OpenClawSession()
    session.prompt(mode="full")
    [broke] = session.refuses("not for you")
    assert isinstance(broke, TurnFailed) and "not for you" in broke.message


def test_a_mode_that_there_is_not_is_not_sent() -> None:
    assert OpenClawSession().prompt(mode="whatever")[0][0] == "agent"


def test_images_are_attached_and_files_left_out() -> None:
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    file = {"type": "resource", "resource": {"uri": "a", "blob": "aGk="}}
    session = OpenClawSession()
    [(_, params)] = session.prompt(blocks=[{"type": "text", "text": "look"}, image, file])
    assert [attachment["fileName"] for attachment in params["attachments"]] == ["image-1.png"]
    [warned] = session.answers(status="accepted")
    assert isinstance(warned, Warning) and warned.code == "CONTENT_DROPPED"


# -- the end


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("LLM request failed: provider rejected the request schema", "MODEL_ERROR"),
        ("No route-compatible authentication source is configured for openai.", "AUTH_REQUIRED"),
        ("request failed (authentication failed, HTTP 401).", "AUTH_REQUIRED"),
        ("session agent:main:x does not exist", "SESSION_NOT_FOUND"),
        ("something broke", "AGENT_ERROR"),
    ],
)
def test_a_failure_has_its_message_and_a_code(message: str, code: str) -> None:
    assert OpenClawSession().working().refuses(message, status="error")[-1] == TurnFailed(message, code)


def test_a_run_that_took_too_long_failed() -> None:
    assert OpenClawSession().working().answers(status="timeout", summary="timed out")[-1] == TurnFailed(
        "timed out", "AGENT_ERROR"
    )


def test_after_an_abort_an_end_and_an_error_mean_nothing_more() -> None:
    session = OpenClawSession().working()
    assert session.dialect.cancel()
    assert session.calls() == [("chat.abort", {"sessionKey": KEY, "runId": RUN})]
    assert session.agent_event("lifecycle", phase="end", aborted=True) == []
    assert session.agent_event("lifecycle", phase="error", error="aborted") == []
    assert session.dialect.is_busy


def test_an_aborted_run_is_cancelled_whatever_its_last_answer() -> None:
    session = OpenClawSession()
    session.prompt()
    session.dialect.cancel()
    assert session.read({"type": "res", "id": "s:2", "ok": False, "error": {"message": "x"}}) == [
        TurnEnded("cancelled")
    ]


@pytest.mark.parametrize("late", ["accepted", "start"])
def test_a_run_that_is_accepted_after_it_was_cancelled_is_aborted_again(late: str) -> None:
    session = OpenClawSession()
    session.prompt()
    session.dialect.cancel()
    session.calls()
    if late == "accepted":
        session.read({"type": "res", "id": "s:2", "ok": True, "payload": {"status": "accepted"}})
    else:
        session.agent_event("lifecycle", phase="start")
    assert [method for method, _ in session.calls()] == ["chat.abort"]


def test_the_output_of_another_run_is_sent_but_ends_no_turn() -> None:
    session = OpenClawSession().working()
    assert session.agent_event("assistant", run="heartbeat", itemId="h", text="by the way", delta="by the way") == [
        TextMessageContent("by the way")
    ]
    assert session.agent_event("lifecycle", run="heartbeat", phase="end") == [TextMessageEnd()]
    assert session.dialect.is_busy


# -- words


def texts_of(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, TextMessageContent | ReasoningMessageContent)]


def test_a_lost_piece_is_sent_with_the_next() -> None:
    session = OpenClawSession().working()
    assert texts_of(session.agent_event("assistant", itemId="i", text="one", delta="one")) == ["one"]
    assert texts_of(session.agent_event("assistant", itemId="i", text="one two three", delta=" three")) == [
        " two three"
    ]


def test_sent_text_cannot_be_taken_back() -> None:
    session = OpenClawSession().working()
    session.agent_event("assistant", itemId="i", text="one two", delta="one two")
    assert session.agent_event("assistant", itemId="i", text="one", delta="", replace=True) == []
    assert texts_of(session.agent_event("assistant", itemId="i", text="one two three", delta=" three")) == [" three"]


def test_a_text_that_is_replaced_by_another_is_a_new_message() -> None:
    session = OpenClawSession().working()
    session.agent_event("assistant", itemId="i", text="one", delta="one")
    assert session.agent_event("assistant", itemId="i", text="two", delta="", replace=True) == [
        TextMessageEnd(),
        TextMessageContent("two"),
    ]


def test_reasoning_is_sent_as_it_grows() -> None:
    session = OpenClawSession().working()
    assert texts_of(session.agent_event("thinking", text="a", delta="a")) == ["a"]
    assert texts_of(session.agent_event("thinking", text="a b", delta=" b")) == [" b"]


def test_a_plan_is_an_activity() -> None:
    [plan] = (
        OpenClawSession()
        .working()
        .agent_event("plan", phase="update", steps=["look", {"step": "write", "status": "pending"}, 7])
    )
    entries = [{"content": "look"}, {"content": "write", "status": "pending"}]
    assert plan == ActivitySnapshot("k:plan", "plan", {"entries": entries})


def test_a_result_that_is_no_text_is_sent_as_json() -> None:
    image = {"content": [{"type": "image", "data": "x"}]}
    events = (
        OpenClawSession()
        .working()
        .agent_event("tool", phase="result", name="look", toolCallId="c", args={}, result=image)
    )
    [result] = [event for event in events if isinstance(event, ToolCallResult)]
    assert result.content == orjson.dumps(image).decode()


def test_what_is_not_understood_is_handed_on() -> None:
    session = OpenClawSession().working()
    assert [type(event) for event in session.agent_event("brand-new", x=1)] == [Raw]
    assert [type(event) for event in session.agent_event("item", kind="odd")] == [Raw]
    assert [type(event) for event in session.agent_event("tool", phase="sideways", toolCallId="c")] == [Raw]
    assert session.agent_event("compaction", phase="start") == [Custom("openclaw.compaction", {"phase": "start"})]


# -- usage


def test_input_includes_what_a_cache_gave_and_took() -> None:
    usage = {"input": 10, "output": 5, "cacheRead": 100, "cacheWrite": 20, "cost": {"total": 0.5}}
    agent = {"usage": usage, "provider": "p", "model": "m"}
    events = OpenClawSession().working().answers(status="ok", result={"meta": {"agentMeta": agent}})
    [used] = [event for event in events if isinstance(event, TokenUsage)]
    assert (used.input_tokens, used.output_tokens, used.total_tokens) == (130, 5, 135)
    assert (used.cached_input_tokens, used.cache_write_input_tokens) == (100, 20)
    assert Custom("cost", {"usd": 0.5}) in events


# -- actions


@pytest.mark.parametrize(
    ("action", "params", "request_", "answer", "value"),
    [
        ("fork", {}, ("sessions.create", {"fork": True, "parentSessionKey": KEY}), {"key": "copy"}, "copy"),
        ("delete", {}, ("sessions.delete", {"key": KEY, "deleteTranscript": True}), {"deleted": True}, None),
        ("set_model", {"model": "a/b"}, ("sessions.patch", {"key": KEY, "model": "a/b"}), {}, None),
        ("set_mode", {"mode": "full"}, ("sessions.patch", {"key": KEY, "permissionMode": "full"}), {}, None),
        (
            "models",
            {},
            ("models.list", {}),
            {"models": [{"id": "m", "provider": "p", "reasoning": True}, {"id": "x", "available": False}]},
            [{"id": "p/m", "provider": "p", "thinking": True}],
        ),
    ],
)
def test_an_action_is_one_request(action: str, params: Any, request_: Any, answer: Any, value: Any) -> None:
    session = OpenClawSession()
    action_id = session.dialect.start_action(action, params)
    assert session.calls() == [request_]
    session.answers(**answer)
    assert session.dialect.action_results[action_id].value == value


@pytest.mark.parametrize("tags", [True, 7, {"default": 1}, "default"])
def test_tags_of_another_type_are_no_tags(tags: Any) -> None:
    session = OpenClawSession()
    action_id = session.dialect.start_action("models")
    session.calls()
    session.answers(models=[{"id": "m", "provider": "p", "tags": tags}])
    assert session.dialect.action_results[action_id].value == [{"id": "p/m", "provider": "p"}]


def test_an_action_that_fails_has_the_reason() -> None:
    session = OpenClawSession()
    action_id = session.dialect.start_action("set_mode", {"mode": "full"})
    session.refuses("missing scope")
    error = session.dialect.action_results[action_id].error
    assert error is not None and "missing scope" in error.detail
    assert session.dialect.session_layer["custom.session.permissions.mode"] == "guarded"
