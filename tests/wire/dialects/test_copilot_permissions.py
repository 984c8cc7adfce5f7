"""What Copilot asks the user, and how the gateway replies."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import Interrupt, InterruptRequested, Raw, Warning
from gateway.turn import Answer, Approvals
from tests.wire.dialects.copilot_server import SESSION, Json, Server, server_in_turn


def request_permission(server: Server, **fields: Any) -> Interrupt:
    server.emit("tool.execution_start", toolCallId="c", toolName="bash", arguments={})
    request: Json = {"kind": "shell", "toolCallId": "c", "fullCommandText": "rm x", "intention": "Tidy up", **fields}
    shown = {"kind": "commands", "commandIdentifiers": ["rm"], "canOfferSessionApproval": True}
    [event] = server.emit("permission.requested", requestId="q", permissionRequest=request, promptRequest=shown)
    assert isinstance(event, InterruptRequested)
    [interrupt] = event.interrupts
    return interrupt


def answer(server: Server, interrupt: Interrupt, payload: Any, status: Any = "resolved") -> Json:
    server.dialect.answer(interrupt.id, Answer(interrupt.id, status, payload))
    [request] = server.take_requests()
    params: Json = request["params"]
    assert params["sessionId"] == SESSION and params["requestId"] == "q"
    return params


def test_a_permission_is_an_interrupt_about_its_tool_call() -> None:
    interrupt = request_permission(server_in_turn())
    assert (interrupt.id, interrupt.reason, interrupt.tool_call_id) == ("t1:q", "tool_call", "t1:c")
    assert interrupt.message == "Tidy up\nrm x"
    schema = interrupt.response_schema or {}
    assert schema["properties"]["optionId"]["enum"] == ["approve-once", "approve-for-session", "reject"]


ONCE = {"kind": "approve-once", "approvedInteractively": True}
NO_USER = {"kind": "user-not-available"}


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
        ({"optionId": "approve-everything", "approved": True}, NO_USER),
        ({"approved": "yes"}, NO_USER),
        ({}, NO_USER),
        (True, NO_USER),
        (None, NO_USER),
    ],
)
def test_only_a_clear_yes_is_sent_as_one(payload: Any, result: Json) -> None:
    server = server_in_turn()
    assert answer(server, request_permission(server), payload)["result"] == result


def test_a_cancelled_interrupt_approves_nothing() -> None:
    server = server_in_turn()
    assert answer(server, request_permission(server), {"approved": True}, "cancelled")["result"] == NO_USER


def test_approval_for_the_session_is_offered_only_if_the_server_can_store_it() -> None:
    server = server_in_turn()
    [event] = server.emit("permission.requested", requestId="q", permissionRequest={"kind": "read", "path": "/etc/x"})
    assert isinstance(event, InterruptRequested)
    [interrupt] = event.interrupts
    assert (interrupt.reason, interrupt.tool_call_id, interrupt.message) == ("confirmation", None, "/etc/x")
    assert (interrupt.response_schema or {})["properties"]["optionId"]["enum"] == ["approve-once", "reject"]
    assert answer(server, interrupt, {"optionId": "approve-for-session"})["result"] == NO_USER


@pytest.mark.parametrize(("policy", "kind"), [("auto", "approve-once"), ("deny", "reject")])
def test_a_policy_answers_in_place_of_the_user(policy: Approvals, kind: str) -> None:
    server = server_in_turn(policy)
    assert server.emit("permission.requested", requestId="q", permissionRequest={"kind": "shell"}) == []
    assert server.take_request("session.permissions.handlePendingPermissionRequest")["params"]["result"]["kind"] == kind


def test_a_denial_by_policy_lets_the_turn_continue() -> None:
    """A `reject` without feedback would end it."""
    server = server_in_turn("deny")
    server.emit("permission.requested", requestId="q", permissionRequest={"kind": "shell"})
    assert "feedback" in server.take_requests()[0]["params"]["result"]


def test_a_request_that_a_hook_decided_is_no_interrupt() -> None:
    server = server_in_turn()
    assert server.emit("permission.requested", requestId="q", permissionRequest={}, resolvedByHook=True) == []
    assert server.take_requests() == []


def test_an_answer_is_sent_once() -> None:
    server = server_in_turn()
    interrupt = request_permission(server)
    answer(server, interrupt, {"approved": True})
    server.dialect.answer(interrupt.id, Answer(interrupt.id, "resolved", {"approved": True}))
    assert server.take_requests() == []


def request(server: Server, kind: str, **data: Any) -> Interrupt:
    [event] = server.emit(kind, requestId="q", **data)
    assert isinstance(event, InterruptRequested)
    return event.interrupts[0]


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
def test_a_question_of_the_agent_is_answered_with_text(payload: Any, status: str, response: Json) -> None:
    server = server_in_turn()
    interrupt = request(server, "user_input.requested", question="Which?", choices=["red", "blue"], allowFreeform=True)
    assert (interrupt.reason, interrupt.message) == ("input_required", "Which?")
    assert answer(server, interrupt, payload, status)["response"] == response


def test_only_the_choices_are_answers_if_free_text_is_not_allowed() -> None:
    interrupt = request(server_in_turn(), "user_input.requested", question="Which?", choices=["a"], allowFreeform=False)
    assert (interrupt.response_schema or {})["properties"]["answer"]["enum"] == ["a"]


@pytest.mark.parametrize(
    ("payload", "status", "result"),
    [
        ({"name": "Ann"}, "resolved", {"action": "accept", "content": {"name": "Ann"}}),
        (None, "resolved", {"action": "decline"}),
        (None, "cancelled", {"action": "cancel"}),
    ],
)
def test_a_form_is_filled_in_declined_or_cancelled(payload: Any, status: str, result: Json) -> None:
    server = server_in_turn()
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    interrupt = request(
        server, "elicitation.requested", message="Who?", requestedSchema=schema, elicitationSource="echo"
    )
    assert interrupt.response_schema == schema
    assert interrupt.metadata == {"copilot": {"elicitationSource": "echo"}}
    assert answer(server, interrupt, payload, status)["result"] == result


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
def test_a_plain_yes_to_a_plan_selects_the_interactive_action(payload: Any, response: Json) -> None:
    server = server_in_turn()
    fields: Json = {"actions": ["autopilot", "interactive", "exit_only"], "recommendedAction": "autopilot"}
    interrupt = request(server, "exit_plan_mode.requested", summary="Do it", planContent="1. all", **fields)
    assert interrupt.message == "Do it\n\n1. all"
    assert answer(server, interrupt, payload)["response"] == response


@pytest.mark.parametrize("kind", ["user_input.requested", "elicitation.requested", "exit_plan_mode.requested"])
@pytest.mark.parametrize("policy", ["auto", "deny"])
def test_a_policy_answers_every_kind_of_request(kind: str, policy: Approvals) -> None:
    server = server_in_turn(policy)
    assert server.emit(kind, requestId="q") == []
    assert len(server.take_requests()) == 1


@pytest.mark.parametrize(
    "kind",
    ["sampling.requested", "mcp.oauth_required", "external_tool.requested", "session_limits_exhausted.requested"],
)
def test_a_request_that_no_user_can_answer_is_declined_at_once(kind: str) -> None:
    server = server_in_turn()
    [warning] = server.emit(kind, requestId="q")
    assert isinstance(warning, Warning) and warning.code == "QUESTION_DECLINED"
    [request] = server.take_requests()
    assert request["params"]["requestId"] == "q"


def test_the_duplicate_of_an_event_is_ignored_and_any_other_request_is_refused() -> None:
    server = server_in_turn()
    duplicate = {"jsonrpc": "2.0", "id": 1, "method": "userInput.request", "params": {"sessionId": SESSION}}
    assert server.send_messages(duplicate) == [] and server.take_requests() == []
    other = {"jsonrpc": "2.0", "id": 2, "method": "hooks.invoke", "params": {}}
    assert server.send_messages(other) == [Raw(other, "copilot")]
    [refusal] = server.take_requests()
    assert refusal["id"] == 2 and refusal["error"]["code"] == -32601
