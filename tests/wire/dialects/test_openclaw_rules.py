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
from tests.wire.dialects.openclaw_live import KEY, RUN, Live

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
    live = Live()
    words = "connect is only valid as the first request"
    live.hears({"type": "res", "id": "connect", "ok": False, "error": {"message": words}})
    assert live.dialect.failure is None


def test_a_connection_that_is_refused_says_why() -> None:
    dialect = OpenClaw()
    dialect.start_session(SessionStart("/workspace", tag="a", params={"token": "wrong"}))
    refused = {"type": "res", "id": "connect", "ok": False, "error": {"message": "token mismatch"}}
    dialect.read([orjson.dumps(refused)])
    assert dialect.failure is not None and "token mismatch" in dialect.failure.detail


# -- sessions


def test_a_session_is_made_in_the_threads_directory_with_the_mode_of_the_definition() -> None:
    live = Live(params={"agent": "main", "mode": "guarded"}, session_id=None)
    assert live.calls() == [("sessions.create", {"cwd": "/workspace", "agentId": "main", "permissionMode": "guarded"})]


def test_a_session_that_is_gone_begins_anew() -> None:
    live = Live(session_id="agent:main:old")
    assert live.calls() == [("sessions.resolve", {"key": "agent:main:old", "allowMissing": True})]
    live.answers(ok=False)
    assert live.calls() == [("sessions.create", {"cwd": "/workspace"})]
    live.answers(key=KEY)
    assert (live.dialect.is_ready, live.dialect.has_lost_history, live.dialect.session_id) == (True, True, KEY)


def test_a_copy_is_made_of_the_session_to_come_back_to() -> None:
    live = Live(session_id="agent:main:old", fork=True)
    assert live.calls() == [("sessions.create", {"fork": True, "parentSessionKey": "agent:main:old"})]
    live.answers(key="agent:main:copy")
    assert (live.dialect.is_ready, live.dialect.session_id) == (True, "agent:main:copy")


def test_a_session_that_cannot_be_made_says_why() -> None:
    live = Live(session_id=None, fork=False)
    live.refuses("missing scope: operator.admin")
    assert live.dialect.failure is not None and "operator.admin" in live.dialect.failure.detail


def test_what_happens_in_other_sessions_is_not_ours() -> None:
    live = Live().working()
    assert live.says("assistant", key="agent:main:other", run="r", text="hi", delta="hi") == []
    assert live.event("heartbeat", status="ok") == []
    assert live.dialect.is_busy


# -- a turn


def test_a_run_is_answered_twice_and_the_second_is_its_end() -> None:
    live = Live()
    live.prompt()
    assert live.answers(status="accepted", runId=RUN) == []
    live.says("assistant", itemId="i", text="hi", delta="hi")
    assert live.answers(status="ok", result={"payloads": [{"text": "hi"}]}) == [TextMessageEnd(), TurnEnded()]


def test_an_answer_that_did_not_stream_is_told_whole() -> None:
    live = Live().working()
    events = live.answers(status="ok", result={"payloads": [{"text": "one"}, {"text": "two"}, {"mediaUrl": "x"}]})
    assert [event.text for event in events if isinstance(event, TextMessageContent)] == ["one\n\ntwo"]


def test_an_answer_that_was_cut_off_says_so() -> None:
    assert Live().working().answers(status="ok", result={"meta": {"stopReason": "length"}})[-1] == TurnEnded(
        "max_tokens"
    )


def test_wishes_stand_in_the_request() -> None:
    [(method, params)] = Live().prompt(model="openai/gpt-5/mini", thinking={"thinking": "high"})
    assert method == "agent"
    assert (params["provider"], params["model"], params["thinking"]) == ("openai", "gpt-5/mini", "high")
    assert params["idempotencyKey"] == RUN


def test_another_mode_is_set_before_the_run() -> None:
    live = Live()
    assert live.prompt(mode="read-only") == [("sessions.patch", {"key": KEY, "permissionMode": "read-only"})]
    live.answers(ok=True)
    assert live.calls()[0][0] == "agent"
    live.answers(status="ok", result={})
    assert live.prompt(mode="read-only")[0][0] == "agent"


def test_a_mode_that_cannot_be_had_breaks_the_turn() -> None:
    live = Live()
    live.prompt(mode="full")
    [broke] = live.refuses("not for you")
    assert isinstance(broke, TurnFailed) and "not for you" in broke.message


def test_a_mode_that_there_is_not_is_not_sent() -> None:
    assert Live().prompt(mode="whatever")[0][0] == "agent"


def test_images_are_attached_and_files_left_out() -> None:
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    file = {"type": "resource", "resource": {"uri": "a", "blob": "aGk="}}
    live = Live()
    [(_, params)] = live.prompt(blocks=[{"type": "text", "text": "look"}, image, file])
    assert [given["fileName"] for given in params["attachments"]] == ["image-1.png"]
    [warned] = live.answers(status="accepted")
    assert isinstance(warned, Warning) and warned.code == "CONTENT_DROPPED"


# -- the end


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("LLM request failed: provider rejected the request schema", "MODEL_ERROR"),
        ("No route-compatible authentication source is configured for openai.", "AUTH_REQUIRED"),
        ("request failed (authentication failed, HTTP 401).", "AUTH_REQUIRED"),
        ("session agent:main:x does not exist", "SESSION_NOT_FOUND"),
        ("something broke", "AGENT_ERROR"),
    ],
)
def test_a_failure_has_its_words_and_a_code(words: str, code: str) -> None:
    assert Live().working().refuses(words, status="error")[-1] == TurnFailed(words, code)


