"""What Copilot asks, and how it is answered."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import Interrupt, InterruptRequested, Raw, Warning
from gateway.turn import Answer, Approvals
from tests.wire.dialects.copilot_server import SESSION, Json, Server, in_turn

# -- questions


def permission(server: Server, **request: Any) -> Interrupt:
    server.tell("tool.execution_start", toolCallId="c", toolName="bash", arguments={})
    told: Json = {"kind": "shell", "toolCallId": "c", "fullCommandText": "rm x", "intention": "Tidy up", **request}
    shown = {"kind": "commands", "commandIdentifiers": ["rm"], "canOfferSessionApproval": True}
    [asked] = server.tell("permission.requested", requestId="q", permissionRequest=told, promptRequest=shown)
    assert isinstance(asked, InterruptRequested)
    [question] = asked.interrupts
    return question


def answered(server: Server, question: Interrupt, payload: Any, status: Any = "resolved") -> Json:
    server.dialect.answer(question.id, Answer(question.id, status, payload))
    [request] = server.asked()
    params: Json = request["params"]
    assert params["sessionId"] == SESSION and params["requestId"] == "q"
    return params


def test_a_permission_is_a_question_about_its_call() -> None:
    question = permission(in_turn())
    assert (question.id, question.reason, question.tool_call_id) == ("t1:q", "tool_call", "t1:c")
    assert question.message == "Tidy up\nrm x"
    schema = question.response_schema or {}
    assert schema["properties"]["optionId"]["enum"] == ["approve-once", "approve-for-session", "reject"]


ONCE = {"kind": "approve-once", "approvedInteractively": True}
NOBODY = {"kind": "user-not-available"}


@pytest.mark.parametrize(
    ("payload", "result"),
    [
        ({"approved": True}, ONCE),
        ({"optionId": "approve-once"}, ONCE),
        (
            {"optionId": "approve-for-session"},
            {"kind": "approve-for-session", "approval": {"kind": "commands", "commandIdentifiers": ["rm"]}},
        ),
        ({"approved": False}, {"kind": "reject"}),
        ({"approved": False, "feedback": "later"}, {"kind": "reject", "feedback": "later"}),
        ({"optionId": "reject"}, {"kind": "reject"}),
        ({"approved": True, "editedArgs": {"command": "ls"}}, {"kind": "reject"}),
        ({"optionId": "approve-everything", "approved": True}, NOBODY),
        ({"approved": "yes"}, NOBODY),
        ({}, NOBODY),
        (True, NOBODY),
        (None, NOBODY),
    ],
)
def test_only_a_clear_yes_is_sent_as_one(payload: Any, result: Json) -> None:
    server = in_turn()
    assert answered(server, permission(server), payload)["result"] == result


def test_a_cancelled_question_approves_of_nothing() -> None:
    server = in_turn()
    assert answered(server, permission(server), {"approved": True}, "cancelled")["result"] == NOBODY


def test_for_the_session_is_offered_only_where_the_server_can_keep_it() -> None:
    server = in_turn()
    [asked] = server.tell("permission.requested", requestId="q", permissionRequest={"kind": "read", "path": "/etc/x"})
    assert isinstance(asked, InterruptRequested)
    [question] = asked.interrupts
    assert (question.reason, question.tool_call_id, question.message) == ("confirmation", None, "/etc/x")
    assert (question.response_schema or {})["properties"]["optionId"]["enum"] == ["approve-once", "reject"]
    assert answered(server, question, {"optionId": "approve-for-session"})["result"] == NOBODY


@pytest.mark.parametrize(("policy", "kind"), [("auto", "approve-once"), ("deny", "reject")])
def test_a_policy_answers_in_the_humans_place(policy: Approvals, kind: str) -> None:
    server = in_turn(policy)
    assert server.tell("permission.requested", requestId="q", permissionRequest={"kind": "shell"}) == []
    assert server.request("session.permissions.handlePendingPermissionRequest")["params"]["result"]["kind"] == kind


def test_a_denial_by_policy_lets_the_turn_go_on() -> None:
    """A plain `reject` would end it; one with a word does not."""
    server = in_turn("deny")
    server.tell("permission.requested", requestId="q", permissionRequest={"kind": "shell"})
    assert "feedback" in server.asked()[0]["params"]["result"]


def test_what_a_hook_has_decided_is_not_asked() -> None:
    server = in_turn()
    assert server.tell("permission.requested", requestId="q", permissionRequest={}, resolvedByHook=True) == []
    assert server.asked() == []


def test_an_answer_is_given_once() -> None:
    server = in_turn()
    question = permission(server)
    answered(server, question, {"approved": True})
    server.dialect.answer(question.id, Answer(question.id, "resolved", {"approved": True}))
    assert server.asked() == []


def asks(server: Server, kind: str, **data: Any) -> Interrupt:
    [asked] = server.tell(kind, requestId="q", **data)
    assert isinstance(asked, InterruptRequested)
    return asked.interrupts[0]


@pytest.mark.parametrize(
    ("payload", "status", "response"),
    [
        ({"answer": "red"}, "resolved", {"answer": "red", "wasFreeform": False}),
        ("green", "resolved", {"answer": "green", "wasFreeform": True}),
        ({"optionId": "blue"}, "resolved", {"answer": "blue", "wasFreeform": False}),
        ({}, "resolved", {"answer": "The user did not answer.", "wasFreeform": True}),
        (None, "cancelled", {"answer": "The user did not answer.", "wasFreeform": True}),
    ],
)
def test_a_question_of_the_agents_is_answered_in_words(payload: Any, status: str, response: Json) -> None:
    server = in_turn()
    question = asks(server, "user_input.requested", question="Which?", choices=["red", "blue"], allowFreeform=True)
    assert (question.reason, question.message) == ("input_required", "Which?")
    assert answered(server, question, payload, status)["response"] == response


def test_choices_alone_are_the_only_answers_where_nothing_else_goes() -> None:
    question = asks(in_turn(), "user_input.requested", question="Which?", choices=["a"], allowFreeform=False)
    assert (question.response_schema or {})["properties"]["answer"]["enum"] == ["a"]


@pytest.mark.parametrize(
    ("payload", "status", "result"),
    [
        ({"name": "Ann"}, "resolved", {"action": "accept", "content": {"name": "Ann"}}),
        (None, "resolved", {"action": "decline"}),
        (None, "cancelled", {"action": "cancel"}),
    ],
)
def test_a_form_is_filled_in_declined_or_left(payload: Any, status: str, result: Json) -> None:
    server = in_turn()
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    question = asks(server, "elicitation.requested", message="Who?", requestedSchema=schema, elicitationSource="echo")
    assert question.response_schema == schema
    assert question.metadata == {"copilot": {"elicitationSource": "echo"}}
    assert answered(server, question, payload, status)["result"] == result


@pytest.mark.parametrize(
    ("payload", "response"),
    [
        ({"approved": True}, {"approved": True, "selectedAction": "interactive"}),
        ({"optionId": "autopilot"}, {"approved": True, "selectedAction": "autopilot"}),
        ({"optionId": "reject", "feedback": "use blue"}, {"approved": False, "feedback": "use blue"}),
        ({"optionId": "dance", "approved": True}, {"approved": False}),
        ({"approved": False}, {"approved": False}),
        (None, {"approved": False}),
    ],
)
def test_a_plain_yes_to_a_plan_is_none_to_going_on_unasked(payload: Any, response: Json) -> None:
    server = in_turn()
    told: Json = {"actions": ["autopilot", "interactive", "exit_only"], "recommendedAction": "autopilot"}
    question = asks(server, "exit_plan_mode.requested", summary="Do it", planContent="1. all", **told)
    assert question.message == "Do it\n\n1. all"
    assert answered(server, question, payload)["response"] == response


@pytest.mark.parametrize("kind", ["user_input.requested", "elicitation.requested", "exit_plan_mode.requested"])
@pytest.mark.parametrize("policy", ["auto", "deny"])
def test_no_human_is_asked_where_a_policy_rules(kind: str, policy: Approvals) -> None:
    server = in_turn(policy)
    assert server.tell(kind, requestId="q") == []
    assert len(server.asked()) == 1


@pytest.mark.parametrize(
    "kind",
    ["sampling.requested", "mcp.oauth_required", "external_tool.requested", "session_limits_exhausted.requested"],
)
def test_what_nobody_can_be_asked_is_declined_at_once(kind: str) -> None:
    server = in_turn()
    [warned] = server.tell(kind, requestId="q")
    assert isinstance(warned, Warning) and warned.code == "QUESTION_DECLINED"
    [request] = server.asked()
    assert request["params"]["requestId"] == "q"


def test_the_twin_of_a_question_is_left_alone_and_any_other_request_is_refused() -> None:
    server = in_turn()
    twin = {"jsonrpc": "2.0", "id": 1, "method": "userInput.request", "params": {"sessionId": SESSION}}
    assert server.say(twin) == [] and server.asked() == []
    other = {"jsonrpc": "2.0", "id": 2, "method": "hooks.invoke", "params": {}}
    assert server.say(other) == [Raw(other, "copilot")]
    [refusal] = server.asked()
    assert refusal["id"] == 2 and refusal["error"]["code"] == -32601
