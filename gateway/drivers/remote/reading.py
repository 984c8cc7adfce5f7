"""The body of a remote run → AG-UI events, in whichever of the two formats it comes.

In: bytes in any cut. Out: events as JSON objects, untouched. What is not readable is an `AgentFault`: a stream with a
hole in it would be worse than one that ends.
"""

from __future__ import annotations

from typing import Protocol

import orjson

from gateway.encode.protobuf_reader import Frames
from gateway.errors import AgentFault
from gateway.events import Wire
from gateway.wire.lines import TooLong
from gateway.wire.sse import Events

LIMIT = 64 * 1024 * 1024
"""Of one event."""
PROTOBUF = "application/vnd.ag-ui.event+proto"
ACCEPT = {"protobuf": f"{PROTOBUF}, text/event-stream;q=0.9", "sse": "text/event-stream"}


class Reader(Protocol):
    def feed(self, data: bytes) -> list[Wire]: ...

    def eof(self) -> None:
        """Raises `AgentFault` if the stream ended inside an event."""


class SseReader:
    def __init__(self) -> None:
        self._events = Events(LIMIT)

    def feed(self, data: bytes) -> list[Wire]:
        messages = self._events.feed(data)
        try:
            events = list(map(orjson.loads, messages))  # type: ignore[arg-type]  # the long way says what is wrong
        except orjson.JSONDecodeError:
            return [_event(message) for message in messages]
        return events if set(map(type, events)) <= {dict} else [_event(message) for message in messages]

    def eof(self) -> None:
        return None


def _event(message: bytes | TooLong) -> Wire:
    if isinstance(message, TooLong):
        raise AgentFault(f"the agent sent an event of more than {LIMIT} bytes", code="EVENT_TOO_LARGE")
    try:
        event = orjson.loads(message)
    except orjson.JSONDecodeError as exc:
        raise AgentFault(f"the agent sent an event that is not JSON: {exc}", code="AGENT_NONSENSE") from exc
    if not isinstance(event, dict):
        raise AgentFault("the agent sent an event that is no object", code="AGENT_NONSENSE")
    return event


def reader_for(content_type: str) -> Reader:
    kind = content_type.partition(";")[0].strip().lower()
    if kind == PROTOBUF:
        return Frames()
    if kind == "text/event-stream":
        return SseReader()
    raise AgentFault(f"the agent answered with {kind or 'no content type'}, not with events", code="AGENT_NONSENSE")
