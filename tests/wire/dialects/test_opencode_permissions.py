"""What opencode asks, and what it is answered."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import InterruptRequested, ToolCallArgs, Warning
from gateway.turn import Answer
from tests.wire.dialects.opencode_server import Json, Server, working


def asked() -> tuple[Server, str]:
    """A command waits for permission."""
    server = working()
    server.tool("running", input={"command": "ls"})
    [event] = server.asks()
    assert isinstance(event, InterruptRequested)
    return server, event.interrupts[0].id


# -- questions


@pytest.mark.parametrize(
    ("payload", "body"),
    [
        ({"approved": True}, {"reply": "once"}),
        ({"optionId": "once"}, {"reply": "once"}),
        ({"optionId": "always"}, {"reply": "always"}),
        ({"optionId": "reject"}, {"reply": "reject", "message": "The user refused this."}),
        ({"approved": False}, {"reply": "reject", "message": "The user refused this."}),
        ({"approved": False, "message": "use cat"}, {"reply": "reject", "message": "use cat"}),
        ({"optionId": "nonsense"}, {"reply": "reject", "message": "The user refused this."}),
        ({"approved": "yes"}, {"reply": "reject", "message": "The user refused this."}),
        ({"approved": True, "editedArgs": {}}, {"reply": "reject", "message": "The user refused this."}),
        ("yes", {"reply": "reject", "message": "The user refused this."}),
    ],
)
def test_only_a_clear_yes_is_sent_as_one(payload: Any, body: Json) -> None:
    server, question = asked()
    server.sent()
    server.dialect.answer(question, Answer(question, "resolved", payload))
    [reply] = server.sent()
    assert reply["path"].startswith("/permission/per_1/reply?")
    assert reply["body"] == body


def test_no_answer_is_a_refusal_that_ends_the_turn() -> None:
    server, question = asked()
    server.sent()
    server.dialect.answer(question, Answer(question, "cancelled"))
    assert server.sent()[0]["body"] == {"reply": "reject"}
    server.dialect.answer(question, Answer(question, "resolved", {"approved": True}))
    assert server.sent() == []


def test_a_question_shows_its_call_and_its_options() -> None:
    server = working()
    server.tool("running", input={"command": "ls"})
    [event] = server.asks()
    assert isinstance(event, InterruptRequested)
    [question] = event.interrupts
    assert (question.reason, question.tool_call_id, question.message) == ("tool_call", "k:prt_t", "Allow bash?\nls")
    assert question.response_schema is not None and question.metadata is not None
    assert question.response_schema["properties"]["optionId"]["enum"] == ["once", "always", "reject"]
    kinds = [option["kind"] for option in question.metadata["opencode"]["options"]]
    assert kinds == ["allow_once", "allow_always", "reject_once"]


def test_a_question_waits_until_it_is_known_what_it_is_about() -> None:
    server = working()
    server.tool("pending", input={})
    assert server.asks() == []
    arguments, _, event = server.tool("running", input={"command": "ls"})
    assert isinstance(arguments, ToolCallArgs) and isinstance(event, InterruptRequested)


def test_a_question_whose_call_never_says_more_is_looked_up() -> None:
    server = working()
    server.tool("pending", input={})
    server.asks()
    part = {"messageID": "msg_1", "callID": "call_1", "state": {"input": {"command": "pwd"}}}
    arguments, _, event = server.answer({"info": {}, "parts": [part]})
    assert isinstance(arguments, ToolCallArgs) and arguments.delta == '{"command":"pwd"}'
    assert isinstance(event, InterruptRequested)


def test_a_question_that_cannot_be_looked_up_is_asked_with_what_it_says_itself() -> None:
    server = working()
    server.tool("pending", input={})
    server.asks()
    arguments, _, event = server.answer(None, 500)
    assert isinstance(arguments, ToolCallArgs) and arguments.delta == '{"command":"ls"}'
    assert isinstance(event, InterruptRequested)


@pytest.mark.parametrize(
    ("policy", "body"),
    [("auto", {"reply": "once"}), ("deny", {"reply": "reject", "message": "The user refused this."})],
)
def test_a_policy_answers_and_nobody_is_asked(policy: str, body: Json) -> None:
    server = working(approvals=policy)
    server.tool("running", input={"command": "ls"})
    server.sent()
    assert server.asks() == []
    assert [call["body"] for call in server.sent()] == [body]
    assert server.event("question.asked", id="que_1", questions=[{"question": "Which?"}]) == []
    assert server.sent()[0]["path"].startswith("/question/que_1/reject?")


def test_a_refusal_waits_for_the_approvals_beside_it() -> None:
    """opencode refuses everything that waits, once one thing is refused."""
    server, first = asked()
    server.part("prt_u", "tool", tool="bash", callID="call_2", state={"status": "running", "input": {"command": "pwd"}})
    [event] = server.asks("per_2", call="call_2")
    assert isinstance(event, InterruptRequested)
    second = event.interrupts[0].id
    server.sent()
    server.dialect.answer(first, Answer(first, "resolved", {"approved": False}))
    assert server.sent() == []
    server.dialect.answer(second, Answer(second, "resolved", {"approved": True}))
    [approval] = server.sent()
    assert approval["path"].startswith("/permission/per_2/")
    server.read({"id": approval["id"], "status": 200, "body": True})
    [refusal] = server.sent()
    assert refusal["path"].startswith("/permission/per_1/")


def test_a_question_that_comes_twice_is_asked_once() -> None:
    server, _ = asked()
    assert server.asks() == []


def test_an_answer_that_was_given_elsewhere_is_not_given_again() -> None:
    server, question = asked()
    server.sent()
    server.event("permission.replied", requestID="per_1", reply="once")
    server.dialect.answer(question, Answer(question, "resolved", {"approved": True}))
    assert server.sent() == []


def test_an_answer_that_is_lost_is_told() -> None:
    server, question = asked()
    server.dialect.answer(question, Answer(question, "resolved", {"approved": True}))
    [warned] = server.answer(None, 500)
    assert isinstance(warned, Warning) and warned.code == "ANSWER_LOST"


FORM = [
    {"question": "Which colour?", "header": "Colour", "options": [{"label": "Red"}], "custom": False},
    {"question": "Which sizes?", "header": "Sizes", "options": [{"label": "S"}, {"label": "L"}], "multiple": True},
]


def test_a_form_has_a_field_for_each_question() -> None:
    server = working()
    [event] = server.event("question.asked", id="que_1", questions=FORM)
    assert isinstance(event, InterruptRequested)
    [question] = event.interrupts
    schema = question.response_schema
    assert question.reason == "input_required" and schema is not None
    assert schema["required"] == ["q1", "q2"]
    assert schema["properties"]["q1"]["enum"] == ["Red"]
    assert schema["properties"]["q2"]["items"]["anyOf"][0]["enum"] == ["S", "L"]
    server.sent()
    server.dialect.answer(question.id, Answer(question.id, "resolved", {"q1": "Red", "q2": ["S", "L"]}))
    assert server.sent()[0]["body"] == {"answers": [["Red"], ["S", "L"]]}


@pytest.mark.parametrize("payload", [{"q1": "Red"}, {"q1": 1, "q2": []}, None, {"approved": True}])
def test_a_form_that_is_not_filled_in_is_dismissed(payload: Any) -> None:
    server = working()
    [event] = server.event("question.asked", id="que_1", questions=FORM)
    assert isinstance(event, InterruptRequested)
    question = event.interrupts[0].id
    server.sent()
    server.dialect.answer(question, Answer(question, "resolved", payload))
    assert server.sent()[0]["path"].startswith("/question/que_1/reject?")
