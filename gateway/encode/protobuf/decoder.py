"""Protobuf frames back to AG-UI events, by the official decoder's rules.

In: bytes as they come from a remote agent, cut anywhere. Out: events as JSON objects. What is not a frame or not an
event raises `AgentFault`; an event or a content part newer than ours is left out, as AG-UI's client does.

Not given back, by the format's nature: empty `usage`, `toolCalls`, `pendingToolCallIds` and `interruptIds`; `tools`,
`context` and `resume` of `RUN_STARTED.input` come as `[]` when they were absent; fields AG-UI does not describe; digits
of integers beyond 2⁵³; halves of surrogate pairs. By the protobuf library's: the order of an object's keys, and values
nested deeper than about 30 objects or 48 lists, which it refuses to parse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from gateway.encode.protobuf.encoder import DELTA_IDS, frame
from gateway.encode.protobuf.pb import ag_ui_pb2
from gateway.encode.protobuf.shapes import RESTORE, Object, event_of
from gateway.encode.protobuf.tables import ENUMS, EVENTS, LARGEST, LIMIT, MESSAGES, Field
from gateway.encode.protobuf.values import read_struct, read_value
from gateway.errors import AgentFault, EventTooLarge
from gateway.events import Wire
from gateway.jsonio import Unfit

_ARMS = {arm.number: arm.name.upper() for arm in ag_ui_pb2.Event.DESCRIPTOR.fields}
_NAMES = {enum: {number: name for name, number in values.items()} for enum, values in ENUMS.items()}
_LENGTH_DELIMITED = 2

MOST_KNOWN = 1024
"""Lengths of frames that are remembered; texts have a few dozen."""


@dataclass(frozen=True, slots=True)
class _Alike:
    """A frame that was read: one of the same length that begins like it differs in the text only."""

    head: bytes
    """All of the frame that is before the text: its length, the ids, the length of the text."""
    kind: str
    key: str
    thing: str


class Frames:
    """Cuts a byte stream into frames and reads them. However the bytes are cut, the events are the same."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._known: dict[int, _Alike] = {}
        """By the length of the frame: a delta takes 0.5 µs so, and 13 by the library."""
        self._fault: AgentFault | None = None

    def feed(self, data: bytes) -> list[Wire]:
        """The events that are complete now. A fault is raised once every event before it has been given."""
        self._held += data
        events: list[Wire] = []
        at = 0
        try:
            self._raise_fault()
            at = self._read(events)
        except AgentFault as fault:
            self._fault = fault
            if not events:
                raise
        del self._held[:at]
        return events

    def eof(self) -> None:
        """The stream is over. Raises a fault that is still due, or if the stream ended inside a frame."""
        self._raise_fault()
        if self._held:
            raise AgentFault(f"The agent's protobuf stream ended inside a frame, {len(self._held)} bytes into it.")

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise self._fault

    def _read(self, events: list[Wire]) -> int:
        """Where the last frame that is complete ends. What it reads before a fault is among the events, too."""
        if self._end(self._held, 0) is None:
            return 0  # before the copy: a large frame comes in many pieces
        held, known, at = bytes(self._held), self._known, 0
        while (end := self._end(held, at)) is not None:
            alike = known.get(end - at)
            if alike is not None and held.startswith(alike.head, at):
                text = _text(held[at + len(alike.head) : end])
                if text is not None:
                    events.append({"type": alike.kind, alike.key: alike.thing, "delta": text})
                    at = end
                    continue
            event = decode(held[at + 4 : end])
            if event is not None:
                events.append(event)
                self._learn(held[at:end], event)
            at = end
        return at

    def _learn(self, whole: bytes, event: Wire) -> None:
        key, text = DELTA_IDS.get(event["type"]), event.get("delta")
        # Only where these are the bytes that we would write: any other order of fields may mean another thing.
        if key is None or len(event) != 3 or not text or frame(event) != whole:
            return
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[len(whole)] = _Alike(whole[: -len(text.encode())], event["type"], key, event[key])

    def _end(self, held: bytes | bytearray, at: int) -> int | None:
        """Where the frame that begins at `at` ends; None if it is not complete."""
        if len(held) < at + 4:
            return None
        length = int.from_bytes(held[at : at + 4], "big")
        if length + 4 > LIMIT:
            detail = f"The agent announced a protobuf frame of {length + 4} bytes; {LIMIT} is the most."
            raise EventTooLarge(detail, size=length + 4, limit=LIMIT)
        return at + 4 + length if len(held) >= at + 4 + length else None


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None  # the library says what is wrong with it


def decode(data: bytes) -> Wire | None:
    """One `Event` message as the event it carries; None if it is of a type newer than ours."""
    try:
        kind = _arm(data)
        if kind is None:
            return None
        envelope = ag_ui_pb2.Event.FromString(data)
        arm = EVENTS[kind]
        return event_of(_read(arm.type_name, getattr(envelope, arm.name)), kind)
    except (DecodeError, Unfit) as reason:
        raise AgentFault(f"The agent sent a protobuf frame that cannot be decoded: {reason}.") from reason


def _arm(data: bytes) -> str | None:
    """The type by the envelope. Of two arms the library would silently keep the last, so its fields are looked at raw:
    in a message that has no fields, every field is unknown and told as it stands."""
    if not data:
        raise Unfit("its length is zero")
    raw = UnknownFieldSet(Empty.FromString(data))
    everything = [raw[at] for at in range(len(raw))]
    fields = [field for field in everything if field.field_number in _ARMS]
    if any(field.field_number == 0 for field in everything):
        raise Unfit("it has a field of the number 0")
    if any(field.wire_type != _LENGTH_DELIMITED for field in fields):
        raise Unfit("an event has the wrong wire type")
    kinds = {_ARMS[field.field_number] for field in fields}
    if len(kinds) > 1:
        raise Unfit(f"one frame holds {' and '.join(sorted(kinds))}")
    return kinds.pop() if kinds else None


def _read(name: str, message: Any) -> Any:
    value: Object = {}
    for field in MESSAGES[name]:
        if not _is_there(field, message):
            continue
        there = getattr(message, field.name)
        item = [_read_item(field, each) for each in there] if field.repeated else _read_item(field, there)
        # An optional null is absent. (An arm newer than ours is None as well; its message is told to drop it.)
        if item is not None or field.keeps_null or field.kind == "message":
            value[field.key] = item
    return RESTORE[name](value) if name in RESTORE else value


def _is_there(field: Field, message: Any) -> bool:
    if field.repeated:
        return field.materialised or len(getattr(message, field.name)) > 0
    # A string or an enum without presence is always there, "" or the first at the least.
    return (field.required and field.kind in ("string", "enum")) or message.HasField(field.name)


def _read_item(field: Field, item: Any) -> Any:
    match field.kind:
        case "message":
            return _read(field.type_name, item)
        case "value":
            return read_value(item)
        case "struct":
            return read_struct(item)
        case "enum":
            return _NAMES[field.type_name].get(item, str(item))
        case "integer" if abs(item) > LARGEST:
            raise Unfit(f"`{field.key}` is beyond ±{LARGEST}")
        case _:
            return item
