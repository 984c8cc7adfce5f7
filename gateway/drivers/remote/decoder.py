"""The body of a remote run → AG-UI events, in either of the two formats.

In: bytes in chunks of any size. Out: events as they came: as JSON objects, or as the very lines they came in where the
gateway would write the same. What cannot be read is an `AgentFault`: a stream with a gap would be worse than one that
ends.

The fast path (`to_encoded_text`) finds lines that are, byte for byte, what the gateway itself would write; they need
not be parsed at all. Nearly all events of a run are such lines, and matching their bytes costs a quarter of parsing and
writing them. Nothing is guessed: a batch that does not match to the last byte is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import orjson

from gateway.encode.protobuf.decoder import FrameDecoder
from gateway.errors import AgentFault
from gateway.events import AguiEvent, EncodedText, Event, Wire
from gateway.wire.lines import TooLong
from gateway.wire.sse import Events

MAX_EVENT_BYTES = 64 * 1024 * 1024
PROTOBUF = "application/vnd.ag-ui.event+proto"
ACCEPT = {"protobuf": f"{PROTOBUF}, text/event-stream;q=0.9", "sse": "text/event-stream"}

MAX_FAST_PATH_BYTES = 1_000_000
"""Of a batch on the fast path: so none of its texts is long enough to be split."""

_PLAIN = rb'[^"\\\x00-\x1f]'
_LINE = rb'\{"type":"TEXT_MESSAGE_CONTENT","messageId":"%b++","delta":"(?!")%b*+(?:\\["\\bfnrt]%b*+)*+"\}\n'
_LINES = re.compile(rb"(?:%b)++" % (_LINE % (_PLAIN, _PLAIN, _PLAIN)))
"""Of escapes, those that all JSON writers use in the same way; a text is never empty."""
_HEAD = re.compile(rb'\{"type":"TEXT_MESSAGE_CONTENT","messageId":"([^"]+)","delta":"')


class Decoder(Protocol):
    @property
    def fault(self) -> AgentFault | None:
        """Why the bytes after the events so far cannot be read."""

    def feed(self, data: bytes) -> list[Event]:
        """The events that are complete now, up to a fault."""

    def eof(self) -> None:
        """Raises `AgentFault` if the stream ended inside an event."""


class SseDecoder:
    def __init__(self) -> None:
        self._events = Events(MAX_EVENT_BYTES)
        self.fault: AgentFault | None = None

    def feed(self, data: bytes) -> list[Event]:
        messages = self._events.feed(data)
        if (encoded := to_encoded_text(messages)) is not None:
            return [encoded]
        try:
            events = list(map(orjson.loads, messages))  # type: ignore[arg-type]  # the slow way names what is wrong
        except orjson.JSONDecodeError:
            return self._decode_until_fault(messages)
        if not set(map(type, events)) <= {dict}:
            return self._decode_until_fault(messages)
        return [AguiEvent(event) for event in events]

    def _decode_until_fault(self, messages: Sequence[bytes | TooLong]) -> list[Event]:
        events: list[Event] = []
        try:
            for message in messages:
                events.append(AguiEvent(_decode_event(message)))
        except AgentFault as fault:
            self.fault = fault
        return events

    def eof(self) -> None:
        return None


class ProtobufDecoder:
    def __init__(self) -> None:
        self._frames = FrameDecoder()
        self.fault: AgentFault | None = None

    def feed(self, data: bytes) -> list[Event]:
        events: list[Wire] = []
        try:
            events = self._frames.feed(data)
            self._frames.feed(b"")  # raises a fault that came after the events of the first call
        except AgentFault as fault:
            self.fault = fault
        return [AguiEvent(event) for event in events]

    def eof(self) -> None:
        self._frames.eof()


def decoder_for(content_type: str) -> Decoder:
    """Raises `AgentFault` for a body that is no event stream."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == PROTOBUF:
        return ProtobufDecoder()
    if kind == "text/event-stream":
        return SseDecoder()
    raise AgentFault(
        f"the agent answered with {kind or 'no content type'}, not with events", code="AGENT_PROTOCOL_ERROR"
    )


def to_encoded_text(messages: Sequence[object]) -> EncodedText | None:
    """The data of consecutive server-sent events, if all of it is plain text of one message; else None."""
    if not messages or set(map(type, messages)) != {bytes}:
        return None
    whole = b"%b\n" % b"\n".join(messages)  # type: ignore[arg-type]  # all are bytes, as was just checked
    head = _HEAD.match(whole)
    if head is None or len(whole) > MAX_FAST_PATH_BYTES or whole.count(head[0]) != len(messages):
        return None
    if whole.count(b"\n") != len(messages) or _LINES.fullmatch(whole) is None or not _is_utf8(whole):
        return None
    return EncodedText(head[1].decode(), list(messages))  # type: ignore[arg-type]


def _is_utf8(text: bytes) -> bool:
    """Line ends are ASCII, so if the whole is valid then every line is."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decode_event(message: bytes | TooLong) -> Wire:
    if isinstance(message, TooLong):
        raise AgentFault(f"the agent sent an event of more than {MAX_EVENT_BYTES} bytes", code="EVENT_TOO_LARGE")
    try:
        event = orjson.loads(message)
    except orjson.JSONDecodeError as exc:
        raise AgentFault(f"the agent sent an event that is not JSON: {exc}", code="AGENT_PROTOCOL_ERROR") from exc
    if not isinstance(event, dict):
        raise AgentFault("the agent sent an event that is no object", code="AGENT_PROTOCOL_ERROR")
    return event
