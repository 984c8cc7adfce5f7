"""Requests of Claude Code to its host: who answers them, and that only the user approves."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gateway.events import Custom, Raw, ToolCallArgs, ToolCallEnd, ToolCallStart, TurnEnded
from gateway.turn import Answer
from gateway.wire.dialects import Prompt
from gateway.wire.dialects.claude import ClaudeDialect
from tests.wire.dialects.claude_conversation import (
    COMPLETE,
    MESSAGE,
    Json,
    block_start,
    block_stop,
    can_use_tool,
    delta,
    interrupts_in,
    prompted,
    read,
    ready,
    request,
    respond,
    responses_sent,
    result,
)
from tests.wire.dialects.claude_replay import sent, text

RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "ls *"}],
    "behavior": "allow",
    "destination": "localSettings",
}
FOLDER = {"type": "addDirectories", "directories": ["/tmp/x"], "destination": "session"}
MODE = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
QUESTIONS = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
        },
        {"question": "Which sizes?", "options": [{"label": "S"}, {"label": "L"}], "multiSelect": True},
    ]
}


def deny(message: str) -> Json:
    return {"behavior": "deny", "message": message}


# -- permissions


def test_a_permission_is_a_question_about_its_call() -> None:
    events = read(prompted(), can_use_tool(description="list files", decision_reason="it asks"))
    assert events[:3] == [
        ToolCallStart("t1:c1", "Bash"),
        ToolCallArgs("t1:c1", '{"command":"ls"}'),
        ToolCallEnd("t1:c1"),
    ]
    [question] = interrupts_in(events)
    assert (question.id, question.reason, question.tool_call_id) == ("t1:ask:r1", "tool_call", "t1:c1")
    assert question.message == "The agent wants to use Bash.\nlist files\nit asks"
    assert (question.metadata or {})["claude"]["input"] == {"command": "ls"}


@pytest.mark.parametrize("payload", [{"approved": True}, {"optionId": "allow"}])
def test_a_yes_runs_the_call_as_it_is(payload: Json) -> None:
    assert respond(prompted(), can_use_tool(), payload) == {
        "behavior": "allow",
        "updatedInput": {"command": "ls"},
    }


@pytest.mark.parametrize(
    "payload",
    [
        {"approved": False},
        {"optionId": "deny"},
        {"optionId": "session-1"},  # not offered here
        {"optionId": ["allow"]},
        {"optionId": "no such", "approved": True},
        {"approved": "true"},
        {"approved": 1},
        {},
        None,
        "yes",
        {"approved": True, "editedArgs": "ls"},
    ],
)
def test_what_is_not_clearly_a_yes_is_a_no(payload: Any) -> None:
    assert respond(prompted(), can_use_tool(), payload) == deny("The user refused this.")


def test_a_no_can_say_why() -> None:
    answer = respond(prompted(), can_use_tool(), {"approved": False, "feedback": "Look first."})
    assert answer == deny("The user refused this. Look first.")


def test_no_answer_is_a_no() -> None:
    assert respond(prompted(), can_use_tool(), {"approved": True}, "cancelled") == deny("The user gave no answer.")


def test_a_call_can_be_approved_with_other_arguments() -> None:
    payload = {"approved": True, "editedArgs": {"command": "ls -l"}}
    assert respond(prompted(), can_use_tool(), payload) == {
        "behavior": "allow",
        "updatedInput": {"command": "ls -l"},
    }


def test_what_lasts_is_offered_for_the_session_only_and_one_by_one() -> None:
    [question] = interrupts_in(read(prompted(), can_use_tool(permission_suggestions=[RULE, FOLDER, MODE])))
    assert [option["name"] for option in (question.metadata or {})["claude"]["options"]] == [
        "Allow once",
        "Allow, and for this session allow Bash(ls *)",
        "Allow, and for this session let it work in /tmp/x",
        "Allow, and for this session switch to the mode acceptEdits",
        "Deny",
    ]
    line = can_use_tool(permission_suggestions=[RULE, FOLDER, MODE])
    assert respond(prompted(), line, {"optionId": "session-1"}) == {
        "behavior": "allow",
        "updatedInput": {"command": "ls"},
        "updatedPermissions": [{**RULE, "destination": "session"}],
    }


def test_a_plain_yes_allows_nothing_beyond_this_once() -> None:
    answer = respond(prompted(), can_use_tool(permission_suggestions=[RULE]), {"approved": True})
    assert "updatedPermissions" not in answer


@pytest.mark.parametrize(
    "suggestion",
    [{**RULE, "behavior": "deny"}, {**RULE, "rules": []}, {**RULE, "rules": [7]}, {"type": "removeRules"}, {}, 7],
)
def test_a_suggestion_that_is_no_permission_is_not_offered(suggestion: Any) -> None:
    [question] = interrupts_in(read(prompted(), can_use_tool(permission_suggestions=[suggestion])))
    assert len((question.metadata or {})["claude"]["options"]) == 2


def test_nothing_that_lasts_is_offered_where_claude_forbids_it() -> None:
    [question] = interrupts_in(
        read(prompted(), can_use_tool(permission_suggestions=[RULE], suppress_always_allow_rule=True))
    )
    assert len((question.metadata or {})["claude"]["options"]) == 2


def test_a_question_waits_until_the_message_is_complete() -> None:
    """Else the run would end in the midst of a call, and another begin there."""
    dialect = prompted()
    before = read(dialect, MESSAGE, block_start(0, "tool_use", id="c1", name="Bash"), can_use_tool())
    assert interrupts_in(before) == []
    assert interrupts_in(read(dialect, block_start(1, "tool_use", id="c2", name="Read"), block_stop(1))) == []
    assert [question.tool_call_id for question in interrupts_in(read(dialect, COMPLETE))] == ["t1:c1"]


def test_interrupts_of_parallel_calls_are_reported_together() -> None:
    dialect = prompted()
    read(dialect, MESSAGE, can_use_tool(), can_use_tool(call="c2", number="r2"))
    assert len(interrupts_in(read(dialect, COMPLETE))) == 2


def test_while_a_question_is_open_calls_come_whole() -> None:
    dialect = prompted()
    read(dialect, can_use_tool())
    start, piece = block_start(0, "tool_use", id="c9", name="Read"), delta(0, "input_json_delta", partial_json='{"a":')
    assert read(dialect, MESSAGE, start, piece, delta(0, "input_json_delta", partial_json="1}")) == []
    whole = [ToolCallStart("t1:c9", "Read"), ToolCallArgs("t1:c9", '{"a":1}'), ToolCallEnd("t1:c9")]
    assert read(dialect, block_stop(0)) == whole


def test_the_same_request_twice_is_one_question() -> None:
    assert len(interrupts_in(read(prompted(), can_use_tool(), can_use_tool()))) == 1


def test_a_second_answer_is_not_sent() -> None:
    dialect = prompted()
    respond(dialect, can_use_tool(), {"approved": False})
    dialect.answer("t1:ask:r1", Answer("t1:ask:r1", "resolved", {"approved": True}))
    assert responses_sent(dialect) == []


# -- policies


def test_the_policy_auto_allows_all_without_an_interrupt() -> None:
    dialect = prompted("auto")
    assert read(dialect, can_use_tool(permission_suggestions=[RULE])) == []
    assert responses_sent(dialect) == [{"behavior": "allow", "updatedInput": {"command": "ls"}}]


def test_by_policy_all_is_refused() -> None:
    dialect = prompted("deny")
    assert read(dialect, can_use_tool(), can_use_tool("ExitPlanMode", number="r2")) == []
    assert [answer["behavior"] for answer in responses_sent(dialect)] == ["deny", "deny"]


def test_no_policy_can_fill_in_a_form() -> None:
    dialect = prompted("auto")
    read(dialect, can_use_tool("AskUserQuestion", input=QUESTIONS), request("elicitation", "r2", message="Who?"))
    [form, elicitation] = responses_sent(dialect)
    assert form["behavior"] == "deny" and "decide yourself" in form["message"]
    assert elicitation == {"action": "decline"}


def test_by_policy_a_plan_is_carried_out() -> None:
    dialect = prompted("auto")
    read(dialect, can_use_tool("ExitPlanMode", input={"plan": "1."}))
    assert responses_sent(dialect) == [{"behavior": "allow", "updatedInput": {"plan": "1."}}]


# -- forms


def test_questions_for_the_user_are_a_form() -> None:
    [question] = interrupts_in(read(prompted(), can_use_tool("AskUserQuestion", input=QUESTIONS)))
    assert (question.reason, question.message) == ("input_required", "Which colour?\nWhich sizes?")
    schema = question.response_schema or {}
    assert list(schema["properties"]) == ["question_0", "question_0_custom", "question_1", "question_1_custom"]
    valid = Draft202012Validator(schema)
    assert valid.is_valid({"question_0": "Red", "question_1": ["S", "L"]})
    assert valid.is_valid({"question_0_custom": "Green"})
    assert not valid.is_valid({"question_0": "Green"})
    assert not valid.is_valid({"question_1": "S"})


def test_a_form_is_answered_by_the_text_of_its_questions() -> None:
    filled = {"question_0": "Red", "question_0_custom": "but dark", "question_1": ["S", "L"]}
    answer = respond(prompted(), can_use_tool("AskUserQuestion", input=QUESTIONS), filled)
    chosen = {"Which colour?": "Red, but dark", "Which sizes?": "S, L"}
    assert answer == {"behavior": "allow", "updatedInput": {**QUESTIONS, "answers": chosen}}


@pytest.mark.parametrize("payload", [{}, {"question_0": ""}, {"question_7": "Red"}, {"approved": True}, "Red"])
def test_an_empty_form_is_no_answer(payload: Any) -> None:
    answer = respond(prompted(), can_use_tool("AskUserQuestion", input=QUESTIONS), payload)
    assert answer == deny("The user gave no answer.")


def test_a_plan_is_confirmed_as_it_stands() -> None:
    line = can_use_tool("ExitPlanMode", input={"plan": "1. look"})
    [question] = interrupts_in(read(prompted(), line))
    assert question.reason == "confirmation" and str(question.message).endswith("1. look")
    assert not Draft202012Validator(question.response_schema or {}).is_valid({"approved": True, "editedArgs": {}})
    assert respond(prompted(), line, {"approved": True})["behavior"] == "allow"
    assert respond(prompted(), line, {"approved": True, "editedArgs": {}})["behavior"] == "deny"


# -- MCP servers


SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}


@pytest.mark.parametrize(
    ("payload", "status", "expected"),
    [
        ({"name": "Ada"}, "resolved", {"action": "accept", "content": {"name": "Ada"}}),
        ("Ada", "resolved", {"action": "decline"}),
        (None, "cancelled", {"action": "cancel"}),
    ],
)
def test_a_servers_form_is_handed_on(payload: Any, status: str, expected: Json) -> None:
    line = request("elicitation", mcp_server_name="crm", message="Who?", requested_schema=SCHEMA)
    [question] = interrupts_in(read(prompted(), line))
    assert (question.reason, question.response_schema) == ("input_required", SCHEMA)
    assert respond(prompted(), line, payload, status) == expected


@pytest.mark.parametrize(("accepted", "action"), [(True, "accept"), (False, "decline"), (None, "decline")])
def test_a_servers_address_is_shown_whole_for_the_user_to_judge(accepted: Any, action: str) -> None:
    line = request("elicitation", message="Sign in", mode="url", url="https://crm.example/login")
    [question] = interrupts_in(read(prompted(), line))
    assert question.message == "Sign in\nhttps://crm.example/login"
    assert respond(prompted(), line, {"accepted": accepted}) == {"action": action}


# -- everything else


@pytest.mark.parametrize("subtype", ["hook_callback", "mcp_message", "request_user_dialog", "grant_everything", None])
@pytest.mark.parametrize("approvals", ["prompt", "auto"])
def test_what_was_never_offered_is_answered_with_an_error(subtype: Any, approvals: Any) -> None:
    dialect = prompted(approvals)
    events = read(dialect, request(subtype))
    known = subtype in ("hook_callback", "mcp_message", "request_user_dialog")
    assert [type(event) for event in events] == [Custom if known else Raw]
    assert [answer["subtype"] for answer in responses_sent(dialect)] == ["error"]


def test_a_question_can_be_withdrawn() -> None:
    dialect = prompted()
    read(dialect, can_use_tool())
    withdrawn = read(dialect, {"type": "control_cancel_request", "request_id": "r1"})
    assert withdrawn == [Custom("claude.question_withdrawn", {"id": "t1:ask:r1"})]
    dialect.answer("t1:ask:r1", Answer("t1:ask:r1", "resolved", {"approved": True}))
    assert responses_sent(dialect) == []


def test_an_interrupt_that_is_withdrawn_before_its_report_is_never_reported() -> None:
    dialect = prompted()
    read(dialect, MESSAGE, can_use_tool(), {"type": "control_cancel_request", "request_id": "r1"})
    assert read(dialect, COMPLETE) == []


def test_the_end_of_a_turn_ends_its_questions() -> None:
    dialect = prompted()
    read(dialect, can_use_tool())
    assert read(dialect, result()) == [TurnEnded()]
    dialect.answer("t1:ask:r1", Answer("t1:ask:r1", "resolved", {"approved": True}))
    assert responses_sent(dialect) == []


def test_a_new_process_knows_nothing_of_old_questions() -> None:
    dialect: ClaudeDialect = prompted()
    read(dialect, can_use_tool())
    dialect.start_session(dialect.session_start)
    sent(dialect)
    dialect.answer("t1:ask:r1", Answer("t1:ask:r1", "resolved", {"approved": True}))
    assert responses_sent(dialect) == []


def test_a_request_that_is_nested_too_deep_to_be_answered_is_raw() -> None:
    """Its arguments would be repeated in the answer, and no line can hold them."""
    dialect = prompted("auto")
    deep = b"[" * 300 + b"]" * 300
    line = b'{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash",'
    [event] = dialect.read([line + b'"input":{"a":' + deep + b"}}}"])
    assert isinstance(event, Raw)
    assert sent(dialect) == []


@pytest.mark.parametrize("approved", [False, "yes", None])
def test_an_option_that_the_same_answer_takes_back_is_not_a_yes(approved: Any) -> None:
    payload = {"optionId": "allow", "approved": approved}
    assert respond(prompted(), can_use_tool(), payload)["behavior"] == "deny"


# -- calls of client tools


@pytest.mark.parametrize("name", [[], {}, None, 7, ""])
def test_a_call_without_a_readable_name_is_refused(name: Any) -> None:
    dialect = ready()
    tool = {"name": "show_card", "description": "Shows a card.", "parameters": {"type": "object"}}
    dialect.prompt(Prompt(text("hello"), "t1", tools=(tool,)))
    sent(dialect)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}}
    assert read(dialect, request("mcp_message", server_name="agui", message=message)) == []
    [response] = responses_sent(dialect)
    assert response["mcp_response"]["result"]["isError"] is True
