"""Permissions and forms: what the user is asked, and what the agent is answered."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from gateway.turn import Answer
from gateway.wire.acp.permissions import (
    decide_by_policy,
    elicitation_interrupt,
    elicitation_result,
    permission_interrupt,
    permission_result,
    selected_option_name,
)
from tests.agui.streams import VALUES, steady
from tests.wire.acp.replay import NAMES, entries

CANCELLED = {"outcome": {"outcome": "cancelled"}}


def options(*kinds: str) -> dict[str, Any]:
    made = [{"optionId": f"o{at}", "name": f"Option {at}", "kind": kind} for at, kind in enumerate(kinds)]
    return {"sessionId": "s", "toolCall": {"toolCallId": "c", "title": "Run ls"}, "options": made}


def selected(option_id: str) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": option_id}}


def resolved(payload: Any) -> Answer:
    return Answer("q", "resolved", payload)


def recorded(method: str) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for name in NAMES:
        for entry in entries(name):
            message = entry.get("msg")
            if entry.get("dir") == "in" and isinstance(message, dict) and message.get("method") == method:
                found.append((name, message["params"]))
    return found


PERMISSIONS = recorded("session/request_permission")


def test_every_recorded_permission_can_be_allowed_and_refused_by_policy() -> None:
    assert len(PERMISSIONS) == 147
    for _, params in PERMISSIONS:
        kinds = {option["optionId"]: option["kind"] for option in params["options"]}
        allowed, denied = decide_by_policy(params, "auto"), decide_by_policy(params, "deny")
        assert kinds[allowed["outcome"]["optionId"]] == "allow_once"
        assert kinds[denied["outcome"]["optionId"]] == "reject_once"


def test_every_recorded_permission_is_an_interrupt_whose_options_are_answers() -> None:
    for _, params in PERMISSIONS:
        interrupt = permission_interrupt("q", params, "t1:c")
        assert interrupt.message
        assert interrupt.response_schema is not None
        validator = Draft202012Validator(interrupt.response_schema)
        Draft202012Validator.check_schema(interrupt.response_schema)
        for option in params["options"]:
            validator.validate({"optionId": option["optionId"]})
            assert permission_result(params, resolved({"optionId": option["optionId"]})) == selected(option["optionId"])
        validator.validate({"approved": True})
        for wrong in ({}, {"optionId": "none of them"}, {"approved": "yes"}, {"approved": True, "editedArgs": {}}):
            assert not validator.is_valid(wrong)


def test_an_interrupt_names_its_call_and_its_options() -> None:
    interrupt = permission_interrupt("q", options("allow_once", "reject_once"), "t1:c", subagent="t1/1")
    assert (interrupt.reason, interrupt.tool_call_id, interrupt.message) == ("tool_call", "t1:c", "Run ls")
    assert interrupt.subagent == "t1/1"
    assert interrupt.response_schema is not None
    assert interrupt.response_schema["properties"]["optionId"]["oneOf"] == [
        {"const": "o0", "title": "Option 0"},
        {"const": "o1", "title": "Option 1"},
    ]
    assert interrupt.metadata == {
        "acp": {
            "options": [
                {"optionId": "o0", "name": "Option 0", "kind": "allow_once"},
                {"optionId": "o1", "name": "Option 1", "kind": "reject_once"},
            ],
            "subject": {"title": "Run ls"},
        }
    }


def test_version_2_asks_with_a_title_and_a_subject() -> None:
    call = {"toolCallId": "c", "title": "ls", "rawInput": {"command": "ls"}, "_meta": {"key": "sk"}}
    params = {
        "title": "Run command?",
        "description": "It lists files.",
        "subject": {"type": "tool_call", "toolCall": call},
        "options": options("allow_once")["options"],
    }
    interrupt = permission_interrupt("q", params, "t1:c")
    assert interrupt.message == "Run command?\nIt lists files.\nls"
    assert "sk" not in str(interrupt)


def test_an_interrupt_about_no_call_is_a_confirmation() -> None:
    params = {"title": "Run?", "subject": {"type": "command", "command": "ls", "cwd": "/w"}, "options": []}
    interrupt = permission_interrupt("q", params, None)
    assert (interrupt.reason, interrupt.message) == ("confirmation", "Run?\nls")
    assert (interrupt.metadata or {})["acp"]["subject"] == {"command": "ls", "cwd": "/w"}


def test_an_interrupt_without_options_is_a_plain_yes_or_no() -> None:
    schema = permission_interrupt("q", {}, None).response_schema
    assert schema is not None
    assert schema["required"] == ["approved"]


def test_what_is_too_large_to_show_again_is_left_to_the_call() -> None:
    params = options("allow_once")
    params["toolCall"]["rawInput"] = {"content": "x" * 300_000}
    interrupt = permission_interrupt("q", params, "t1:c")
    assert (interrupt.metadata or {})["acp"]["subject"]["rawInput"] == {"tooLarge": True}


@pytest.mark.parametrize(
    ("kinds", "yes", "no"),
    [
        (["allow_once", "allow_always", "reject_once"], "o0", "o2"),
        (["allow_always", "allow_once", "reject_once"], "o1", "o2"),
        (["allow_once", "allow_once", "reject_once"], "o0", "o2"),
        (["allow_always", "reject_once"], "o0", "o1"),
        (["allow_always", "allow_always", "reject_always"], None, None),
        (["reject_once"], None, "o0"),
        (["_own"], None, None),
        ([], None, None),
    ],
)
def test_a_yes_or_a_no_is_the_option_of_that_kind(kinds: list[str], yes: str | None, no: str | None) -> None:
    params = options(*kinds)
    expected = [CANCELLED if option is None else selected(option) for option in (yes, no)]
    assert [permission_result(params, resolved({"approved": approved})) for approved in (True, False)] == expected
    assert [decide_by_policy(params, "auto"), decide_by_policy(params, "deny")] == expected


@pytest.mark.parametrize("payload", [None, {}, {"approved": "yes"}, {"approved": 1}, {"optionId": "o9"}, "o0", [1]])
def test_what_is_not_clearly_a_yes_is_none(payload: Any) -> None:
    assert permission_result(options("allow_once"), resolved(payload)) == CANCELLED


def test_an_abandoned_interrupt_is_cancelled() -> None:
    assert permission_result(options("allow_once"), Answer("q", "cancelled")) == CANCELLED


def test_an_outcome_has_the_name_of_its_option() -> None:
    params = options("allow_once")
    assert selected_option_name(params, selected("o0")) == "Option 0"
    assert selected_option_name(params, CANCELLED) == "cancelled"


def test_a_recorded_form_is_an_interrupt_with_its_schema() -> None:
    ((_, params),) = recorded("elicitation/create")
    interrupt = elicitation_interrupt("q", params, "t1:c")
    assert (interrupt.reason, interrupt.message, interrupt.tool_call_id) == ("input_required", "Which color?", "t1:c")
    assert interrupt.response_schema == params["requestedSchema"]
    answer = {"question_0": "Red"}
    assert elicitation_result(params, resolved(answer)) == {"action": "accept", "content": answer}


def test_a_url_is_shown_whole() -> None:
    params = {"mode": "url", "message": "Sign in", "url": "https://e.x/in?a=b", "elicitationId": "e1"}
    interrupt = elicitation_interrupt("q", params)
    assert interrupt.message == "Sign in\nhttps://e.x/in?a=b"
    assert interrupt.metadata == {
        "acp": {"mode": "url", "url": "https://e.x/in?a=b", "elicitationId": "e1"},
        "url": "https://e.x/in?a=b",
    }
    assert elicitation_result(params, resolved({"accepted": True})) == {"action": "accept"}
    assert elicitation_result(params, resolved({"accepted": False})) == {"action": "decline"}


def test_a_form_may_be_declined_or_abandoned() -> None:
    params = {"mode": "form", "message": "Which?", "requestedSchema": {"type": "object"}}
    assert elicitation_result(params, resolved(None)) == {"action": "decline"}
    assert elicitation_result(params, Answer("q", "cancelled")) == {"action": "cancel"}


@steady
@given(VALUES, VALUES)
def test_any_request_and_any_answer_is_read(params: Any, payload: Any) -> None:
    permission_interrupt("q", params, None)
    elicitation_interrupt("q", params)
    assert permission_result(params, resolved(payload)) == CANCELLED
    elicitation_result(params, resolved(payload))
