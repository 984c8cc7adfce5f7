"""Hermes Agent: each rule by itself."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import Custom, Raw, TextMessageContent, TokenUsage, TurnEnded, TurnFailed, Warning
from tests.wire.dialects.hermes_live import APPROVAL, DONE, HermesSession

# -- turns of its own


def test_a_turn_that_hermes_started_itself_ends_no_turn_of_the_user() -> None:
    session = HermesSession()
    session.event("message.start")
    session.event("message.delta", text="by the way")
    assert session.prompt()[0][0] == "session.interrupt"
    assert not [
        event for event in session.event("message.complete", status="interrupted") if isinstance(event, TurnEnded)
    ]
    assert session.dialect.is_busy
    session.event("session.info", running=False)
    assert session.calls()[0][0] == "prompt.submit"
    session.event("message.start")
    assert session.event("message.complete", **DONE)[-1] == TurnEnded()


def test_a_turn_that_hermes_started_itself_asks_no_user() -> None:
    session = HermesSession()
    session.event("message.start")
    assert session.event("approval.request", **APPROVAL) == []
    assert [params["choice"] for _, params in session.calls()] == ["deny"]


def test_the_next_prompt_waits_until_the_session_rests() -> None:
    session = HermesSession().working()
    session.event("message.complete", **DONE)
    assert session.prompt("more", "k2") == []
    session.event("session.info", running=False)
    assert [method for method, _ in session.calls()] == ["prompt.submit"]


# -- cancelling


def test_a_turn_that_is_cancelled_before_it_began_ends_with_the_answer() -> None:
    session = HermesSession()
    session.prompt()
    session.answers(status="streaming")
    assert session.dialect.cancel()
    assert session.answers(status="interrupted") == [TurnEnded("cancelled")]
    assert not session.dialect.is_busy


def test_a_cancelled_turn_that_begins_after_all_is_stopped_and_passed_over() -> None:
    session = HermesSession()
    session.prompt()
    session.dialect.cancel()
    session.answers(status="interrupted")
    session.event("message.start")
    assert [method for method, _ in session.calls()] == ["session.interrupt"]
    assert session.event("message.delta", text="too late") == []
    assert session.event("message.complete", status="interrupted", text="too late") == []


def test_a_turn_that_starts_after_it_was_cancelled_is_stopped_again() -> None:
    session = HermesSession()
    session.prompt()
    session.dialect.cancel()
    session.calls()
    session.event("message.start")
    assert [method for method, _ in session.calls()] == ["session.interrupt"]
    assert session.event("message.complete", status="interrupted")[-1] == TurnEnded("cancelled")


def test_a_process_that_dies_of_a_cancel_has_cancelled() -> None:
    session = HermesSession().working()
    session.dialect.cancel()
    assert session.dialect.on_process_exit(-15, "") == [TurnEnded("cancelled")]


# -- failures


def test_a_failure_of_the_model_has_its_message() -> None:
    events = HermesSession().working().event("message.complete", status="error", text="HTTP 400: no")
    assert events[-1] == TurnFailed("HTTP 400: no", "MODEL_ERROR")


def test_a_provider_that_does_not_know_us_wants_a_sign_in() -> None:
    events = HermesSession().working().event("message.complete", status="error", text="HTTP 401: who?")
    assert events[-1] == TurnFailed("HTTP 401: who?", "AUTH_REQUIRED")


def test_an_error_with_the_session_at_rest_is_the_end() -> None:
    session = HermesSession().working()
    assert session.event("error", message="boom") == []
    assert session.event("session.info", running=False)[-1] == TurnFailed("boom", "AGENT_ERROR")


def test_an_error_before_an_answer_is_none() -> None:
    session = HermesSession().working()
    session.event("error", message="could not switch")
    assert session.event("message.complete", **DONE)[-1] == TurnEnded()


def test_a_repeated_error_is_reported_once() -> None:
    session = HermesSession()
    session.prompt()
    session.answers(status="streaming")
    assert session.event("error", message="agent init failed: no memory") == [TurnFailed("no memory", "AGENT_ERROR")]
    assert session.event("error", message="no memory") == []
    assert session.event("error", message="something else") == [Warning("AGENT_ERROR", "something else")]


def test_a_prompt_that_is_refused_breaks_the_turn() -> None:
    session = HermesSession()
    session.prompt()
    [broke] = session.refuses(4001, "session not found")
    assert isinstance(broke, TurnFailed) and broke.code == "SESSION_NOT_FOUND"


# -- sessions


def test_a_session_that_is_gone_is_replaced_by_a_new_one() -> None:
    session = HermesSession(session_id="old")
    assert session.calls() == [("session.resume", {"session_id": "old", "cols": 100})]
    session.refuses(4007, "session not found")
    session.answers(session_id="aa11", stored_session_id="new")
    assert (session.dialect.is_ready, session.dialect.has_lost_history, session.dialect.session_id) == (
        True,
        True,
        "new",
    )


def test_a_session_that_cannot_be_opened_has_the_reason() -> None:
    session = HermesSession(session_id="old")
    session.refuses(5000, "the database is locked")
    assert session.dialect.failure is not None and "the database is locked" in session.dialect.failure.detail
    assert not session.dialect.is_ready


def test_a_session_comes_back_to_the_directory_of_the_thread() -> None:
    session = HermesSession(session_id="old")
    session.answers(session_id="aa11", session_key="old", info={"cwd": "/elsewhere"})
    assert not session.dialect.is_ready
    assert session.calls() == [("session.cwd.set", {"session_id": "aa11", "cwd": "/workspace"})]
    session.answers(cwd="/workspace")
    assert session.dialect.is_ready


def test_a_copy_of_a_session_goes_by_its_own_id() -> None:
    session = HermesSession(session_id="old", fork=True)
    session.answers(session_id="aa11", session_key="old", info={"cwd": "/workspace"})
    assert session.calls() == [("session.branch", {"session_id": "aa11"})]
    session.answers(session_id="bb22", parent="old")
    assert session.calls() == [("session.title", {"session_id": "bb22"})]
    session.answers(session_key="copy")
    session.answers(cwd="/workspace")
    assert (session.dialect.is_ready, session.dialect.session_id) == (True, "copy")


def test_the_copy_of_an_empty_session_is_a_new_one() -> None:
    session = HermesSession(session_id="old", fork=True)
    session.answers(session_id="aa11", session_key="old")
    session.refuses(4008, "nothing to branch")
    assert session.calls()[0][0] == "session.create"


def test_events_of_other_sessions_are_skipped() -> None:
    session = HermesSession().working()
    assert session.event("message.delta", live="bb22", text="not for you") == []
    assert session.event("message.complete", live="bb22", **DONE) == []
    assert session.dialect.is_busy


def test_a_compressed_session_goes_on_under_its_new_id() -> None:
    session = HermesSession().working()
    session.event("session.info", running=True, stored_session_id="next")
    assert session.dialect.session_id == "next"


# -- options


def test_a_models_name_is_never_read_as_a_flag() -> None:
    [(method, params)] = HermesSession().prompt(model="gpt-5 --global \u2014global")
    assert (method, params["value"]) == ("config.set", "gpt-5 --session")


def test_a_model_of_another_provider_is_set_by_both_names() -> None:
    session = HermesSession()
    assert session.prompt(model="nous:hermes-4")[0][0] == "model.options"
    session.answers(provider="custom", providers=[{"slug": "nous"}, {"slug": "custom"}])
    assert session.calls()[0][1]["value"] == "hermes-4 --provider nous --session"


def test_a_model_is_switched_once_and_the_prompt_waits_for_it() -> None:
    session = HermesSession()
    session.prompt(model="gpt-5")
    assert session.answers(value="gpt-5", warning="not in the list") == [Warning("MODEL", "not in the list")]
    assert session.calls()[0][0] == "prompt.submit"
    session.event("message.start")
    session.event("message.complete", **DONE)
    session.event("session.info", running=False)
    assert [method for method, _ in session.prompt(model="gpt-5", key="k2")] == ["prompt.submit"]


def test_a_model_that_cannot_be_had_breaks_the_turn() -> None:
    session = HermesSession()
    session.prompt(model="nothing")
    [broke] = session.refuses(5001, "no such model")
    assert isinstance(broke, TurnFailed) and broke.code == "MODEL_ERROR" and "no such model" in broke.message


@pytest.mark.parametrize("is_listed", [True, False])
def test_an_effort_waits_for_the_agent_that_would_lose_it(is_listed: bool) -> None:
    """agent-mux §8: while Hermes builds its agent it accepts an effort, and does not use it."""
    session = HermesSession()
    assert [method for method, _ in session.prompt(thinking={"reasoning": "low"})] == ["process.list"]
    assert (session.answers(processes=[]) if is_listed else session.refuses(5032, "not ready")) == []
    [(method, params)] = session.calls()
    assert (method, params["key"], params["value"]) == ("config.set", "reasoning", "low")
    session.answers(value="low")
    assert session.calls()[0][0] == "prompt.submit"


def test_an_effort_waits_for_nothing_once_the_agent_is_there() -> None:
    session = HermesSession()
    session.event("session.info", provider="custom")
    assert [method for method, _ in session.prompt(thinking={"reasoning": "low"})] == ["config.set"]


@pytest.mark.parametrize("value", ["show", "hide", "full", "on", 3])
def test_an_effort_that_would_change_the_users_own_settings_is_not_sent(value: Any) -> None:
    assert [method for method, _ in HermesSession().prompt(thinking={"reasoning": value})] == ["prompt.submit"]


def test_content_that_hermes_does_not_take_is_dropped_with_a_warning() -> None:
    sound = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
    session = HermesSession()
    session.prompt(blocks=[{"type": "text", "text": "hear"}, sound])
    [warned] = session.answers(status="streaming")
    assert isinstance(warned, Warning) and warned.code == "CONTENT_DROPPED"


def test_a_pdf_that_cannot_be_shown_is_attached_as_a_file() -> None:
    pdf = {"type": "resource", "resource": {"uri": "a/b.pdf", "mimeType": "application/pdf", "blob": "aGk="}}
    session = HermesSession()
    [(method, params)] = session.prompt(blocks=[{"type": "text", "text": "read"}, pdf])
    assert (method, params["filename"]) == ("pdf.attach", "b.pdf")
    session.refuses(5028, "pdftoppm not installed")
    [(method, params)] = session.calls()
    assert (method, params["name"]) == ("file.attach", "b.pdf")
    session.answers(ref_text="@file:b.pdf")
    assert session.calls() == [("prompt.submit", {"session_id": "aa11", "text": "read\n\n@file:b.pdf"})]


def test_a_refused_attachment_is_a_warning_and_the_prompt_goes_on() -> None:
    session = HermesSession()
    session.prompt(blocks=[{"type": "text", "text": "look"}, {"type": "image", "data": "aGk=", "mimeType": "image/x"}])
    session.refuses(4016, "unsupported image extension")
    assert session.calls()[0][0] == "prompt.submit"
    [warned] = session.answers(status="streaming")
    assert isinstance(warned, Warning) and "unsupported image" in warned.message


# -- usage


def test_usage_is_what_the_turn_added_to_the_totals() -> None:
    session = HermesSession().working()
    first = {"model": "m", "prompt": 100, "completion": 10, "reasoning": 4, "total": 110}
    second = {"model": "m", "prompt": 250, "completion": 30, "reasoning": 4, "total": 280}
    [used] = [
        event
        for event in session.event("message.complete", **{**DONE, "usage": first})
        if isinstance(event, TokenUsage)
    ]
    assert (used.input_tokens, used.output_tokens, used.reasoning_tokens, used.total_tokens) == (100, 10, 4, 110)
    session.event("session.info", running=False)
    session.working(key="k2")
    [used] = [
        event
        for event in session.event("message.complete", **{**DONE, "usage": second})
        if isinstance(event, TokenUsage)
    ]
    assert (used.input_tokens, used.output_tokens, used.reasoning_tokens, used.total_tokens) == (150, 20, 0, 170)


def test_a_live_session_that_comes_back_goes_on_counting() -> None:
    session = HermesSession(session_id="old")
    counted = {"prompt": 100, "completion": 10, "reasoning": 0, "total": 110}
    session.answers(session_id="aa11", session_key="old", info={"cwd": "/workspace", "usage": counted})
    events = session.working().event("message.complete", **{**DONE, "usage": counted})
    assert not [event for event in events if isinstance(event, TokenUsage)]


# -- words


def test_an_answer_that_did_not_stream_is_sent_whole() -> None:
    events = HermesSession().working().event("message.complete", **DONE)
    assert [event.text for event in events if isinstance(event, TextMessageContent)] == ["hi"]


def test_an_answer_that_was_sent_before_is_not_repeated() -> None:
    session = HermesSession().working()
    session.event("message.interim", text="hi", already_streamed=False)
    events = session.event("message.complete", **DONE, response_previewed=True)
    assert [event for event in events if isinstance(event, TextMessageContent)] == []


def test_newlines_between_a_call_and_the_next_text_are_removed() -> None:
    session = HermesSession().working()
    session.event("tool.complete", tool_id="c1", name="t", args={}, result="ok")
    assert session.event("message.delta", text="\n\n") == []
    assert session.event("message.delta", text="\nso") == [TextMessageContent("so")]
    assert session.event("message.delta", text="\n\nand") == [TextMessageContent("\n\nand")]


def test_what_is_not_understood_is_handed_on() -> None:
    session = HermesSession().working()
    assert [type(event) for event in session.event("brand.new", x=1)] == [Raw]
    assert [type(event) for event in session.event("message.delta", message="?")] == [Raw]
    assert session.event("moa.aggregating", aggregator="m") == [Custom("hermes.aggregating", {"aggregator": "m"})]


# -- actions


def test_models_are_listed_by_provider_and_name() -> None:
    session = HermesSession()
    action_id = session.dialect.start_action("models")
    able = {"gpt-5": {"reasoning": True}}
    listed = {"slug": "custom", "models": ["gpt-5", 7], "capabilities": able}
    stranger = {"slug": "xai", "models": ["g"], "authenticated": False}
    session.answers(provider="custom", model="gpt-5", providers=[listed, stranger])
    entry = {"id": "custom:gpt-5", "name": "gpt-5", "provider": "custom", "thinking": True, "current": True}
    assert session.dialect.action_results[action_id].value == [entry]


def test_a_fork_is_named_by_its_stored_id() -> None:
    session = HermesSession()
    action_id = session.dialect.start_action("fork")
    session.answers(session_id="bb22")
    session.answers(session_key="copy")
    assert session.dialect.action_results[action_id].value == "copy"


def test_a_fork_that_fails_has_the_reason() -> None:
    session = HermesSession()
    action_id = session.dialect.start_action("fork")
    session.refuses(4008, "nothing to branch")
    error = session.dialect.action_results[action_id].error
    assert error is not None and "nothing to branch" in error.detail


def test_a_session_is_closed_before_it_is_deleted() -> None:
    session = HermesSession()
    action_id = session.dialect.start_action("delete")
    assert session.calls() == [("session.close", {"session_id": "aa11"})]
    session.answers(closed=True)
    assert session.calls() == [("session.delete", {"session_id": "stored"})]
    session.answers(deleted="stored")
    assert session.dialect.action_results[action_id].error is None and not session.dialect.is_ready


def test_a_model_is_set_between_turns() -> None:
    session = HermesSession()
    action_id = session.dialect.start_action("set_model", {"model": "gpt-5"})
    assert session.calls()[0][1]["value"] == "gpt-5 --session"
    session.answers(value="gpt-5")
    assert session.dialect.action_results[action_id].error is None
    assert [method for method, _ in session.prompt(model="gpt-5")] == ["prompt.submit"]
