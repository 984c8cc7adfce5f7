"""What extensions, the gate and omp ask, and what is answered: only a clear yes is a yes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.events import Event, Interrupt, InterruptRequested, ToolCallResult, ToolCallStart, TurnEnded
from gateway.turn import Answer
from gateway.wire.dialects.pi import permissions
from tests.agui.streams import VALUES, steady
from tests.wire.dialects.pi_replay import Json, line, sent
from tests.wire.dialects.test_pi_turns import answer, read, started

CALL = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "rm -rf victim"}}
GATE = {
    "type": "extension_ui_request",
    "id": "u1",
    "method": "input",
    "title": "agui-gateway:tool_call",
    "placeholder": '{"toolCallId":"c1","toolName":"bash"}',
}
CONFIRM = {"type": "extension_ui_request", "id": "u2", "method": "confirm", "title": "Sure?", "message": "It is wet."}
SELECT = {"type": "extension_ui_request", "id": "u3", "method": "select", "title": "Which?", "options": ["a", "b"]}
INPUT = {"type": "extension_ui_request", "id": "u4", "method": "input", "title": "Name?", "placeholder": "a name"}
EDITOR = {"type": "extension_ui_request", "id": "u5", "method": "editor", "title": "Text?", "prefill": "Dear"}
APPROVAL = {
    "type": "extension_ui_request",
    "id": "u6",
    "method": "select",
    "title": "Allow tool: bash\nCommand: rm -rf victim",
    "options": ["Approve", "Deny"],
}
DIALOGS = (GATE, CONFIRM, SELECT, INPUT, EDITOR, APPROVAL)


def requested(*requests: Json, **prompt: Any) -> tuple[Any, list[Event]]:
    pi = started(**prompt)
    events = pi.read([*answer(content=[CALL]), line({"type": "tool_execution_start", "toolCallId": "c1"})])
    return pi, [*events, *read(pi, *requests)]


def interrupt_of(events: list[Event]) -> Interrupt:
    [found] = [one for event in events if isinstance(event, InterruptRequested) for one in event.interrupts]
    return found


def response_to(request: Json, payload: Any, status: Any = "resolved") -> Json:
    pi, events = requested(request)
    pi.answer(interrupt_of(events).id, Answer("x", status, payload))
    [response] = sent(pi)
    assert response.pop("type") == "extension_ui_response" and response.pop("id") == request["id"]
    return response


def test_the_gate_asks_about_the_call_that_the_client_has_seen() -> None:
    _, events = requested(GATE)
    found = interrupt_of(events)
    [start] = [event for event in events if isinstance(event, ToolCallStart)]
    assert (found.reason, found.tool_call_id) == ("tool_call", start.id)
    assert found.message == "Allow bash? rm -rf victim"
    assert found.metadata == {"pi": {"method": "tool_call", "toolName": "bash", "input": {"command": "rm -rf victim"}}}
    assert found.response_schema is not None
    assert {"editedArgs", "feedback"} <= found.response_schema["properties"].keys()


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"approved": True}, '{"approved":true}'),
        ({"approved": True, "editedArgs": {"command": "ls"}}, '{"approved":true,"editedArgs":{"command":"ls"}}'),
        ({"approved": False}, '{"approved":false,"reason":"The user refused this tool call."}'),
        (
            {"approved": False, "feedback": "Use trash."},
            '{"approved":false,"reason":"The user refused this tool call. Use trash."}',
        ),
        ({"approved": True, "feedback": "Use trash."}, '{"approved":true}'),
        ({"approved": True, "editedArgs": "ls"}, '{"approved":false,"reason":"The user refused this tool call."}'),
        ({"approved": "true"}, '{"approved":false,"reason":"The user refused this tool call."}'),
        (None, '{"approved":false,"reason":"The user refused this tool call."}'),
    ],
)
def test_the_gate_gets_a_verdict(payload: Any, expected: str) -> None:
    assert response_to(GATE, payload) == {"value": expected}


def test_a_gate_that_is_dismissed_approves_of_nothing() -> None:
    assert response_to(GATE, {"approved": True}, "cancelled") == {"cancelled": True}


def test_edited_arguments_are_in_the_metadata_of_the_result() -> None:
    pi, events = requested(GATE)
    pi.answer(interrupt_of(events).id, Answer("x", "resolved", {"approved": True, "editedArgs": {"command": "ls"}}))
    result = {"content": [{"type": "text", "text": "victim"}]}
    [event] = read(pi, {"type": "tool_execution_end", "toolCallId": "c1", "result": result, "isError": False})
    assert isinstance(event, ToolCallResult) and event.metadata == {"pi": {"editedArgs": {"command": "ls"}}}


@pytest.mark.parametrize(
    ("request_", "payload", "expected"),
    [
        (CONFIRM, {"approved": True}, {"confirmed": True}),
        (CONFIRM, {"approved": False}, {"confirmed": False}),
        (CONFIRM, {"approved": True, "editedArgs": {}}, {"confirmed": False}),
        (CONFIRM, "yes", {"confirmed": False}),
        (SELECT, {"optionId": "b"}, {"value": "b"}),
        (SELECT, {"value": "a"}, {"value": "a"}),
        (SELECT, "a", {"value": "a"}),
        (SELECT, {"optionId": "c"}, {"cancelled": True}),
        (SELECT, {"approved": True}, {"cancelled": True}),
        (INPUT, {"value": "Otto"}, {"value": "Otto"}),
        (INPUT, {"value": 7}, {"cancelled": True}),
        (EDITOR, {"value": "Dear Otto"}, {"value": "Dear Otto"}),
        (APPROVAL, {"approved": True}, {"value": "Approve"}),
        (APPROVAL, {"approved": False}, {"value": "Deny"}),
        (APPROVAL, {"optionId": "Deny"}, {"value": "Deny"}),
        (APPROVAL, {"approved": True, "editedArgs": {"command": "ls"}}, {"value": "Deny"}),
        (APPROVAL, {"optionId": "Always"}, {"cancelled": True}),
        (APPROVAL, {}, {"cancelled": True}),
    ],
)
def test_every_dialog_gets_a_response_of_its_kind(request_: Json, payload: Any, expected: Json) -> None:
    assert response_to(request_, payload) == expected


def test_the_forms_of_dialogs_that_are_about_no_call() -> None:
    reasons = {
        request["id"]: interrupt_of(requested(request)[1]).reason for request in (CONFIRM, SELECT, INPUT, EDITOR)
    }
    assert reasons == {"u2": "confirmation", "u3": "input_required", "u4": "input_required", "u5": "input_required"}
    found = interrupt_of(requested(CONFIRM)[1])
    assert found.message == "Sure?\nIt is wet." and found.tool_call_id is None
    assert interrupt_of(requested(EDITOR)[1]).metadata == {"pi": {"method": "editor", "prefill": "Dear"}}
    schema = interrupt_of(requested(SELECT)[1]).response_schema
    assert schema is not None and schema["properties"]["optionId"]["enum"] == ["a", "b"]


def test_a_dialog_with_a_timeout_expires() -> None:
    assert interrupt_of(requested({**CONFIRM, "timeout": 5000})[1]).expires_in == 5.0
    assert interrupt_of(requested({**CONFIRM, "timeout": "soon"})[1]).expires_in is None


@pytest.mark.parametrize(
    ("request_", "auto", "deny"),
    [
        (
            GATE,
            {"value": '{"approved":true}'},
            {"value": f'{{"approved":false,"reason":"{permissions.REFUSED_BY_POLICY}"}}'},
        ),
        (APPROVAL, {"value": "Approve"}, {"value": "Deny"}),
        (CONFIRM, {"confirmed": True}, {"confirmed": False}),
        (SELECT, {"cancelled": True}, {"cancelled": True}),
        (INPUT, {"cancelled": True}, {"cancelled": True}),
    ],
)
def test_a_policy_answers_at_once_and_no_user_is_asked(request_: Json, auto: Json, deny: Json) -> None:
    for policy, expected in (("auto", auto), ("deny", deny)):
        pi, events = requested(request_, approvals=policy)
        assert not any(isinstance(event, InterruptRequested) for event in events)
        assert sent(pi) == [{"type": "extension_ui_response", "id": request_["id"], **expected}]


def test_cancelling_dismisses_open_dialogs_first() -> None:
    pi, _ = requested(GATE, CONFIRM)
    pi.cancel()
    first, second, abort = sent(pi)
    assert first == {"type": "extension_ui_response", "id": "u1", "cancelled": True}
    assert second == {"type": "extension_ui_response", "id": "u2", "cancelled": True}
    assert abort["type"] == "abort"
    assert read(pi, SELECT) == [], "and whatever is asked from then on"
    assert sent(pi) == [{"type": "extension_ui_response", "id": "u3", "cancelled": True}]


def test_a_question_is_answered_once() -> None:
    pi, events = requested(CONFIRM)
    for _ in range(2):
        pi.answer(interrupt_of(events).id, Answer("x", "resolved", {"approved": True}))
    assert len(sent(pi)) == 1


def test_a_question_that_the_agent_takes_back_is_not_answered() -> None:
    pi, events = requested(CONFIRM)
    assert read(pi, {"type": "extension_ui_request", "id": "9", "method": "cancel", "targetId": "u2"}) == []
    pi.answer(interrupt_of(events).id, Answer("x", "resolved", {"approved": True}))
    assert sent(pi) == []


def test_the_questions_of_a_turn_are_gone_with_it() -> None:
    pi, events = requested(CONFIRM)
    assert read(pi, {"type": "agent_settled", "aborted": False})[-1] == TurnEnded("end_turn")
    pi.answer(interrupt_of(events).id, Answer("x", "resolved", {"approved": True}))
    assert sent(pi) == []


def test_a_gate_that_names_no_known_call_asks_all_the_same() -> None:
    found = interrupt_of(requested({**GATE, "placeholder": '{"toolCallId":"c9","toolName":"write"}'})[1])
    assert (found.reason, found.tool_call_id, found.message) == ("confirmation", None, "Allow write?")
    assert interrupt_of(requested({**GATE, "placeholder": "{"})[1]).message == "Allow this tool?"


def test_what_is_done_to_a_screen_is_left_alone() -> None:
    pi = started()
    for method in ("setStatus", "setWidget", "setTitle", "set_editor_text"):
        assert read(pi, {"type": "extension_ui_request", "id": "1", "method": method}) == []


YES: tuple[Json, ...] = ({"confirmed": True}, {"value": "Approve"})


@steady
@given(st.sampled_from(DIALOGS), VALUES)
def test_no_answer_but_a_plain_yes_is_sent_as_one(request_: Json, payload: Any) -> None:
    plain = isinstance(payload, dict) and payload.get("approved") is True or payload == "Approve"
    expected = permissions.Dialog(request_).to_response(Answer("x", "resolved", payload))
    fields = {key: value for key, value in expected.items() if key not in ("type", "id")}
    assert plain or (fields not in YES and '"approved":true' not in str(fields.get("value")))