def test_a_run_that_took_too_long_failed() -> None:
    assert Live().working().answers(status="timeout", summary="timed out")[-1] == TurnFailed("timed out", "AGENT_ERROR")


def test_after_an_abort_an_end_and_an_error_mean_nothing_more() -> None:
    live = Live().working()
    assert live.dialect.cancel()
    assert live.calls() == [("chat.abort", {"sessionKey": KEY, "runId": RUN})]
    assert live.says("lifecycle", phase="end", aborted=True) == []
    assert live.says("lifecycle", phase="error", error="aborted") == []
    assert live.dialect.is_busy


def test_an_aborted_run_is_cancelled_whatever_its_last_answer_says() -> None:
    live = Live()
    live.prompt()
    live.dialect.cancel()
    assert live.hears({"type": "res", "id": "s:2", "ok": False, "error": {"message": "x"}}) == [TurnEnded("cancelled")]


@pytest.mark.parametrize("late", ["accepted", "start"])
def test_a_run_that_is_accepted_after_it_was_cancelled_is_aborted_again(late: str) -> None:
    live = Live()
    live.prompt()
    live.dialect.cancel()
    live.calls()
    if late == "accepted":
        live.hears({"type": "res", "id": "s:2", "ok": True, "payload": {"status": "accepted"}})
    else:
        live.says("lifecycle", phase="start")
    assert [method for method, _ in live.calls()] == ["chat.abort"]


def test_another_run_of_the_session_is_told_but_ends_nothing() -> None:
    live = Live().working()
    assert live.says("assistant", run="heartbeat", itemId="h", text="by the way", delta="by the way") == [
        TextMessageContent("by the way")
    ]
    assert live.says("lifecycle", run="heartbeat", phase="end") == [TextMessageEnd()]
    assert live.dialect.is_busy


# -- words


def said(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, TextMessageContent | ReasoningMessageContent)]


def test_a_piece_that_was_lost_between_two_is_told_all_the_same() -> None:
    live = Live().working()
    assert said(live.says("assistant", itemId="i", text="one", delta="one")) == ["one"]
    assert said(live.says("assistant", itemId="i", text="one two three", delta=" three")) == [" two three"]


def test_what_was_told_cannot_be_taken_back() -> None:
    live = Live().working()
    live.says("assistant", itemId="i", text="one two", delta="one two")
    assert live.says("assistant", itemId="i", text="one", delta="", replace=True) == []
    assert said(live.says("assistant", itemId="i", text="one two three", delta=" three")) == [" three"]


def test_a_text_that_is_replaced_by_another_is_a_new_message() -> None:
    live = Live().working()
    live.says("assistant", itemId="i", text="one", delta="one")
    assert live.says("assistant", itemId="i", text="two", delta="", replace=True) == [
        TextMessageEnd(),
        TextMessageContent("two"),
    ]


def test_thoughts_are_told_as_they_grow() -> None:
    live = Live().working()
    assert said(live.says("thinking", text="a", delta="a")) == ["a"]
    assert said(live.says("thinking", text="a b", delta=" b")) == [" b"]


def test_a_plan_is_an_activity() -> None:
    [plan] = Live().working().says("plan", phase="update", steps=["look", {"step": "write", "status": "pending"}, 7])
    entries = [{"content": "look"}, {"content": "write", "status": "pending"}]
    assert plan == ActivitySnapshot("k:plan", "plan", {"entries": entries})


def test_a_result_that_is_no_text_is_told_as_json() -> None:
    image = {"content": [{"type": "image", "data": "x"}]}
    events = Live().working().says("tool", phase="result", name="look", toolCallId="c", args={}, result=image)
    [result] = [event for event in events if isinstance(event, ToolCallResult)]
    assert result.content == orjson.dumps(image).decode()


def test_what_is_not_understood_is_handed_on() -> None:
    live = Live().working()
    assert [type(event) for event in live.says("brand-new", x=1)] == [Raw]
    assert [type(event) for event in live.says("item", kind="odd")] == [Raw]
    assert [type(event) for event in live.says("tool", phase="sideways", toolCallId="c")] == [Raw]
    assert live.says("compaction", phase="start") == [Custom("openclaw.compaction", {"phase": "start"})]


# -- usage


def test_input_includes_what_a_cache_gave_and_took() -> None:
    usage = {"input": 10, "output": 5, "cacheRead": 100, "cacheWrite": 20, "cost": {"total": 0.5}}
    agent = {"usage": usage, "provider": "p", "model": "m"}
    events = Live().working().answers(status="ok", result={"meta": {"agentMeta": agent}})
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
    live = Live()
    ticket = live.dialect.start_action(action, params)
    assert live.calls() == [request_]
    live.answers(**answer)
    assert live.dialect.action_results[ticket].value == value


def test_an_action_that_fails_says_why() -> None:
    live = Live()
    ticket = live.dialect.start_action("set_mode", {"mode": "full"})
    live.refuses("missing scope")
    error = live.dialect.action_results[ticket].error
    assert error is not None and "missing scope" in error.detail
    assert live.dialect.permission == "guarded"
