"""An approval that smuggles in a parameter which the user was not shown.

Attack: the agent asks for one command; the answer approves of it and adds an argument that the call did not have, such
as Claude Code's `dangerouslyDisableSandbox`. Promise: an edit may change or drop the call's own arguments and nothing
else; an answer that adds one does not fit the interrupt's schema, and approves of nothing, with every agent.
"""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gateway.turn import Answer
from gateway.wire.approvals import Approval
from gateway.wire.dialects.claude.permissions import PermissionRequest, to_interrupt, to_response
from gateway.wire.dialects.pi.permissions import Dialog

CALL = {"command": "ls", "description": "List files"}
SMUGGLED = {**CALL, "dangerouslyDisableSandbox": True}
EDITS: list[tuple[dict[str, Any], bool]] = [
    (CALL, True),
    ({"command": "ls -l"}, True),
    ({}, True),
    (SMUGGLED, False),
    ({"dangerouslyDisableSandbox": True}, False),
    ({"command": "ls", "run_in_background": True}, False),
    ({"Command": "ls"}, False),
    ({"": 1}, False),
]


def answer(edited: Any) -> Answer:
    return Answer("i", "resolved", {"approved": True, "editedArgs": edited})


@pytest.mark.parametrize(("edited", "is_allowed"), EDITS)
def test_claude_gets_only_arguments_that_the_call_had(edited: dict[str, Any], is_allowed: bool) -> None:
    request = PermissionRequest("r", {"subtype": "can_use_tool", "tool_name": "Bash", "input": CALL})
    schema = to_interrupt(request, "i", "call", None).response_schema or {}
    assert Draft202012Validator(schema).is_valid(answer(edited).payload) == is_allowed
    response = to_response(request, answer(edited))
    assert (response["behavior"] == "allow") == is_allowed
    assert "dangerouslyDisableSandbox" not in str(response)


@pytest.mark.parametrize(("edited", "is_allowed"), EDITS)
def test_pi_gets_only_arguments_that_the_call_had(edited: dict[str, Any], is_allowed: bool) -> None:
    call = '{"toolCallId":"c","toolName":"bash","argumentNames":["command","description"]}'
    dialog = Dialog({"id": "d", "method": "input", "title": "agui-gateway:tool_call", "placeholder": call})
    assert dialog.decide(answer(edited)).is_allowed == is_allowed
    assert ('"approved":true' in str(dialog.to_response(answer(edited)))) == is_allowed


def test_the_rule_is_the_same_for_every_dialect() -> None:
    approval = Approval(edits={"type": "object"}, editable=frozenset(CALL))
    assert approval.decide(answer({"command": "rm"})).edited_args == {"command": "rm"}
    assert approval.decide(answer(SMUGGLED)).is_rejected
    assert Approval(edits={"type": "object"}, editable=frozenset()).decide(answer({"a": 1})).is_rejected
