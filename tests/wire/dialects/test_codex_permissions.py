"""Requests of Codex for approval and input, and their results: only a clear yes is one."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from gateway.events import Interrupt, InterruptRequested, Raw, UserMessageAccepted, Warning
from gateway.turn import Answer, Approvals
from gateway.wire.dialects.codex import Codex
from gateway.wire.dialects.codex.permissions import COMMAND, ELICITATION, FILES, INPUT, METHODS, PERMISSIONS
from tests.wire.dialects.codex_replay import compact, completed, item, notification, prompted, sent

AMENDMENT = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["touch", "x"]}}
HOST = {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"host": "example.org", "action": "deny"}}}
TOOL = {"codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"], "tool_params": {"a": 1}}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
COLOUR = {
    "id": "c", "header": "Colour", "question": "Which?", "isOther": False, "isSecret": False,
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
}  # fmt: skip

REQUESTS: dict[str, dict[str, Any]] = {
    COMMAND: {"command": "touch x", "reason": "May I?", "availableDecisions": ["accept", AMENDMENT, "cancel"]},
    FILES: {"reason": None, "grantRoot": None},
    PERMISSIONS: {"reason": "net", "permissions": {"network": {"enabled": True}, "fileSystem": None}},
    INPUT: {"questions": [COLOUR]},
    ELICITATION: {"serverName": "s", "mode": "form", "message": "Run it?", "_meta": TOOL, "requestedSchema": {}},
}
UNCLEAR: list[Any] = [
    None, {}, [], "yes", 1, True, {"approved": 1}, {"approved": "true"}, {"optionId": 7},
    {"optionId": "acceptEverything", "approved": True}, {"approved": True, "editedArgs": {"command": "rm"}},
]  # fmt: skip
NO: dict[str, dict[str, Any]] = {
    COMMAND: {"decision": "decline"},
    FILES: {"decision": "decline"},
    PERMISSIONS: {"permissions": {}, "scope": "turn"},
    INPUT: {"answers": {}},
    ELICITATION: {"action": "decline", "content": None, "_meta": None},
}
YES: dict[str, dict[str, Any]] = {
    COMMAND: {"decision": "accept"},
    FILES: {"decision": "accept"},
    PERMISSIONS: {"permissions": {"network": {"enabled": True}}, "scope": "turn"},
    INPUT: {"answers": {}},
    ELICITATION: {"action": "accept", "content": {}, "_meta": None},
}


def ask(dialect: Codex, method: str, number: int | str = 0, **more: Any) -> list[Any]:
    params = {"threadId": "th", "turnId": "tu", "itemId": "i1", **REQUESTS.get(method, {}), **more}
    return list(dialect.read([compact({"method": method, "id": number, "params": params})]))


def request_interrupt(method: str, **more: Any) -> tuple[Codex, Interrupt]:
    dialect = prompted()
    [*_, event] = ask(dialect, method, **more)
    assert isinstance(event, InterruptRequested)
    [question] = event.interrupts
    assert question.response_schema is not None
    jsonschema.Draft202012Validator.check_schema(question.response_schema)
    return dialect, question


def result(method: str, answer: Any, *, status: Any = "resolved", **more: Any) -> Any:
    """The result that Codex gets for this answer of the user."""
    dialect, question = request_interrupt(method, **more)
    dialect.answer(question.id, Answer(question.id, status, answer))
    [message] = sent(dialect)
    assert message["id"] == 0
    return message["result"]


def fits(question: Interrupt, payload: Any) -> bool:
    return jsonschema.Draft202012Validator(question.response_schema or {}).is_valid(payload)


# -- by policy


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("policy", "answers"), [("auto", YES), ("deny", NO)])
def test_a_policy_answers_at_once_without_an_interrupt(
    method: str, policy: Approvals, answers: dict[str, dict[str, Any]]
) -> None:
    dialect = prompted(approvals=policy)
    assert ask(dialect, method) == []
    assert sent(dialect) == [{"id": 0, "result": answers[method]}]


def test_no_policy_fills_in_a_form() -> None:
    dialect = prompted(approvals="auto")
    assert ask(dialect, ELICITATION, _meta=None, requestedSchema=FORM) == []
    assert sent(dialect)[0]["result"]["action"] == "decline"


def test_auto_takes_nothing_that_lasts_beyond_the_session() -> None:
    dialect = prompted(approvals="auto")
    assert ask(dialect, COMMAND, availableDecisions=[AMENDMENT, "cancel"]) == []
    assert sent(dialect)[0]["result"] == {"decision": "decline"}


def test_a_request_in_a_cancelled_turn_is_answered_as_cancelled() -> None:
    dialect = prompted()
    dialect.cancel()
    sent(dialect)
    assert ask(dialect, COMMAND) == []
    assert sent(dialect) == [{"id": 0, "result": {"decision": "cancel"}}]


# -- by a human


@pytest.mark.parametrize("method", [method for method in METHODS if method != INPUT])
def test_a_plain_yes_and_a_plain_no_are_taken(method: str) -> None:
    assert result(method, {"approved": True}) == YES[method]
    assert result(method, {"approved": False}) == NO[method]


@pytest.mark.parametrize("method", [method for method in METHODS if method != INPUT])
@pytest.mark.parametrize("payload", UNCLEAR)
def test_whatever_is_not_clearly_a_yes_is_a_no(method: str, payload: Any) -> None:
    assert result(method, payload) == NO[method]


def test_an_answer_that_was_cancelled_stops_the_turn() -> None:
    assert result(COMMAND, None, status="cancelled") == {"decision": "cancel"}
    assert result(FILES, {"approved": True}, status="cancelled") == {"decision": "cancel"}
    assert result(PERMISSIONS, None, status="cancelled") == NO[PERMISSIONS]
    assert result(INPUT, {"c": "Red"}, status="cancelled") == {"answers": {}}
    assert result(ELICITATION, None, status="cancelled")["action"] == "cancel"


def test_an_option_is_sent_as_codex_offered_it() -> None:
    assert result(COMMAND, {"optionId": "acceptWithExecpolicyAmendment"}) == {"decision": AMENDMENT}
    assert result(COMMAND, {"optionId": "cancel"}) == {"decision": "cancel"}
    assert result(COMMAND, {"optionId": "decline"}) == {"decision": "decline"}, "never listed, always taken"
    assert result(COMMAND, {"optionId": "acceptForSession"}) == {"decision": "decline"}, "not offered"
    assert result(FILES, {"optionId": "acceptForSession"}) == {"decision": "acceptForSession"}
    rule = result(COMMAND, {"optionId": "applyNetworkPolicyAmendment:0"}, availableDecisions=[HOST])
    assert rule == {"decision": HOST}


def test_permissions_may_be_granted_for_the_session() -> None:
    granted = result(PERMISSIONS, {"optionId": "acceptForSession"})
    assert granted == {"permissions": {"network": {"enabled": True}}, "scope": "session"}


@pytest.mark.parametrize(("option", "lasting"), [("acceptForSession", "session"), ("acceptAlways", "always")])
def test_an_mcp_tool_may_be_allowed_for_longer(option: str, lasting: str) -> None:
    allowed = {"action": "accept", "content": {}, "_meta": {"persist": lasting}}
    assert result(ELICITATION, {"optionId": option}) == allowed


def test_a_question_is_answered_once() -> None:
    dialect, question = request_interrupt(COMMAND)
    for _ in range(2):
        dialect.answer(question.id, Answer(question.id, "resolved", {"approved": True}))
    assert len(sent(dialect)) == 1


def test_a_request_that_another_client_answered_is_closed() -> None:
    dialect, question = request_interrupt(COMMAND)
    assert dialect.read([notification("serverRequest/resolved", requestId=0)]) == []
    dialect.answer(question.id, Answer(question.id, "resolved", {"approved": True}))
    assert sent(dialect) == []


def test_several_questions_may_be_open_at_once() -> None:
    dialect = prompted()
    first, second = (ask(dialect, COMMAND, number)[-1].interrupts[0].id for number in (0, 1))
    dialect.answer(second, Answer(second, "resolved", {"approved": False}))
    dialect.answer(first, Answer(first, "resolved", {"approved": True}))
    assert sent(dialect) == [{"id": 1, "result": {"decision": "decline"}}, {"id": 0, "result": {"decision": "accept"}}]


# -- the text that comes with a denial


@pytest.mark.parametrize("method", [method for method in METHODS if method != INPUT])
@pytest.mark.parametrize("choice", [{"approved": False}, {"optionId": "decline"}])
def test_feedback_follows_a_denial_as_a_message_for_the_same_turn(method: str, choice: dict[str, Any]) -> None:
    dialect, question = request_interrupt(method)
    payload = {**choice, "feedback": "Use trash."}
    assert fits(question, payload)
    assert question.response_schema is not None and "feedback" in question.response_schema["properties"]
    dialect.answer(question.id, Answer(question.id, "resolved", payload))
    denial, steering = sent(dialect)
    assert denial == {"id": 0, "result": NO[method]}
    message = steering["params"]["clientUserMessageId"]
    turn = {"threadId": "th", "expectedTurnId": "tu", "clientUserMessageId": message}
    assert steering["method"] == "turn/steer"
    assert steering["params"] == turn | {"input": [{"type": "text", "text": "Use trash.", "text_elements": []}]}
    taken = item(dialect, "started", type="userMessage", clientId=message)
    assert taken == [UserMessageAccepted(f"{question.id}:feedback", "Use trash.")]


def test_feedback_with_a_yes_is_no_message() -> None:
    dialect, question = request_interrupt(COMMAND)
    dialect.answer(question.id, Answer(question.id, "resolved", {"approved": True, "feedback": "Go on."}))
    assert [message["result"] for message in sent(dialect)] == [YES[COMMAND]]


def test_feedback_with_a_denial_that_stops_the_turn_is_reported_as_dropped() -> None:
    dialect, question = request_interrupt(COMMAND)
    payload = {"optionId": "cancel", "feedback": "Use trash."}
    dialect.answer(question.id, Answer(question.id, "resolved", payload))
    assert [message["result"] for message in sent(dialect)] == [{"decision": "cancel"}]
    assert [event.code for event in completed(dialect, "interrupted") if isinstance(event, Warning)] == [
        "FEEDBACK_DROPPED"
    ]


def test_feedback_that_codex_does_not_take_is_reported_as_dropped() -> None:
    dialect, question = request_interrupt(COMMAND)
    dialect.answer(question.id, Answer(question.id, "resolved", {"approved": False, "feedback": "Use trash."}))
    _, steering = sent(dialect)
    error = {"code": -32600, "message": "no active turn to steer"}
    [warning] = dialect.read([compact({"id": steering["id"], "error": error})])
    assert isinstance(warning, Warning) and warning.code == "FEEDBACK_DROPPED"
    assert "no active turn to steer" in warning.message


# -- as a client sees it


def test_a_question_names_the_call_that_the_client_has_seen() -> None:
    dialect = prompted()
    item(dialect, "started", type="commandExecution", command="touch x")
    [event] = ask(dialect, COMMAND)
    [question] = event.interrupts
    assert (question.reason, question.tool_call_id) == ("tool_call", "t1:i1")
    assert question.message == "May I?\ntouch x"
    once = {"optionId": "accept", "name": "Allow once", "kind": "allow_once"}
    assert question.metadata["codex"]["options"][0] == once


def test_an_interrupt_about_an_unknown_call_is_a_confirmation() -> None:
    _, question = request_interrupt(PERMISSIONS)
    assert (question.reason, question.tool_call_id) == ("confirmation", None)


def test_a_question_about_files_names_them() -> None:
    dialect = prompted()
    item(dialect, "started", type="fileChange", changes=[{"path": "/w/a", "kind": {"type": "add"}, "diff": "x"}])
    [event] = ask(dialect, FILES)
    assert event.interrupts[0].message == "The agent wants to change files.\nadd /w/a"


def test_an_mcp_servers_question_finds_the_call_that_it_is_about() -> None:
    dialect = prompted()
    for number, arguments in enumerate(({"a": 0}, {"a": 1})):
        call_item = {"id": f"m{number}", "type": "mcpToolCall", "server": "s", "tool": "t", "arguments": arguments}
        dialect.read([notification("item/started", item=call_item)])
    [event] = ask(dialect, ELICITATION)
    [question] = event.interrupts
    assert (question.reason, question.tool_call_id) == ("tool_call", "t1:m1")


def test_the_schema_takes_what_is_offered_and_no_changed_arguments() -> None:
    _, question = request_interrupt(COMMAND)
    assert fits(question, {"approved": True}) and fits(question, {"optionId": "decline"})
    assert not fits(question, {"optionId": "acceptForSession"})
    assert not fits(question, {"approved": True, "editedArgs": {}})


def test_questions_to_the_user_are_a_form() -> None:
    _, question = request_interrupt(INPUT)
    assert question.reason == "input_required" and question.message == "Which?"
    assert fits(question, {"c": "Red"}) and not fits(question, {"c": "Green"}) and not fits(question, {})
    assert result(INPUT, {"c": "Red"}) == {"answers": {"c": {"answers": ["Red"]}}}
    assert result(INPUT, {"c": ["Red", "Blue"], "d": "x"}) == {"answers": {"c": {"answers": ["Red", "Blue"]}}}


def test_a_free_answer_is_accepted_where_codex_allows_it() -> None:
    _, question = request_interrupt(INPUT, questions=[COLOUR | {"isOther": True}, {"id": "key", "isSecret": True}])
    assert fits(question, {"c": "Green", "key": "x"})
    properties = (question.response_schema or {})["properties"]
    assert properties["key"]["format"] == "password"


def test_an_mcp_servers_form_is_handed_on_and_back() -> None:
    _, question = request_interrupt(ELICITATION, _meta=None, requestedSchema=FORM)
    assert question.reason == "input_required" and question.response_schema == FORM
    given = result(ELICITATION, {"name": "x"}, _meta=None, requestedSchema=FORM)
    assert given == {"action": "accept", "content": {"name": "x"}, "_meta": None}


def test_an_mcp_servers_url_is_shown() -> None:
    _, question = request_interrupt(ELICITATION, _meta=None, mode="url", url="https://example.org/x", elicitationId="e")
    assert question.metadata is not None and question.metadata["url"] == "https://example.org/x"
    assert "https://example.org/x" in (question.message or "")


# -- other requests


def test_an_unknown_request_is_answered_with_an_error_and_shown() -> None:
    dialect = prompted()
    [unread] = ask(dialect, "attestation/generate", 7)
    assert isinstance(unread, Raw)
    [message] = sent(dialect)
    assert message["id"] == 7 and message["error"]["code"] == -32601


def test_a_call_of_a_tool_that_was_never_offered_fails() -> None:
    dialect = prompted()
    assert ask(dialect, "item/tool/call", tool="show", arguments={}) == []
    [message] = sent(dialect)
    assert message["result"]["success"] is False


def test_a_subagent_asks_in_its_own_name() -> None:
    dialect = prompted()
    item(dialect, "completed", type="collabAgentToolCall", tool="spawnAgent", receiverThreadIds=["ch"], prompt="look")
    [start, event] = ask(dialect, COMMAND, threadId="ch")
    [question] = event.interrupts
    assert question.subagent == start.id
    assert "feedback" not in question.response_schema["properties"], "a message would reach the main thread"


@pytest.mark.parametrize("size", [1, 5])
def test_a_request_that_is_nested_too_deep_to_be_answered_is_raw(size: int) -> None:
    """Its permissions would be repeated in the result, and no line can hold them."""
    dialect = prompted(approvals="auto")
    deep = b"[" * 300 + b"]" * 300
    params = b'{"threadId":"th","permissions":{"a":' + deep + b"}}"
    line = b'{"id":7,"method":"%b","params":%b}' % (PERMISSIONS.encode(), params)
    events = dialect.read([line] * size)
    assert [type(event) for event in events] == [Raw] * size
    assert sent(dialect) == []


@pytest.mark.parametrize("approved", [False, "yes", None])
def test_an_option_that_the_same_answer_takes_back_is_not_a_yes(approved: Any) -> None:
    assert result(COMMAND, {"optionId": "accept", "approved": approved}) == {"decision": "decline"}
