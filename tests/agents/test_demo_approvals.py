"""The demo's scenes that wait for the client: for an answer, or for the result of a client tool."""

from __future__ import annotations

from typing import Any

import pytest

from agents.demo.approvals import APPROVAL, BOOKING
from agents.demo.client_tools import arguments_for
from gateway.events import Wire
from tests.agents.demo_runs import (
    CHANGE_BACKGROUND,
    call_arguments,
    cancelled,
    interrupts,
    new_thread,
    of_type,
    play,
    resolved,
    resume,
    tool_calls,
    tool_results,
)
from tests.support.gateway import Gateway, text_of, types_of

REFUSED = "notes.txt stays: you refused."


def test_an_approval_asks_about_a_call_that_has_no_result_yet(gateway: Gateway) -> None:
    events = play(gateway, "approve")
    ((call, name_and_arguments),) = tool_calls(events).items()
    (interrupt,) = interrupts(events)
    assert name_and_arguments == ("delete_file", {"path": "notes.txt"})
    assert (interrupt["reason"], interrupt["toolCallId"]) == ("tool_call", call)
    assert interrupt["message"] == "May I delete notes.txt? You may also name another file."
    assert interrupt["responseSchema"] == APPROVAL
    assert not tool_results(events)


@pytest.mark.parametrize(
    ("payload", "outcome"),
    [
        ({"approved": True}, "notes.txt is deleted (not really: this is a demo)."),
        ({"approved": True, "editedArgs": {"path": "old.txt"}}, "old.txt is deleted (not really: this is a demo)."),
        ({"approved": False}, REFUSED),
        ({"approved": False, "editedArgs": {"path": "old.txt"}}, REFUSED),
    ],
    ids=str,
)
def test_the_answer_to_an_approval_decides_the_calls_result(
    gateway: Gateway, payload: dict[str, Any], outcome: str
) -> None:
    thread = new_thread()
    (interrupt,) = interrupts(play(gateway, "delete it", threadId=thread))
    events = resume(gateway, thread, resolved(interrupt, **payload))
    assert tool_results(events) == {interrupt["toolCallId"]: outcome}
    assert outcome in text_of(events)
    assert not of_type(events, "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"), "the call was sent before"
    assert "outcome" not in events[-1]


def test_an_approval_that_is_cancelled_has_a_result_that_reports_it(gateway: Gateway) -> None:
    thread = new_thread()
    (interrupt,) = interrupts(play(gateway, "approve", threadId=thread))
    events = resume(gateway, thread, cancelled(interrupt))
    assert tool_results(events) == {interrupt["toolCallId"]: "notes.txt stays: the question was cancelled."}
    assert types_of(events)[-1] == "RUN_FINISHED"


def test_two_approvals_wait_together_and_are_decided_each_on_its_own(gateway: Gateway) -> None:
    thread = new_thread()
    events = play(gateway, "two approvals", threadId=thread)
    first, second = interrupts(events)
    assert list(tool_calls(events).values()) == [
        ("delete_file", {"path": "notes.txt"}),
        ("delete_file", {"path": "draft.txt"}),
    ]
    assert [first["toolCallId"], second["toolCallId"]] == list(tool_calls(events))
    # Answered in the other order: it is the id that counts.
    events = resume(gateway, thread, resolved(second, approved=True), resolved(first, approved=False))
    assert tool_results(events) == {
        first["toolCallId"]: REFUSED,
        second["toolCallId"]: "draft.txt is deleted (not really: this is a demo).",
    }


def test_one_of_two_approvals_may_be_cancelled(gateway: Gateway) -> None:
    thread = new_thread()
    first, second = interrupts(play(gateway, "two approvals", threadId=thread))
    answer = text_of(resume(gateway, thread, cancelled(first), resolved(second, approved=False)))
    assert "notes.txt stays: the question was cancelled." in answer
    assert "draft.txt stays: you refused." in answer


def test_half_an_answer_fails_and_the_whole_one_is_still_taken(gateway: Gateway) -> None:
    thread = new_thread()
    first, second = interrupts(play(gateway, "two approvals", threadId=thread))
    assert resume(gateway, thread, resolved(first, approved=True))[-1]["code"] == "RESUME_INCOMPLETE"
    events = resume(gateway, thread, resolved(first, approved=True), resolved(second, approved=True))
    assert set(tool_results(events)) == {first["toolCallId"], second["toolCallId"]}


def test_a_thread_can_ask_the_same_thing_twice(gateway: Gateway) -> None:
    thread = new_thread()
    (first,) = interrupts(play(gateway, "approve", threadId=thread))
    resume(gateway, thread, resolved(first, approved=False))
    (second,) = interrupts(play(gateway, "approve", threadId=thread))
    assert first["id"] != second["id"]
    assert tool_results(resume(gateway, thread, resolved(second, approved=False))) == {second["toolCallId"]: REFUSED}


