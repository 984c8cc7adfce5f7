from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from gateway.agui.legacy import reshape
from gateway.events import Wire
from tests.agui.streams import EVENTS, WHOLE, events, steady

FINISH: Wire = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": 1, "usage": [{"inputTokens": 1}]}
START: Wire = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}

TEXT = {"type": "text", "text": "one"}
IMAGE = {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}}
FILE = {"type": "document", "source": {"type": "file", "value": "f"}}
PARTS = [TEXT, IMAGE, {"type": "text", "text": "two"}, FILE]


@pytest.mark.parametrize(
    "outcome",
    [{"type": "cancelled"}, {"type": "success"}, {"type": "success", "pendingToolCallIds": ["c"]}, {"type": "newer"}],
    ids=str,
)
def test_an_outcome_that_is_no_question_is_left_out(outcome: Wire) -> None:
    assert reshape({**FINISH, "outcome": outcome}) == FINISH


def test_a_question_stays() -> None:
    event = {**FINISH, "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "r"}]}}
    assert reshape(event) is event


def test_a_tools_parts_become_their_text() -> None:
    event = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": PARTS, "role": "tool"}
    assert reshape(event) == {**event, "content": "one\ntwo"}
    assert reshape({**event, "content": []}) == {**event, "content": ""}


def test_messages_lose_what_would_be_refused() -> None:
    tool = {"id": "t", "role": "tool", "toolCallId": "c", "content": PARTS}
    user = {"id": "u", "role": "user", "content": PARTS}
    plain = {"id": "a", "role": "assistant", "content": "x"}
    event = {"type": "MESSAGES_SNAPSHOT", "messages": [tool, user, plain, {"id": "w", "role": "wizard"}]}
    assert reshape(event) == {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [{**tool, "content": "one\ntwo"}, {**user, "content": PARTS[:3]}, plain],
    }


def test_a_part_of_an_unknown_kind_goes_like_one_of_an_unknown_source() -> None:
    user = {"id": "u", "role": "user", "content": [{"type": "hologram"}, TEXT]}
    shaped = reshape({"type": "MESSAGES_SNAPSHOT", "messages": [user]})
    assert shaped is not None
    assert shaped["messages"][0]["content"] == [TEXT]


def test_an_input_has_tools_and_context_even_if_there_are_none() -> None:
    run_input = {"threadId": "t", "runId": "r", "messages": []}
    shaped = reshape({**START, "input": run_input})
    assert shaped == {**START, "input": {**run_input, "tools": [], "context": []}}


def test_an_inputs_own_tools_and_messages_are_kept() -> None:
    tools = [{"name": "t", "description": ""}]
    user = {"id": "u", "role": "user", "content": [FILE, TEXT]}
    shaped = reshape({**START, "input": {"threadId": "t", "runId": "r", "messages": [user], "tools": tools}})
    assert shaped is not None
    assert (shaped["input"]["tools"], shaped["input"]["messages"]) == (tools, [{**user, "content": [TEXT]}])


def test_an_event_that_the_client_does_not_know_is_not_sent() -> None:
    assert reshape({"type": "FUTURE_EVENT"}) is None


@pytest.mark.parametrize("case", EVENTS, ids=lambda case: str(case["name"]))
def test_most_events_go_on_as_the_same_object(case: dict[str, Any]) -> None:
    event = case["event"]
    changes = {"RUN_STARTED", "RUN_FINISHED", "TOOL_CALL_RESULT", "MESSAGES_SNAPSHOT"}
    if event["type"] not in changes:
        assert reshape(event) is event


def refused(event: Wire) -> list[str]:
    """What the older client's schemas would say: one line each, from the table of what they refuse."""
    run_input = event.get("input") or {}
    messages = [*event.get("messages", ()), *run_input.get("messages", ())]
    parts = [part for message in messages if isinstance(message.get("content"), list) for part in message["content"]]
    outcome = event.get("outcome") or {}
    found = {
        "cancelled": outcome.get("type") == "cancelled",
        "pending calls": "pendingToolCallIds" in outcome,
        "parts of a result": event["type"] == "TOOL_CALL_RESULT" and not isinstance(event["content"], str),
        "parts of a tool": any(m["role"] == "tool" and not isinstance(m["content"], str) for m in messages),
        "a file": any(part.get("source", {}).get("type") == "file" for part in parts),
        "an input without tools": "input" in event and not {"tools", "context"} <= event["input"].keys(),
    }
    return [name for name, there in found.items() if there]


@steady
@given(events(*WHOLE))
def test_whatever_would_be_refused_is_changed_and_nothing_else_is(event: Wire) -> None:
    before = copy.deepcopy(event)
    shaped = reshape(event)
    assert event == before
    assert shaped is not None
    assert refused(shaped) == []
    assert reshape(shaped) is shaped, "once is enough"
    if refused(event):
        assert shaped != event
    elif (event.get("outcome") or {}).get("type") != "success":
        assert shaped is event
