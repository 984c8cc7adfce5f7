"""The body of a remote run → AG-UI events, in whichever of the two formats it comes.

In: bytes in any cut. Out: events, untouched: as JSON objects, or as the lines they came as where that is what the
gateway would write itself. What is not readable is an `AgentFault`: a stream with a hole in it would be worse than one
that ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import orjson

from gateway.drivers.remote.fast_path import written
from gateway.encode.protobuf.decoder import FrameDecoder
from gateway.errors import AgentFault
from gateway.events import AguiEvent, Event, Wire
from gateway.wire.lines import TooLong
from gateway.wire.sse import Events

LIMIT = 64 * 1024 * 1024
"""Of one event."""
PROTOBUF = "application/vnd.ag-ui.event+proto"
ACCEPT = {"protobuf": f"{PROTOBUF}, text/event-stream;q=0.9", "sse": "text/event-stream"}


class Reader(Protocol):
    @property
    def fault(self) -> AgentFault | None:
        """What came after the events that were given is not readable."""

    def feed(self, data: bytes) -> list[Event]:
        """The events that are complete now, up to a fault."""

    def eof(self) -> None:
        """Raises `AgentFault` if the stream ended inside an event."""


class SseReader:
    def __init__(self) -> None:
        self._events = Events(LIMIT)
        self.fault: AgentFault | None = None

    def feed(self, data: bytes) -> list[Event]:
        messages = self._events.feed(data)
        if (passing := written(messages)) is not None:
            return [passing]
        try:
            events = list(map(orjson.loads, messages))  # type: ignore[arg-type]  # the long way says what is wrong
        except orjson.JSONDecodeError:
            return self._up_to_the_fault(messages)
        if not set(map(type, events)) <= {dict}:
            return self._up_to_the_fault(messages)
        return [AguiEvent(event) for event in events]

    def _up_to_the_fault(self, messages: Sequence[bytes | TooLong]) -> list[Event]:
        events: list[Event] = []
        try:
            for message in messages:
                events.append(AguiEvent(_event(message)))
        except AgentFault as fault:
            self.fault = fault
        return events

    def eof(self) -> None:
        return None


class ProtobufReader:
    def __init__(self) -> None:
        self._frames = FrameDecoder()
        self.fault: AgentFault | None = None

    def feed(self, data: bytes) -> list[Event]:
        found: list[Wire] = []
        try:
            found = self._frames.feed(data)
            self._frames.feed(b"")  # a fault waits there until all before it was taken
        except AgentFault as fault:
            self.fault = fault
        return [AguiEvent(event) for event in found]

    def eof(self) -> None:
        self._frames.eof()


def _event(message: bytes | TooLong) -> Wire:
    if isinstance(message, TooLong):
        raise AgentFault(f"the agent sent an event of more than {LIMIT} bytes", code="EVENT_TOO_LARGE")
    try:
        event = orjson.loads(message)
    except orjson.JSONDecodeError as exc:
        raise AgentFault(f"the agent sent an event that is not JSON: {exc}", code="AGENT_PROTOCOL_ERROR") from exc
    if not isinstance(event, dict):
        raise AgentFault("the agent sent an event that is no object", code="AGENT_PROTOCOL_ERROR")
    return event


def reader_for(content_type: str) -> Reader:
    kind = content_type.partition(";")[0].strip().lower()
    if kind == PROTOBUF:
        return ProtobufReader()
    if kind == "text/event-stream":
        return SseReader()
    raise AgentFault(
        f"the agent answered with {kind or 'no content type'}, not with events", code="AGENT_PROTOCOL_ERROR"
    )