@pytest.mark.parametrize(
    ("guest", "answer"),
    [
        ({"name": "Ada", "seats": 2}, "A table for 2 in the name of Ada."),
        ({"name": "Ada", "seats": 2.0, "email": ""}, "A table for 2 in the name of Ada."),
        (
            {"name": "Bo", "seats": 7, "email": "bo@example.org"},
            "A table for 7 in the name of Bo, and I would write to bo@example.org.",
        ),
    ],
    ids=str,
)
def test_a_form_repeats_what_was_filled_in(gateway: Gateway, guest: dict[str, Any], answer: str) -> None:
    thread = new_thread()
    (interrupt,) = interrupts(play(gateway, "form", threadId=thread))
    assert (interrupt["reason"], interrupt["responseSchema"]) == ("input_required", BOOKING)
    assert text_of(resume(gateway, thread, resolved(interrupt, **guest))) == answer


def test_a_form_filled_in_wrongly_fails_and_may_be_sent_again(gateway: Gateway) -> None:
    thread = new_thread()
    (interrupt,) = interrupts(play(gateway, "form", threadId=thread))
    assert resume(gateway, thread, resolved(interrupt, name="Ada", seats=0))[-1]["code"] == "RESUME_INVALID"
    assert "Ada" in text_of(resume(gateway, thread, resolved(interrupt, name="Ada", seats=1)))


def test_a_form_may_be_cancelled(gateway: Gateway) -> None:
    thread = new_thread()
    (interrupt,) = interrupts(play(gateway, "form", threadId=thread))
    assert "cancelled" in text_of(resume(gateway, thread, cancelled(interrupt)))


# -- client tools


def test_a_client_tool_is_called_and_stays_pending(gateway: Gateway) -> None:
    other = {"name": "play_sound", "description": "", "parameters": {"type": "object"}}
    events = play(gateway, "frontend", tools=[other, CHANGE_BACKGROUND])
    ((call, name_and_arguments),) = tool_calls(events).items()
    assert name_and_arguments == ("change_background", {"color": "teal"})
    assert events[-1]["outcome"] == {"type": "success", "pendingToolCallIds": [call]}
    assert not tool_results(events)


def test_the_result_of_a_client_tool_is_repeated_in_the_next_run(gateway: Gateway) -> None:
    thread = new_thread()
    events = play(gateway, "color", threadId=thread, tools=[CHANGE_BACKGROUND])
    (call,) = tool_calls(events)
    function = {"name": "change_background", "arguments": call_arguments(events, call)}
    messages: list[Wire] = [
        {"id": "1", "role": "user", "content": "color"},
        {"id": "2", "role": "assistant", "toolCalls": [{"id": call, "type": "function", "function": function}]},
        {"id": "3", "role": "tool", "toolCallId": call, "content": "It is teal now."},
    ]
    events = play(gateway, "", threadId=thread, tools=[CHANGE_BACKGROUND], messages=messages)
    assert text_of(events) == "`change_background` answered: It is teal now."
    assert not tool_calls(events)


def test_a_page_without_tools_gets_an_explanation(gateway: Gateway) -> None:
    events = play(gateway, "frontend")
    assert "no tools" in text_of(events)
    assert not tool_calls(events)


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        (None, {}),
        (True, {}),
        ({"type": "string"}, {}),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {}),
        ({"properties": {"a": {"type": "string"}}, "required": ["a", "b"]}, {"a": "demo", "b": "demo"}),
        ({"type": "object", "properties": {"textColor": {"type": "string"}}, "required": ["textColor"]}, "teal"),
        ({"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}, "required": ["a"]}, 3),
        ({"type": "object", "properties": {"a": {"type": ["number", "null"]}}, "required": ["a"]}, 0),
        ({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}, True),
        ({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}, None),
        ({"type": "object", "properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"]}, "x"),
        ({"type": "object", "properties": {"a": {"const": 7}}, "required": ["a"]}, 7),
        ({"type": "object", "properties": {"a": {"type": "string", "default": "d"}}, "required": ["a"]}, "d"),
        ({"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}]}}, "required": ["a"]}, None),
        ({"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]}, []),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "array", "minItems": 9, "items": {"type": "object", "required": ["b"]}}},
                "required": ["a"],
            },
            [{"b": "demo"}],
        ),
    ],
    ids=str,
)
def test_arguments_are_the_smallest_that_a_tools_schema_accepts(parameters: Any, arguments: Any) -> None:
    chosen = arguments_for({"name": "any", "description": "", "parameters": parameters})
    assert chosen == arguments if isinstance(arguments, dict) else list(chosen.values()) == [arguments]


@pytest.mark.parametrize("parameters", [{}, {"type": "object", "properties": {"color": {"type": "string"}}}])
def test_a_background_is_made_teal_even_where_the_schema_asks_for_nothing(parameters: dict[str, Any]) -> None:
    assert arguments_for({**CHANGE_BACKGROUND, "parameters": parameters}) == {"color": "teal"}
