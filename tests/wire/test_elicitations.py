"""MCP elicitations: a form becomes the schema of the answer, and only a clear yes accepts a URL."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from gateway.turn import Answer
from gateway.wire.elicitations import (
    CONSENT_SCHEMA,
    elicitation_interrupt,
    elicitation_metadata,
    elicitation_result,
)
from tests.agui.streams import VALUES, steady

FORM = {"mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "_meta": 1}}
URL = {"mode": "url", "message": "Sign in", "url": "https://example.org/?a=1"}


def resolved(payload: Any) -> Answer:
    return Answer("i", "resolved", payload)


def test_a_form_is_the_schema_of_the_answer() -> None:
    interrupt = elicitation_interrupt("i", FORM, "c", subagent="s", metadata={"codex": {"mode": "form"}})
    assert (interrupt.reason, interrupt.message, interrupt.tool_call_id, interrupt.subagent) == (
        "input_required",
        "Who?",
        "c",
        "s",
    )
    assert (interrupt.response_schema, interrupt.metadata) == ({"type": "object"}, {"codex": {"mode": "form"}})


def test_a_url_is_shown_whole() -> None:
    interrupt = elicitation_interrupt("i", URL)
    assert (interrupt.message, interrupt.metadata) == ("Sign in\nhttps://example.org/?a=1", {"url": URL["url"]})
    assert interrupt.response_schema == CONSENT_SCHEMA


def test_a_form_is_accepted_with_its_content() -> None:
    assert elicitation_result(FORM, resolved({"name": "A"})) == {"action": "accept", "content": {"name": "A"}}
    assert elicitation_result(FORM, Answer("i", "cancelled", {"name": "A"})) == {"action": "cancel"}


@pytest.mark.parametrize("payload", [None, False, 1, "yes", [], [True], {}, {"accepted": 1}, {"accepted": "true"}])
def test_a_url_is_accepted_only_by_a_clear_yes(payload: Any) -> None:
    assert elicitation_result(URL, resolved(payload)) == {"action": "decline"}
    assert elicitation_result(URL, resolved({"accepted": True})) == {"action": "accept"}
    assert elicitation_result(URL, resolved(True)) == {"action": "accept"}


@steady
@given(VALUES, VALUES)
def test_any_request_and_any_answer_is_read(params: Any, payload: Any) -> None:
    elicitation_interrupt("i", params)
    elicitation_metadata(params, "mode", "url")
    result = elicitation_result(params, resolved(payload))
    assert result["action"] == "decline" or isinstance(payload, dict)
