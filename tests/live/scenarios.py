"""Conversations of every kind that a coding agent can have with the scripted model, and what must be seen of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gateway.agui.chunks import Chunks
from gateway.agui.ordering import Order
from tests.clients.node import Step

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


def yes(approved: bool) -> dict[str, Any]:
    return {"status": "resolved", "payload": {"approved": approved}}


TALKS: dict[str, list[dict[str, Any]]] = {
    "two turns": [{"say": "hello"}, {"say": "and again"}],
    "reasoning": [{"say": "THINK about it"}],
    "allowed": [{"say": "SHELL touch allowed.txt"}, {"answers": [yes(True)]}],
    "refused": [{"say": "SHELL touch refused.txt"}, {"answers": [yes(False)]}],
    "cancelled": [{"say": "SLOW 200", "abortAfter": 3}, {"say": "hello again"}],
    "failed": [{"say": "ERROR 400"}],
}


def two_turns(steps: list[Step]) -> None:
    assert steps[0].said.startswith("You said: hello")
    assert "and again" in steps[1].said
    assert not any(step.complaints for step in steps)


def reasoning(steps: list[Step]) -> None:
    thought = "".join(event["delta"] for event in steps[0].of("REASONING_MESSAGE_CONTENT"))
    assert "consider" in thought
    assert "THINK" in steps[0].said


def allowed(steps: list[Step]) -> None:
    asked, answered = steps
    [interrupt] = asked.events[-1]["outcome"]["interrupts"]
    assert interrupt["reason"] == "tool_call"
    assert interrupt["toolCallId"] == asked.of("TOOL_CALL_START")[0]["toolCallId"]
    assert answered.of("TOOL_CALL_RESULT")[0]["toolCallId"] == interrupt["toolCallId"]
    assert "done: " in answered.said
    assert answered.events[-1]["type"] == "RUN_FINISHED"
    assert not answered.interrupts


def refused(steps: list[Step]) -> None:
    asked, answered = steps
    assert asked.events[-1]["outcome"]["type"] == "interrupt"
    assert answered.of("TOOL_CALL_RESULT"), "a refused call gets a result that says so"
    assert answered.events[-1]["type"] == "RUN_FINISHED"


def cancelled(steps: list[Step]) -> None:
    assert "w0" in "".join(event["delta"] for event in steps[0].of("TEXT_MESSAGE_CONTENT"))
    assert "hello again" in steps[1].said, "the session takes the next turn"


def failed(steps: list[Step]) -> None:
    [step] = steps
    words = json.dumps(step.events[-1]) + "".join(event["delta"] for event in step.of("TEXT_MESSAGE_CONTENT"))
    assert "the script wants status 400" in words, "the model's own words reach the user"


CHECKS: dict[str, Callable[[list[Step]], None]] = {
    "two turns": two_turns,
    "reasoning": reasoning,
    "allowed": allowed,
    "refused": refused,
    "cancelled": cancelled,
    "failed": failed,
}


def in_order(events: list[dict[str, Any]]) -> None:
    """An aborted run ends with an event that the client itself made."""
    order, chunks = Order(), Chunks()
    for event in events:
        for expanded in chunks.feed(event):
            order.accept(expanded)
