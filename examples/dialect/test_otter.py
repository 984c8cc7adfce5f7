"""The tests of the example: a conversation line by line, and every value of every line replaced by other types."""

from __future__ import annotations

import json
from typing import Any

import pytest

from examples.dialect.otter import Otter
from gateway.events import (
    Event,
    InterruptRequested,
    TextMessageContent,
    ToolCallResult,
    ToolCallStart,
    TurnEnded,
    TurnFailed,
)
from gateway.turn import Answer, Approvals
from gateway.wire.dialects.base import Prompt, SessionStart

TOOL = {"type": "tool", "call": "c1", "name": "shell", "args": {"command": "ls"}}
PERMISSION = {"type": "permission", "request": "p1", "call": "c1", "title": "Run ls?", "choices": ["yes", "no"]}
RESULT = {"type": "tool_result", "call": "c1", "output": "fish", "failed": False}
LINES: list[dict[str, Any]] = [
    {"type": "thinking", "delta": "hm"},
    {"type": "text", "delta": "I look."},
    TOOL,
    PERMISSION,
    RESULT,
    {"type": "text", "delta": "Fish."},
    {"type": "end", "reason": "done"},
]
OTHER_VALUES: list[Any] = [None, True, 7, 1.5, "", "x", [], {}, [None], {"type": 7}]


def sent(otter: Otter) -> list[dict[str, Any]]:
    messages = [json.loads(message) for message in otter.outbox]
    otter.outbox.clear()
    return messages


def read(otter: Otter, *lines: Any) -> list[Event]:
    return otter.read([json.dumps(line).encode() for line in lines])


def opened(session_id: str | None = None) -> Otter:
    otter = Otter()
    otter.start_session(SessionStart("/workspace", session_id))
    [request] = sent(otter)
    assert not otter.is_ready
    read(otter, {"id": request["id"], "result": {"session": "s1", "model": "otter-2"}})
    return otter


def prompted(approvals: Approvals = "prompt") -> Otter:
    otter = opened()
    otter.prompt(Prompt([{"type": "text", "text": "hello"}], "t1", approvals=approvals))
    assert sent(otter) == [{"method": "prompt", "text": "hello"}]
    return otter


def test_a_session_is_opened_and_resumed() -> None:
    assert opened().is_ready and opened("s1").session_id == "s1"
    assert opened("s9").has_lost_history, "the agent opened another one"


def test_a_session_that_cannot_be_opened_fails_with_the_reason() -> None:
    otter = Otter()
    otter.start_session(SessionStart("/workspace"))
    read(otter, {"id": sent(otter)[0]["id"], "error": "the pond is frozen"})
    assert otter.failure is not None and "the pond is frozen" in otter.failure.detail


def test_a_turn_is_text_tools_and_an_end() -> None:
    events = read(prompted("auto"), *LINES)
    assert [event.text for event in events if isinstance(event, TextMessageContent)] == ["I look.", "Fish."]
    assert [event.name for event in events if isinstance(event, ToolCallStart)] == ["shell"]
    [result] = [event for event in events if isinstance(event, ToolCallResult)]
    assert (result.id, result.content, result.is_error) == ("t1:c1", "fish", False)
    assert events[-1] == TurnEnded("end_turn")


@pytest.mark.parametrize(
    ("payload", "choice"),
    [({"approved": True}, "yes"), ({"optionId": "no"}, "no"), ({"approved": "yes"}, "no"), (7, "no")],
)
def test_only_a_clear_yes_approves(payload: Any, choice: str) -> None:
    otter = prompted()
    requested = read(otter, TOOL, PERMISSION)[-1]
    assert isinstance(requested, InterruptRequested)
    [interrupt] = requested.interrupts
    assert (interrupt.tool_call_id, interrupt.message) == ("t1:c1", "Run ls?")
    otter.answer(interrupt.id, Answer(interrupt.id, "resolved", payload))
    assert sent(otter) == [{"method": "permit", "request": "p1", "choice": choice}]


def test_a_turn_that_fails_or_is_cancelled_ends_as_such() -> None:
    assert read(prompted(), {"type": "end", "error": "no fish"}) == [TurnFailed("no fish", "MODEL_ERROR")]
    otter = prompted()
    assert otter.cancel() and sent(otter) == [{"method": "stop"}]
    assert read(otter, {"type": "end", "reason": "stopped"}) == [TurnEnded("cancelled")]


def test_models_are_listed() -> None:
    otter = opened()
    action_id = otter.start_action("models")
    read(otter, {"id": sent(otter)[0]["id"], "result": [{"id": "otter-2", "name": "Otter 2"}]})
    assert otter.action_results[action_id].value == [{"id": "otter-2", "name": "Otter 2"}]


@pytest.mark.parametrize("value", OTHER_VALUES)
@pytest.mark.parametrize(("number", "key"), [(number, key) for number, line in enumerate(LINES) for key in line])
def test_no_value_makes_the_reader_raise(number: int, key: str, value: Any) -> None:
    lines = [dict(line) for line in LINES]
    lines[number][key] = value
    read(prompted(), *lines)
