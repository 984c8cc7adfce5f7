"""OpenClaw: what it asks of a human."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import Custom, InterruptRequested
from gateway.turn import Approvals
from tests.wire.dialects.openclaw_live import KEY, RUN, Live

COLOURS = [{"label": "red"}, {"label": "blue"}]
FORM: dict[str, Any] = {
    "id": "ask_1",
    "sessionKey": KEY,
    "runId": RUN,
    "questions": [
        {"questionId": "colour", "header": "Colour", "question": "Which?", "options": COLOURS},
        {"questionId": "sizes", "question": "Big?", "options": [{"label": "s"}], "multiSelect": True, "isOther": True},
        {"questionId": "code", "question": "Secret?", "options": [], "isSecret": True},
    ],
}


@pytest.mark.parametrize(
    ("payload", "decision"),
    [
        ({"approved": True}, "allow-once"),
        ({"approved": False}, "deny"),
        ({"approved": 1}, "deny"),
        ({"optionId": "allow-always"}, "allow-always"),
        ({"optionId": "allow-for-ever"}, "deny"),
        ({"approved": True, "editedArgs": {"command": "ls"}}, "deny"),
        (None, "deny"),
        ("allow-once", "deny"),
    ],
)
def test_only_a_clear_yes_approves(payload: Any, decision: str) -> None:
    live = Live().working()
    assert live.answer(live.question(), payload) == [("exec.approval.resolve", {"id": "q1", "decision": decision})]


def test_a_cancelled_question_approves_of_nothing() -> None:
    live = Live().working()
    assert live.answer(live.question(), cancelled=True) == [("exec.approval.resolve", {"id": "q1", "decision": "deny"})]


def test_a_yes_that_is_not_offered_is_a_no() -> None:
    live = Live().working()
    asked = live.question(allowedDecisions=["allow-always", "deny"])
    assert live.answer(asked, {"approved": True})[0][1]["decision"] == "deny"


def test_a_question_names_the_call_what_is_offered_and_how_long() -> None:
    live = Live().working()
    live.says("tool", phase="start", name="exec", toolCallId="c1", args={"command": "rm x"})
    question = live.question()
    assert (question.tool_call_id, question.reason, question.expires_in) == ("k:c1", "tool_call", 30.0)
    assert question.response_schema is not None
    assert question.response_schema["properties"]["optionId"]["enum"] == ["allow-once", "allow-always", "deny"]


def test_a_question_about_no_known_call_is_a_confirmation() -> None:
    question = Live().working().question()
    assert (question.tool_call_id, question.reason) == (None, "confirmation")


@pytest.mark.parametrize(("policy", "decision"), [("auto", "allow-once"), ("deny", "deny")])
def test_a_policy_answers_at_once_and_asks_nobody(policy: Approvals, decision: str) -> None:
    live = Live().working(approvals=policy)
    assert live.asks() == []
    assert [params["decision"] for _, params in live.calls()] == [decision]


@pytest.mark.parametrize(
    ("event", "method"),
    [("plugin.approval.requested", "plugin.approval.resolve"), ("openclaw.approval.requested", "approval.resolve")],
)
def test_every_kind_of_approval_has_its_own_answer(event: str, method: str) -> None:
    live = Live().working()
    assert live.answer(live.question(event=event), {"approved": True})[0][0] == method


def test_another_runs_question_is_asked_of_whoever_began_it() -> None:
    live = Live().working(approvals="auto")
    assert live.asks(run="heartbeat") == []
    assert live.calls() == []


def test_a_question_that_was_answered_elsewhere_is_withdrawn() -> None:
    live = Live().working()
    question = live.question()
    told = live.event("exec.approval.resolved", id="q1", decision="deny")
    assert told == [Custom("openclaw.question_withdrawn", {"id": question.id})]
    assert live.answer(question, {"approved": True}) == []


def test_a_form_asks_each_of_its_questions() -> None:
    live = Live().working()
    [asked] = live.event("question.requested", **FORM)
    assert isinstance(asked, InterruptRequested)
    [question] = asked.interrupts
    assert question.reason == "input_required" and question.response_schema is not None
    fields = question.response_schema["properties"]
    assert fields["colour"]["enum"] == ["red", "blue"]
    assert (fields["sizes"]["type"], fields["sizes"]["items"]["examples"]) == ("array", ["s"])
    assert (fields["code"]["format"], fields["code"]["writeOnly"]) == ("password", True)
    filled = {"colour": "red", "sizes": ["s", "m"], "code": "hush"}
    told = {"answers": {"colour": ["red"], "sizes": ["s", "m"], "code": ["hush"]}}
    assert live.answer(question, filled) == [("question.resolve", {"id": "ask_1", "answers": told})]


@pytest.mark.parametrize("payload", [None, {"colour": "red"}, {"colour": "", "sizes": [], "code": ""}, "red"])
def test_a_form_that_is_not_filled_is_cancelled(payload: Any) -> None:
    live = Live().working()
    [asked] = live.event("question.requested", **FORM)
    assert isinstance(asked, InterruptRequested)
    assert live.answer(asked.interrupts[0], payload) == [("question.resolve", {"id": "ask_1", "cancel": True})]


@pytest.mark.parametrize("policy", ["auto", "deny"])
def test_no_policy_makes_up_an_answer(policy: Approvals) -> None:
    live = Live().working(approvals=policy)
    assert live.event("question.requested", **FORM) == []
    assert live.calls() == [("question.resolve", {"id": "ask_1", "cancel": True})]
