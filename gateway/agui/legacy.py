"""AG-UI 1.0 events for clients from before 1.0: `@ag-ui/client` 0.0.59, which most front ends still ship.

In: a valid event with chunks already expanded. Out: the same object if that client accepts it; else a copy without the
parts over which it would fail the run; None for an event that it does not know. Never: new content. The run's log keeps
the whole event.
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
    reshape_event = _RESHAPERS.get(event["type"])
    if reshape_event is not None:
        return reshape_event(event)
    return event if event["type"] in EVENT_TYPES else None


def _reshape_run_started(event: Wire) -> Wire:
    run_input = event.get("input")
    if run_input is None:
        return event
    messages = _reshape_messages(run_input["messages"])
    if messages is run_input["messages"] and "tools" in run_input and "context" in run_input:
        return event
    return {**event, "input": {"tools": [], "context": [], **run_input, "messages": messages}}


def _reshape_run_finished(event: Wire) -> Wire:
    """Only an interrupt outcome stays. To the older client an explicit success means that no tool call is pending, and
    it refuses a success that names pending calls, and `cancelled`."""
    if "outcome" not in event or event["outcome"]["type"] == "interrupt":
        return event
    return {key: value for key, value in event.items() if key != "outcome"}


def _reshape_tool_result(event: Wire) -> Wire:
    return event if isinstance(event["content"], str) else {**event, "content": text_of(event["content"])}


def _reshape_messages_snapshot(event: Wire) -> Wire:
    messages = _reshape_messages(event["messages"])
    return event if messages is event["messages"] else {**event, "messages": messages}


def _reshape_messages(messages: list[Wire]) -> list[Wire]:
    """The same list if nothing in it has to change."""
    reshaped = [_reshape_message(message) for message in messages if message["role"] in _ROLES]
    is_same = len(reshaped) == len(messages) and all(new is old for new, old in zip(reshaped, messages, strict=True))
    return messages if is_same else reshaped


def _reshape_message(message: Wire) -> Wire:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    if message["role"] == "tool":
        return {**message, "content": text_of(content)}
    parts = [part for part in content if _is_known(part)]
    return message if len(parts) == len(content) else {**message, "content": parts}


def _is_known(part: Wire) -> bool:
    return part["type"] == "text" or (part["type"] in _MEDIA and part["source"]["type"] in _SOURCES)


_RESHAPERS: dict[str, Callable[[Wire], Wire]] = {
    "RUN_STARTED": _reshape_run_started,
    "RUN_FINISHED": _reshape_run_finished,
    "TOOL_CALL_RESULT": _reshape_tool_result,
    "MESSAGES_SNAPSHOT": _reshape_messages_snapshot,
}
