"""Hermes Agent: what it asks of a human."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import ToolCallArgs, ToolCallResult
from gateway.turn import Approvals
from tests.wire.dialects.hermes_live import APPROVAL, DONE, HermesSession


@pytest.mark.parametrize(
    ("payload", "choice"),
    [
        ({"approved": True}, "once"),
        ({"approved": False}, "deny"),
        ({"approved": "yes"}, "deny"),
        ({"optionId": "always"}, "always"),
        ({"optionId": "sometimes"}, "deny"),
        ({"optionId": None, "approved": True}, "deny"),
        ({"approved": True, "editedArgs": {"command": "ls"}}, "deny"),
        (None, "deny"),
        ("once", "deny"),
    ],
)
def test_only_a_clear_yes_approves(payload: Any, choice: str) -> None:
    session = HermesSession().working()
    assert session.answer(session.question(), payload) == [
        ("approval.respond", {"session_id": "aa11", "choice": choice})
    ]


def test_a_cancelled_question_approves_of_nothing() -> None:
    session = HermesSession().working()
    [(_, params)] = session.answer(session.question(), cancelled=True)
    assert params["choice"] == "deny"


def test_a_question_offers_what_hermes_does_and_names_the_call() -> None:
    session = HermesSession().working()
    session.event("tool.start", tool_id="c1", name="terminal", context="Running rm -rf /x")
    question = session.question()
    assert (question.tool_call_id, question.reason, question.expires_in) == ("k:c1", "tool_call", 60.0)
    assert question.response_schema is not None
    assert question.response_schema["properties"]["optionId"]["enum"] == ["once", "session", "always", "deny"]


def test_an_interrupt_expires_with_the_users_own_timeout() -> None:
    session = HermesSession(params={"approval_timeout": 600})
    session.answers(session_id="aa11", stored_session_id="stored")
    assert session.working().question().expires_in == 600.0


def test_a_question_about_no_known_call_is_a_confirmation() -> None:
    question = HermesSession().working().question()
    assert (question.tool_call_id, question.reason) == (None, "confirmation")


def test_arguments_that_were_blacked_out_for_the_human_come_with_the_result() -> None:
    session = HermesSession().working()
    session.event("tool.start", tool_id="c1", name="terminal", context="Running curl")
    arguments = [
        event for event in session.event("approval.request", command="curl -H ***") if isinstance(event, ToolCallArgs)
    ]
    assert [event.delta for event in arguments] == ['{"command":"curl -H ***"}']
    [result] = session.event(
        "tool.complete", tool_id="c1", name="terminal", args={"command": "curl -H key"}, result="ok"
    )
    assert isinstance(result, ToolCallResult) and result.metadata == {"hermes": {"args": {"command": "curl -H key"}}}


@pytest.mark.parametrize(("policy", "choice"), [("auto", "once"), ("deny", "deny")])
def test_a_policy_answers_at_once_without_asking_the_user(policy: Approvals, choice: str) -> None:
    session = HermesSession().working(approvals=policy)
    assert session.event("approval.request", **APPROVAL) == []
    assert [params["choice"] for _, params in session.calls()] == [choice]


def test_answers_to_approvals_go_out_in_the_order_of_the_questions() -> None:
    session = HermesSession().working()
    first, second = session.question(), session.question()
    assert session.answer(second, {"approved": True}) == []
    assert [params["choice"] for _, params in session.answer(first, {"approved": False})] == ["deny", "once"]


def test_a_question_of_another_kind_does_not_wait_for_approvals() -> None:
    session = HermesSession().working()
    session.question()
    interrupt = session.question("clarify", question="Which?", request_id="r1")
    [(method, params)] = session.answer(interrupt, {"answer": "that one"})
    assert (method, params["request_id"], params["answer"]) == ("clarify.respond", "r1", "that one")


@pytest.mark.parametrize("choices", [True, 7, {"a": 1}, "once", [None, 3]])
@pytest.mark.parametrize("kind", ["clarify", "approval"])
def test_choices_of_another_type_are_no_choices(kind: str, choices: Any) -> None:
    question = HermesSession().working().question(kind, question="Which?", choices=choices)
    assert question.response_schema is not None
    field = question.response_schema["properties"].get("answer", {})
    options = question.response_schema["properties"].get("optionId", {})
    assert "examples" not in field and options.get("enum", ["once", "deny"]) == ["once", "deny"]


@pytest.mark.parametrize(("kind", "field"), [("sudo", "password"), ("secret", "value")])
def test_what_a_human_keeps_secret_stands_in_one_call_only(kind: str, field: str) -> None:
    session = HermesSession().working()
    interrupt = session.question(kind, request_id="r1", env_var="KEY")
    assert (
        interrupt.response_schema is not None and interrupt.response_schema["properties"][field]["format"] == "password"
    )
    [(method, params)] = session.answer(interrupt, {field: "hush"})
    assert (method, params[field]) == (f"{kind}.respond", "hush")
    assert session.calls() == []


@pytest.mark.parametrize("kind", ["clarify", "sudo", "secret"])
@pytest.mark.parametrize("policy", ["auto", "deny"])
def test_no_policy_makes_up_an_answer(kind: str, policy: Approvals) -> None:
    session = HermesSession().working(approvals=policy)
    assert session.event(f"{kind}.request", request_id="r1") == []
    [(_, params)] = session.calls()
    assert [value for key, value in params.items() if key not in ("session_id", "request_id")] == [""]


def test_an_answer_to_a_question_that_is_gone_is_dropped() -> None:
    session = HermesSession().working()
    question = session.question()
    session.event("message.complete", **DONE)
    assert session.answer(question, {"approved": True}) == []


def test_a_terminal_that_there_is_none_of_is_answered_empty() -> None:
    session = HermesSession().working()
    assert session.event("terminal.read.request", request_id="r9") == []
    assert session.calls() == [("terminal.read.respond", {"request_id": "r9", "text": ""})]
