"""AG-UI 1.0 events → what a client from before 1.0 takes: `@ag-ui/client` 0.0.59, which most front ends still ship.

In: a valid event with chunks already expanded. Out: the same object where nothing is in that client's way, else a copy
without what would fail its run; None for an event that it does not know. Reshapes, never invents. What is left out is
left out for older clients only: the log keeps the event whole.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.agui.validate import EVENT_TYPES
from gateway.events import Wire
from gateway.turn import text_of

_ROLES = frozenset(("developer", "system", "assistant", "user", "tool", "activity", "reasoning"))
_MEDIA = frozenset(("image", "audio", "video", "document"))
_SOURCES = frozenset(("data", "url"))


def reshape(event: Wire) -> Wire | None:
    """The event for a client that sent no `protocolVersion`."""
    shape = _SHAPES.get(event["type"])
    if shape is not None:
        return shape(event)
    return event if event["type"] in EVENT_TYPES else None


def _run_started(event: Wire) -> Wire:
    given = event.get("input")
    if given is None:
        return event
    messages = _messages(given["messages"])
    if messages is given["messages"] and "tools" in given and "context" in given:
        return event
    return {**event, "input": {"tools": [], "context": [], **given, "messages": messages}}


def _run_finished(event: Wire) -> Wire:
    """Of the outcomes only the interrupt stays. A success that is spelt out would say that no tool call is left to
    answer, and one that names the calls, like `cancelled`, is refused."""
    if "outcome" not in event or event["outcome"]["type"] == "interrupt":
        return event
    return {key: value for key, value in event.items() if key != "outcome"}


def _tool_result(event: Wire) -> Wire:
    return event if isinstance(event["content"], str) else {**event, "content": text_of(event["content"])}


def _messages_snapshot(event: Wire) -> Wire:
    messages = _messages(event["messages"])
    return event if messages is event["messages"] else {**event, "messages": messages}


def _messages(given: list[Wire]) -> list[Wire]:
    """The very list if nothing in it has to change."""
    shaped = [_message(message) for message in given if message["role"] in _ROLES]
    same = len(shaped) == len(given) and all(new is old for new, old in zip(shaped, given, strict=True))
    return given if same else shaped


def _message(message: Wire) -> Wire:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    if message["role"] == "tool":
        return {**message, "content": text_of(content)}
    parts = [part for part in content if _known(part)]
    return message if len(parts) == len(content) else {**message, "content": parts}


def _known(part: Wire) -> bool:
    return part["type"] == "text" or (part["type"] in _MEDIA and part["source"]["type"] in _SOURCES)


_SHAPES: dict[str, Callable[[Wire], Wire]] = {
    "RUN_STARTED": _run_started,
    "RUN_FINISHED": _run_finished,
    "TOOL_CALL_RESULT": _tool_result,
    "MESSAGES_SNAPSHOT": _messages_snapshot,
}
