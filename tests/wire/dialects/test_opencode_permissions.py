"""What opencode asks the user, and how the gateway replies."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import InterruptRequested, ToolCallArgs, Warning
from gateway.turn import Answer
from tests.wire.dialects.opencode_server import Json, Server, working_server


def server_with_interrupt() -> tuple[Server, str]:
    """A command that waits for permission; the id of its interrupt."""
    server = working_server()
    server.update_tool("running", input={"command": "ls"})
    [event] = server.ask_permission()
    assert isinstance(event, InterruptRequested)
    return server, event.interrupts[0].id


# -- permissions


@pytest.mark.parametrize(
    ("payload", "body"),
    [
        ({"approved": True}, {"reply": "once"}),
        ({"optionId": "once"}, {"reply": "once"}),
        ({"optionId": "always"}, {"reply": "always"}),
        ({"optionId": "reject"}, {"reply": "reject", "message": "The user refused this."}),
        ({"approved": False}, {"reply": "reject", "message": "The user refused this."}),
        ({"approved": False, "feedback": "use cat"}, {"reply": "reject", "message": "use cat"}),
        ({"optionId": "nonsense"}, {"reply": "reject", "message": "The user refused this."}),
        ({"approved": "yes"}, {"reply": "reject", "message": "The user refused this."}),
        ({"approved": True, "editedArgs": {}}, {"reply": "reject", "message": "The user refused this."}),
        ("yes", {"reply": "reject", "message": "The user refused this."}),
    ],
)
def test_only_a_clear_yes_is_sent_as_one(payload: Any, body: Json) -> None:
    server, interrupt_id = server_with_interrupt()
    server.take_calls()
    server.dialect.answer(interrupt_id, Answer(interrupt_id, "resolved", payload))
    [reply] = server.take_calls()
    assert reply["path"].startswith("/permission/per_1/reply?")
    assert reply["body"] == body


def test_a_cancelled_interrupt_is_a_refusal_that_ends_the_turn() -> None:
    server, interrupt_id = server_with_interrupt()
    server.take_calls()
    server.dialect.answer(interrupt_id, Answer(interrupt_id, "cancelled"))
    assert server.take_calls()[0]["body"] == {"reply": "reject"}
    server.dialect.answer(interrupt_id, Answer(interrupt_id, "resolved", {"approved": True}))
    assert server.take_calls() == []


def test_an_interrupt_shows_its_tool_call_and_its_options() -> None:
    server = working_server()
    server.update_tool("running", input={"command": "ls"})
    [event] = server.ask_permission()
    assert isinstance(event, InterruptRequested)
    [interrupt] = event.interrupts
    assert (interrupt.reason, interrupt.tool_call_id, interrupt.message) == ("tool_call", "k:prt_t", "Allow bash?\nls")
    assert interrupt.response_schema is not None and interrupt.metadata is not None
    assert interrupt.response_schema["properties"]["optionId"]["enum"] == ["once", "always", "reject"]
    kinds = [option["kind"] for option in interrupt.metadata["opencode"]["options"]]
    assert kinds == ["allow_once", "allow_always", "reject_once"]


def test_an_interrupt_waits_for_the_arguments_of_its_tool_call() -> None:
    server = working_server()
    server.update_tool("pending", input={})
    assert server.ask_permission() == []
    arguments, _, event = server.update_tool("running", input={"command": "ls"})
    assert isinstance(arguments, ToolCallArgs) and isinstance(event, InterruptRequested)


def test_arguments_that_do_not_come_are_requested_from_the_server() -> None:
    server = working_server()
    server.update_tool("pending", input={})
    server.ask_permission()
    part = {"messageID": "msg_1", "callID": "call_1", "state": {"input": {"command": "pwd"}}}
    arguments, _, event = server.answer_last_call({"info": {}, "parts": [part]})
    assert isinstance(arguments, ToolCallArgs) and arguments.delta == '{"command":"pwd"}'
    assert isinstance(event, InterruptRequested)


def test_without_an_answer_the_arguments_are_those_of_the_permission_request() -> None:
    server = working_server()
    server.update_tool("pending", input={})
    server.ask_permission()
    arguments, _, event = server.answer_last_call(None, 500)
    assert isinstance(arguments, ToolCallArgs) and arguments.delta == '{"command":"ls"}'
    assert isinstance(event, InterruptRequested)


@pytest.mark.parametrize(
    ("policy", "body"),
    [("auto", {"reply": "once"}), ("deny", {"reply": "reject", "message": "The user refused this."})],
)
def test_a_policy_replies_without_an_interrupt(policy: str, body: Json) -> None:
    server = working_server(approvals=policy)
    server.update_tool("running", input={"command": "ls"})
    server.take_calls()
    assert server.ask_permission() == []
    assert [call["body"] for call in server.take_calls()] == [body]
    assert server.emit("question.asked", id="que_1", questions=[{"question": "Which?"}]) == []
    assert server.take_calls()[0]["path"].startswith("/question/que_1/reject?")


def test_a_refusal_is_sent_after_the_approvals_of_the_session() -> None:
    """With one refusal opencode refuses everything that the session waits for."""
    server, first = server_with_interrupt()
    server.update_part(
        "prt_u", "tool", tool="bash", callID="call_2", state={"status": "running", "input": {"command": "pwd"}}
    )
    [event] = server.ask_permission("per_2", call="call_2")
    assert isinstance(event, InterruptRequested)
    second = event.interrupts[0].id
    server.take_calls()
    server.dialect.answer(first, Answer(first, "resolved", {"approved": False}))
    assert server.take_calls() == []
    server.dialect.answer(second, Answer(second, "resolved", {"approved": True}))
    [approval] = server.take_calls()
    assert approval["path"].startswith("/permission/per_2/")
    server.send_messages({"id": approval["id"], "status": 200, "body": True})
    [refusal] = server.take_calls()
    assert refusal["path"].startswith("/permission/per_1/")


def test_a_request_that_is_reported_twice_is_one_interrupt() -> None:
    server, _ = server_with_interrupt()
    assert server.ask_permission() == []


def test_a_request_that_another_client_answered_is_not_answered_again() -> None:
    server, interrupt_id = server_with_interrupt()
    server.take_calls()
    server.emit("permission.replied", requestID="per_1", reply="once")
    server.dialect.answer(interrupt_id, Answer(interrupt_id, "resolved", {"approved": True}))
    assert server.take_calls() == []


def test_an_answer_that_the_server_does_not_take_is_a_warning() -> None:
    server, interrupt_id = server_with_interrupt()
    server.dialect.answer(interrupt_id, Answer(interrupt_id, "resolved", {"approved": True}))
    [warning] = server.answer_last_call(None, 500)
    assert isinstance(warning, Warning) and warning.code == "ANSWER_LOST"


FORM = [
    {"question": "Which colour?", "header": "Colour", "options": [{"label": "Red"}], "custom": False},
    {"question": "Which sizes?", "header": "Sizes", "options": [{"label": "S"}, {"label": "L"}], "multiple": True},
]


def test_a_form_has_a_field_for_each_question() -> None:
    server = working_server()
    [event] = server.emit("question.asked", id="que_1", questions=FORM)
    assert isinstance(event, InterruptRequested)
    [interrupt] = event.interrupts
    schema = interrupt.response_schema
    assert interrupt.reason == "input_required" and schema is not None
    assert schema["required"] == ["q1", "q2"]
    assert schema["properties"]["q1"]["enum"] == ["Red"]
    assert schema["properties"]["q2"]["items"]["anyOf"][0]["enum"] == ["S", "L"]
    server.take_calls()
    server.dialect.answer(interrupt.id, Answer(interrupt.id, "resolved", {"q1": "Red", "q2": ["S", "L"]}))
    assert server.take_calls()[0]["body"] == {"answers": [["Red"], ["S", "L"]]}


@pytest.mark.parametrize("payload", [{"q1": "Red"}, {"q1": 1, "q2": []}, None, {"approved": True}])
def test_a_form_that_is_not_filled_in_is_dismissed(payload: Any) -> None:
    server = working_server()
    [event] = server.emit("question.asked", id="que_1", questions=FORM)
    assert isinstance(event, InterruptRequested)
    interrupt_id = event.interrupts[0].id
    server.take_calls()
    server.dialect.answer(interrupt_id, Answer(interrupt_id, "resolved", payload))
    assert server.take_calls()[0]["path"].startswith("/question/que_1/reject?")


def test_an_id_that_no_url_can_carry_does_not_break_the_answer() -> None:
    server = working_server()
    [event] = server.emit("question.asked", id="\ud800", questions=FORM)
    assert isinstance(event, InterruptRequested)
    interrupt_id = event.interrupts[0].id
    server.take_calls()
    server.dialect.answer(interrupt_id, Answer(interrupt_id, "cancelled"))
    assert server.take_calls()[0]["path"].startswith("/question/%3F/reject?")
