"""Hermes Agent: each rule by itself."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import Custom, Raw, TextMessageContent, TokenUsage, TurnEnded, TurnFailed, Warning
from tests.wire.dialects.hermes_live import ASKED, DONE, Live

# -- turns of its own


def test_a_turn_that_hermes_began_itself_ends_none_of_ours() -> None:
    live = Live()
    live.event("message.start")
    live.event("message.delta", text="by the way")
    assert live.prompt()[0][0] == "session.interrupt"
    assert not [event for event in live.event("message.complete", status="interrupted") if isinstance(event, TurnEnded)]
    assert live.dialect.is_busy
    live.event("session.info", running=False)
    assert live.calls()[0][0] == "prompt.submit"
    live.event("message.start")
    assert live.event("message.complete", **DONE)[-1] == TurnEnded()


def test_nobody_is_asked_for_a_turn_that_hermes_began_itself() -> None:
    live = Live()
    live.event("message.start")
    assert live.event("approval.request", **ASKED) == []
    assert [params["choice"] for _, params in live.calls()] == ["deny"]


def test_the_next_prompt_waits_until_the_session_rests() -> None:
    live = Live().working()
    live.event("message.complete", **DONE)
    assert live.prompt("more", "k2") == []
    live.event("session.info", running=False)
    assert [method for method, _ in live.calls()] == ["prompt.submit"]


# -- cancelling


def test_a_turn_that_is_cancelled_before_it_began_ends_with_the_answer() -> None:
    live = Live()
    live.prompt()
    live.answers(status="streaming")
    assert live.dialect.cancel()
    assert live.answers(status="interrupted") == [TurnEnded("cancelled")]
    assert not live.dialect.is_busy


def test_a_cancelled_turn_that_begins_after_all_is_stopped_and_passed_over() -> None:
    live = Live()
    live.prompt()
    live.dialect.cancel()
    live.answers(status="interrupted")
    live.event("message.start")
    assert [method for method, _ in live.calls()] == ["session.interrupt"]
    assert live.event("message.delta", text="too late") == []
    assert live.event("message.complete", status="interrupted", text="too late") == []


def test_a_turn_that_begins_after_it_was_cancelled_is_told_again() -> None:
    live = Live()
    live.prompt()
    live.dialect.cancel()
    live.calls()
    live.event("message.start")
    assert [method for method, _ in live.calls()] == ["session.interrupt"]
    assert live.event("message.complete", status="interrupted")[-1] == TurnEnded("cancelled")


def test_a_process_that_dies_of_a_cancel_has_cancelled() -> None:
    live = Live().working()
    live.dialect.cancel()
    assert live.dialect.on_process_exit(-15, "") == [TurnEnded("cancelled")]


# -- failures


def test_a_failure_of_the_models_has_its_words() -> None:
    events = Live().working().event("message.complete", status="error", text="HTTP 400: no")
    assert events[-1] == TurnFailed("HTTP 400: no", "MODEL_ERROR")


def test_a_provider_that_does_not_know_us_wants_a_sign_in() -> None:
    events = Live().working().event("message.complete", status="error", text="HTTP 401: who?")
    assert events[-1] == TurnFailed("HTTP 401: who?", "AUTH_REQUIRED")


def test_an_error_with_the_session_at_rest_is_the_end() -> None:
    live = Live().working()
    assert live.event("error", message="boom") == []
    assert live.event("session.info", running=False)[-1] == TurnFailed("boom", "AGENT_ERROR")


def test_an_error_before_an_answer_is_none() -> None:
    live = Live().working()
    live.event("error", message="could not switch")
    assert live.event("message.complete", **DONE)[-1] == TurnEnded()


def test_an_error_that_is_told_twice_is_one() -> None:
    live = Live()
    live.prompt()
    live.answers(status="streaming")
    assert live.event("error", message="agent init failed: no memory") == [TurnFailed("no memory", "AGENT_ERROR")]
    assert live.event("error", message="no memory") == []
    assert live.event("error", message="something else") == [Warning("AGENT_ERROR", "something else")]


def test_a_prompt_that_is_refused_breaks_the_turn() -> None:
    live = Live()
    live.prompt()
    [broke] = live.refuses(4001, "session not found")
    assert isinstance(broke, TurnFailed) and broke.code == "SESSION_NOT_FOUND"


# -- sessions


def test_a_session_that_is_gone_begins_anew() -> None:
    live = Live(session_id="old")
    assert live.calls() == [("session.resume", {"session_id": "old", "cols": 100})]
    live.refuses(4007, "session not found")
    live.answers(session_id="aa11", stored_session_id="new")
    assert (live.dialect.is_ready, live.dialect.has_lost_history, live.dialect.session_id) == (True, True, "new")


def test_a_session_that_cannot_be_opened_says_why() -> None:
    live = Live(session_id="old")
    live.refuses(5000, "the database is locked")
    assert live.dialect.failure is not None and "the database is locked" in live.dialect.failure.detail
    assert not live.dialect.is_ready


def test_a_session_comes_back_to_the_directory_of_the_thread() -> None:
    live = Live(session_id="old")
    live.answers(session_id="aa11", session_key="old", info={"cwd": "/elsewhere"})
    assert not live.dialect.is_ready
    assert live.calls() == [("session.cwd.set", {"session_id": "aa11", "cwd": "/workspace"})]
    live.answers(cwd="/workspace")
    assert live.dialect.is_ready


def test_a_copy_of_a_session_goes_by_its_own_id() -> None:
    live = Live(session_id="old", fork=True)
    live.answers(session_id="aa11", session_key="old", info={"cwd": "/workspace"})
    assert live.calls() == [("session.branch", {"session_id": "aa11"})]
    live.answers(session_id="bb22", parent="old")
    assert live.calls() == [("session.title", {"session_id": "bb22"})]
    live.answers(session_key="copy")
    live.answers(cwd="/workspace")
    assert (live.dialect.is_ready, live.dialect.session_id) == (True, "copy")


def test_a_session_in_which_nothing_was_said_is_copied_by_a_new_one() -> None:
    live = Live(session_id="old", fork=True)
    live.answers(session_id="aa11", session_key="old")
    live.refuses(4008, "nothing to branch")
    assert live.calls()[0][0] == "session.create"


def test_what_happens_in_other_sessions_is_not_ours() -> None:
    live = Live().working()
    assert live.event("message.delta", live="bb22", text="not for you") == []
    assert live.event("message.complete", live="bb22", **DONE) == []
    assert live.dialect.is_busy


def test_a_compressed_session_goes_on_under_its_new_id() -> None:
    live = Live().working()
    live.event("session.info", running=True, stored_session_id="next")
    assert live.dialect.session_id == "next"


# -- wishes


def test_a_models_name_is_never_read_as_a_flag() -> None:
    [(method, params)] = Live().prompt(model="gpt-5 --global \u2014global")
    assert (method, params["value"]) == ("config.set", "gpt-5 --session")


def test_a_model_of_another_provider_is_asked_for_by_both_names() -> None:
    live = Live()
    assert live.prompt(model="nous:hermes-4")[0][0] == "model.options"
    live.answers(provider="custom", providers=[{"slug": "nous"}, {"slug": "custom"}])
    assert live.calls()[0][1]["value"] == "hermes-4 --provider nous --session"


def test_a_model_is_switched_once_and_the_prompt_waits_for_it() -> None:
    live = Live()
    live.prompt(model="gpt-5")
    assert live.answers(value="gpt-5", warning="not in the list") == [Warning("MODEL", "not in the list")]
    assert live.calls()[0][0] == "prompt.submit"
    live.event("message.start")
    live.event("message.complete", **DONE)
    live.event("session.info", running=False)
    assert [method for method, _ in live.prompt(model="gpt-5", key="k2")] == ["prompt.submit"]


def test_a_model_that_cannot_be_had_breaks_the_turn() -> None:
    live = Live()
    live.prompt(model="nothing")
    [broke] = live.refuses(5001, "no such model")
    assert isinstance(broke, TurnFailed) and broke.code == "MODEL_ERROR" and "no such model" in broke.message


@pytest.mark.parametrize("value", ["show", "hide", "full", "on", 3])
def test_an_effort_that_would_change_the_users_own_settings_is_not_sent(value: Any) -> None:
    assert [method for method, _ in Live().prompt(thinking={"reasoning": value})] == ["prompt.submit"]


def test_what_hermes_does_not_take_is_left_out_and_told() -> None:
    sound = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
    live = Live()
    live.prompt(blocks=[{"type": "text", "text": "hear"}, sound])
    [warned] = live.answers(status="streaming")
    assert isinstance(warned, Warning) and warned.code == "CONTENT_DROPPED"


def test_a_pdf_that_cannot_be_shown_is_given_as_a_file() -> None:
    pdf = {"type": "resource", "resource": {"uri": "a/b.pdf", "mimeType": "application/pdf", "blob": "aGk="}}
    live = Live()
    [(method, params)] = live.prompt(blocks=[{"type": "text", "text": "read"}, pdf])
    assert (method, params["filename"]) == ("pdf.attach", "b.pdf")
    live.refuses(5028, "pdftoppm not installed")
    [(method, params)] = live.calls()
    assert (method, params["name"]) == ("file.attach", "b.pdf")
    live.answers(ref_text="@file:b.pdf")
    assert live.calls() == [("prompt.submit", {"session_id": "aa11", "text": "read\n\n@file:b.pdf"})]


def test_an_attachment_that_is_refused_is_told_and_the_prompt_goes_on() -> None:
    live = Live()
    live.prompt(blocks=[{"type": "text", "text": "look"}, {"type": "image", "data": "aGk=", "mimeType": "image/x"}])
    live.refuses(4016, "unsupported image extension")
    assert live.calls()[0][0] == "prompt.submit"
    [warned] = live.answers(status="streaming")
    assert isinstance(warned, Warning) and "unsupported image" in warned.message


# -- usage


def test_usage_is_what_the_turn_added_to_the_totals() -> None:
    live = Live().working()
    first = {"model": "m", "prompt": 100, "completion": 10, "reasoning": 4, "total": 110}
    second = {"model": "m", "prompt": 250, "completion": 30, "reasoning": 4, "total": 280}
    [used] = [
        event for event in live.event("message.complete", **{**DONE, "usage": first}) if isinstance(event, TokenUsage)
    ]
    assert (used.input_tokens, used.output_tokens, used.reasoning_tokens, used.total_tokens) == (100, 10, 4, 110)
    live.event("session.info", running=False)
    live.working(key="k2")
    [used] = [
        event for event in live.event("message.complete", **{**DONE, "usage": second}) if isinstance(event, TokenUsage)
    ]
    assert (used.input_tokens, used.output_tokens, used.reasoning_tokens, used.total_tokens) == (150, 20, 0, 170)


def test_a_live_session_that_comes_back_goes_on_counting() -> None:
    live = Live(session_id="old")
    counted = {"prompt": 100, "completion": 10, "reasoning": 0, "total": 110}
    live.answers(session_id="aa11", session_key="old", info={"cwd": "/workspace", "usage": counted})
    events = live.working().event("message.complete", **{**DONE, "usage": counted})
    assert not [event for event in events if isinstance(event, TokenUsage)]


# -- words


def test_an_answer_that_did_not_stream_is_told_whole() -> None:
    events = Live().working().event("message.complete", **DONE)
    assert [event.text for event in events if isinstance(event, TextMessageContent)] == ["hi"]


def test_an_answer_that_was_shown_before_is_not_told_again() -> None:
    live = Live().working()
    live.event("message.interim", text="hi", already_streamed=False)
    events = live.event("message.complete", **DONE, response_previewed=True)
    assert [event for event in events if isinstance(event, TextMessageContent)] == []


def test_newlines_between_a_call_and_the_next_words_are_glue() -> None:
    live = Live().working()
    live.event("tool.complete", tool_id="c1", name="t", args={}, result="ok")
    assert live.event("message.delta", text="\n\n") == []
    assert live.event("message.delta", text="\nso") == [TextMessageContent("so")]
    assert live.event("message.delta", text="\n\nand") == [TextMessageContent("\n\nand")]


def test_what_is_not_understood_is_handed_on() -> None:
    live = Live().working()
    assert [type(event) for event in live.event("brand.new", x=1)] == [Raw]
    assert [type(event) for event in live.event("message.delta", words="?")] == [Raw]
    assert live.event("moa.aggregating", aggregator="m") == [Custom("hermes.aggregating", {"aggregator": "m"})]


# -- actions


def test_models_are_told_by_provider_and_name() -> None:
    live = Live()
    ticket = live.dialect.start_action("models")
    able = {"gpt-5": {"reasoning": True}}
    listed = {"slug": "custom", "models": ["gpt-5", 7], "capabilities": able}
    stranger = {"slug": "xai", "models": ["g"], "authenticated": False}
    live.answers(provider="custom", model="gpt-5", providers=[listed, stranger])
    told = {"id": "custom:gpt-5", "name": "gpt-5", "provider": "custom", "thinking": True, "current": True}
    assert live.dialect.action_results[ticket].value == [told]


def test_a_fork_is_named_by_its_stored_id() -> None:
    live = Live()
    ticket = live.dialect.start_action("fork")
    live.answers(session_id="bb22")
    live.answers(session_key="copy")
    assert live.dialect.action_results[ticket].value == "copy"


def test_a_fork_that_fails_says_why() -> None:
    live = Live()
    ticket = live.dialect.start_action("fork")
    live.refuses(4008, "nothing to branch")
    error = live.dialect.action_results[ticket].error
    assert error is not None and "nothing to branch" in error.detail


def test_a_session_is_closed_before_it_is_deleted() -> None:
    live = Live()
    ticket = live.dialect.start_action("delete")
    assert live.calls() == [("session.close", {"session_id": "aa11"})]
    live.answers(closed=True)
    assert live.calls() == [("session.delete", {"session_id": "stored"})]
    live.answers(deleted="stored")
    assert live.dialect.action_results[ticket].error is None and not live.dialect.is_ready


def test_a_model_is_set_between_turns() -> None:
    live = Live()
    ticket = live.dialect.start_action("set_model", {"model": "gpt-5"})
    assert live.calls()[0][1]["value"] == "gpt-5 --session"
    live.answers(value="gpt-5")
    assert live.dialect.action_results[ticket].error is None
    assert [method for method, _ in live.prompt(model="gpt-5")] == ["prompt.submit"]
