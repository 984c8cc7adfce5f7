"""The demo over HTTP. Every stream that it gives passes AG-UI's own models and ordering rules before a test sees it."""

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
"""As `forwardedProps`: every delta is an event, however fast they come."""

CHANGE_BACKGROUND = {
    "name": "change_background",
    "description": "Colours the page.",
    "parameters": {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]},
}


def play(gateway: Gateway, text: str | list[dict[str, Any]], **fields: Any) -> list[Wire]:
    return followed(gateway.run("demo", text, **fields))


def followed(events: list[Wire]) -> list[Wire]:
    """The same events, if the official client takes each of them where it stands."""
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
    found: list[Wire] = outcome["interrupts"]
    return found


def of(events: list[Wire], *kinds: str) -> list[Wire]:
    return [event for event in events if event["type"] in kinds]


def calls(events: list[Wire]) -> dict[str, tuple[str, Any]]:
    """Tool call id → name and arguments."""
    return {
        start["toolCallId"]: (start["toolCallName"], json.loads(arguments(events, start["toolCallId"])))
        for start in of(events, "TOOL_CALL_START")
    }


def arguments(events: list[Wire], call: str) -> str:
    return "".join(event["delta"] for event in of(events, "TOOL_CALL_ARGS") if event["toolCallId"] == call)


def results(events: list[Wire]) -> dict[str, Any]:
    """Tool call id → content."""
    return {event["toolCallId"]: event["content"] for event in of(events, "TOOL_CALL_RESULT")}


def new_thread() -> str:
    return f"thread-{uuid4().hex}"
