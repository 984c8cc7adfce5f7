"""OpenClaw: what it asks of a human."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import Custom, InterruptRequested
from gateway.turn import Approvals
from tests.wire.dialects.openclaw_live import KEY, RUN, OpenClawSession

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
    session = OpenClawSession().working()
    assert session.answer(session.question(), payload) == [
        ("exec.approval.resolve", {"id": "q1", "decision": decision})
    ]


def test_a_cancelled_question_approves_of_nothing() -> None:
    session = OpenClawSession().working()
    assert session.answer(session.question(), cancelled=True) == [
        ("exec.approval.resolve", {"id": "q1", "decision": "deny"})
    ]


def test_a_yes_that_is_not_offered_is_a_no() -> None:
    session = OpenClawSession().working()
    requested = session.question(allowedDecisions=["allow-always", "deny"])
    assert session.answer(requested, {"approved": True})[0][1]["decision"] == "deny"


def test_a_question_names_the_call_what_is_offered_and_how_long() -> None:
    session = OpenClawSession().working()
    session.agent_event("tool", phase="start", name="exec", toolCallId="c1", args={"command": "rm x"})
    question = session.question()
    assert (question.tool_call_id, question.reason, question.expires_in) == ("k:c1", "tool_call", 30.0)
    assert question.response_schema is not None
    assert question.response_schema["properties"]["optionId"]["enum"] == ["allow-once", "allow-always", "deny"]


def test_a_question_about_no_known_call_is_a_confirmation() -> None:
    question = OpenClawSession().working().question()
    assert (question.tool_call_id, question.reason) == (None, "confirmation")


@pytest.mark.parametrize(("policy", "decision"), [("auto", "allow-once"), ("deny", "deny")])
def test_a_policy_answers_at_once_without_asking_the_user(policy: Approvals, decision: str) -> None:
    session = OpenClawSession().working(approvals=policy)
    assert session.request_approval() == []
    assert [params["decision"] for _, params in session.calls()] == [decision]


@pytest.mark.parametrize(
    ("event", "method"),
    [("plugin.approval.requested", "plugin.approval.resolve"), ("openclaw.approval.requested", "approval.resolve")],
)
def test_every_kind_of_approval_has_its_own_answer(event: str, method: str) -> None:
    session = OpenClawSession().working()
    assert session.answer(session.question(event=event), {"approved": True})[0][0] == method


def test_a_request_of_another_run_is_left_to_its_client() -> None:
    session = OpenClawSession().working(approvals="auto")
    assert session.request_approval(run="heartbeat") == []
    assert session.calls() == []


def test_a_question_that_was_answered_elsewhere_is_withdrawn() -> None:
    session = OpenClawSession().working()
    question = session.question()
    expected = session.event("exec.approval.resolved", id="q1", decision="deny")
    assert expected == [Custom("openclaw.question_withdrawn", {"id": question.id})]
    assert session.answer(question, {"approved": True}) == []


def test_a_form_asks_each_of_its_questions() -> None:
    session = OpenClawSession().working()
    [requested] = session.event("question.requested", **FORM)
    assert isinstance(requested, InterruptRequested)
    [question] = requested.interrupts
    assert question.reason == "input_required" and question.response_schema is not None
    fields = question.response_schema["properties"]
    assert fields["colour"]["enum"] == ["red", "blue"]
    assert (fields["sizes"]["type"], fields["sizes"]["items"]["examples"]) == ("array", ["s"])
    assert (fields["code"]["format"], fields["code"]["writeOnly"]) == ("password", True)
    filled = {"colour": "red", "sizes": ["s", "m"], "code": "hush"}
    expected = {"answers": {"colour": ["red"], "sizes": ["s", "m"], "code": ["hush"]}}
    assert session.answer(question, filled) == [("question.resolve", {"id": "ask_1", "answers": expected})]


@pytest.mark.parametrize("payload", [None, {"colour": "red"}, {"colour": "", "sizes": [], "code": ""}, "red"])
def test_a_form_that_is_not_filled_is_cancelled(payload: Any) -> None:
    session = OpenClawSession().working()
    [requested] = session.event("question.requested", **FORM)
    assert isinstance(requested, InterruptRequested)
    assert session.answer(requested.interrupts[0], payload) == [("question.resolve", {"id": "ask_1", "cancel": True})]


@pytest.mark.parametrize("policy", ["auto", "deny"])
def test_no_policy_makes_up_an_answer(policy: Approvals) -> None:
    session = OpenClawSession().working(approvals=policy)
    assert session.event("question.requested", **FORM) == []
    assert session.calls() == [("question.resolve", {"id": "ask_1", "cancel": True})]
