"""Runs of the demo over HTTP. Every stream is checked against AG-UI's models and ordering rules first."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from gateway.agui.chunks import Chunks
from gateway.agui.ordering import Order
from gateway.agui.validate import validate
from gateway.events import Wire
from tests.support.gateway import Gateway

UNMERGED = {"gateway": {"merge": False}}
"""`forwardedProps` with which every delta is an event of its own."""

CHANGE_BACKGROUND = {
    "name": "change_background",
    "description": "Colours the page.",
    "parameters": {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]},
}


def play(gateway: Gateway, text: str | list[dict[str, Any]], **fields: Any) -> list[Wire]:
    return check_order(gateway.run("demo", text, **fields))


def check_order(events: list[Wire]) -> list[Wire]:
    """Returns the events; fails if the official client would refuse one of them at its place."""
    chunks, order = Chunks(), Order()
    for event in events:
        assert validate(event) == event
        for expanded in chunks.feed(event):
            order.accept(expanded)
    assert order.phase in ("finished", "errored")
    assert not order.open_text_messages, "an error may leave it open, but a frontend would show it as still streaming"
    return events


def resume(gateway: Gateway, thread: str, *answers: dict[str, Any]) -> list[Wire]:
    return play(gateway, "the answer is in `resume`", threadId=thread, resume=list(answers))


def resolved(interrupt: Wire, **payload: Any) -> dict[str, Any]:
    return {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}


def cancelled(interrupt: Wire) -> dict[str, Any]:
    return {"interruptId": interrupt["id"], "status": "cancelled"}


def interrupts(events: list[Wire]) -> list[Wire]:
    outcome = events[-1]["outcome"]
    assert outcome["type"] == "interrupt"
    open_interrupts: list[Wire] = outcome["interrupts"]
    return open_interrupts


def of_type(events: list[Wire], *kinds: str) -> list[Wire]:
    return [event for event in events if event["type"] in kinds]


def tool_calls(events: list[Wire]) -> dict[str, tuple[str, Any]]:
    """Tool call id → name and arguments."""
    return {
        start["toolCallId"]: (start["toolCallName"], json.loads(call_arguments(events, start["toolCallId"])))
        for start in of_type(events, "TOOL_CALL_START")
    }


def call_arguments(events: list[Wire], call: str) -> str:
    return "".join(event["delta"] for event in of_type(events, "TOOL_CALL_ARGS") if event["toolCallId"] == call)


def tool_results(events: list[Wire]) -> dict[str, Any]:
    """Tool call id → content."""
    return {event["toolCallId"]: event["content"] for event in of_type(events, "TOOL_CALL_RESULT")}


def new_thread() -> str:
    return f"thread-{uuid4().hex}"
