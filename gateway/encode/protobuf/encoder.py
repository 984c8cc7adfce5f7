"""AG-UI events as protobuf frames, written by hand from the tables of `proto/ag_ui.proto`.

In: events as JSON objects. Out: for each one the length (four bytes, big-endian) and an `Event` message, its fields in
number order, byte for byte what AG-UI's own encoder writes. A null in an optional position is left out, a field that
AG-UI does not describe vanishes, nothing is ever invented. `protobuf_reader` reads the frames back.

Written by hand because the protobuf library orders map entries by hash and needs 2.0 µs for a delta event. Such events
are nearly all of a run, and all bytes around the text depend on the ids and the text's length alone: they come from a
cache, 0.35 µs in all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from gateway.encode.protobuf.shapes import FLATTEN
from gateway.encode.protobuf.tables import ENUMS, EVENTS, LARGEST, LIMIT, MESSAGES, Field, Kind, varint
from gateway.encode.protobuf.values import sized, text, write_struct, write_value
from gateway.errors import AgentFault, EventTooLarge
from gateway.events import Wire
from gateway.jsonio import Unfit

CONTENT_TYPE = "application/vnd.ag-ui.event+proto"
"""Exactly so: with a parameter or a capital letter AG-UI's client takes the body for SSE and finds nothing in it."""

DELTA_IDS = {
    "TEXT_MESSAGE_CONTENT": "messageId",
    "REASONING_MESSAGE_CONTENT": "messageId",
    "TOOL_CALL_ARGS": "toolCallId",
}
"""The delta events, and what says whose text it is."""

_LONGEST_CACHED_ID = 256
"""Characters. Ids are short; a hostile one must not fill the cache with megabytes."""

FEW = 8
"""Fewer events are not worth a look at all of them."""

_ABSENT = object()


def frames(events: list[Wire]) -> bytes:
    """The frames of these events, in order."""
    if len(events) >= FEW and (alike := _alike(events)) is not None:
        return alike
    out: list[bytes] = []
    for event in events:
        try:
            kind = event["type"]
            delta = event["delta"].encode()
            if len(event) == 3:
                out += _around(kind, event[DELTA_IDS[kind]], None, len(delta))[0], delta
            elif len(event) == 4:
                head, tail = _around(kind, event[DELTA_IDS[kind]], event["subagentRunId"], len(delta))
                out += head, delta, tail
            else:
                out.append(frame(event))
        except (KeyError, AttributeError, TypeError, UnicodeEncodeError, Unfit):
            # Not a plain delta event; `frame` says so if it is no event at all.
            out.append(frame(event))
    return b"".join(out)


def _alike(events: list[Wire]) -> bytes | None:
    """Plain deltas of one message, in ASCII, as most batches are: in one go, at half the cost. None: another batch."""
    try:
        kind = events[0]["type"]
        key = DELTA_IDS[kind]
        thing = events[0][key]
        texts = [e["delta"] for e in events if len(e) == 3 and e["type"] == kind and e[key] == thing]
        if len(texts) != len(events) or not "".join(texts).isascii():
            return None
        sizes = [len(text) for text in texts]
        # Heads are bytes of all values; as Latin-1 they join with the texts before one encoding makes bytes of it all.
        heads = {size: _around(kind, thing, None, size)[0].decode("latin-1") for size in set(sizes)}
    except (KeyError, TypeError, Unfit):
        return None
    parts = [""] * (2 * len(texts))
    parts[::2] = [heads[size] for size in sizes]
    parts[1::2] = texts
    return "".join(parts).encode("latin-1")


def frame(event: Wire) -> bytes:
    """One event's frame. Raises `AgentFault` if it does not fit AG-UI's description, `EventTooLarge`."""
    kind = event.get("type")
    if not isinstance(kind, str) or (arm := EVENTS.get(kind)) is None:
        raise AgentFault(f"The agent sent an event of the type {kind!r}, which AG-UI does not have.")
    try:
        body = sized(_message(arm.type_name, event))
    except Unfit as reason:
        raise AgentFault(f"The agent's {kind} event cannot be sent as protobuf: {reason}.") from reason
    return _length(kind, len(arm.tag) + len(body)) + arm.tag + body


def _length(kind: str, size: int) -> bytes:
    if size + 4 > LIMIT:
        detail = f"The agent's {kind} event takes {size + 4} bytes as protobuf; a client reads {LIMIT} at most."
        raise EventTooLarge(detail, event=kind, size=size + 4, limit=LIMIT)
    return size.to_bytes(4, "big")


def _message(name: str, value: Wire) -> bytes:
    flat = FLATTEN[name](value) if name in FLATTEN else value
    return b"".join([_field(field, flat) for field in MESSAGES[name]])


def _field(field: Field, source: Wire) -> bytes:
    """Tag and content; nothing for what is absent, or null where null means absent."""
    # What `base_event` holds stands in the event itself.
    value = source if field.key == "baseEvent" else source.get(field.key, _ABSENT)
    if value is _ABSENT or (value is None and not field.keeps_null):
        if field.required:
            raise Unfit(f"`{field.key}` is missing")
        return b""
    write = _WRITERS[field.kind]
    if not field.repeated:
        return write(field, value)
    if isinstance(value, (list, tuple)):
        return b"".join([write(field, item) for item in value])
    raise Unfit(f"`{field.key}` must be a list")


def _string(field: Field, value: Any) -> bytes:
    if not isinstance(value, str):
        raise Unfit(f"`{field.key}` must be a string")
    # Without presence, "" is the default and is not written.
    return b"" if field.required and value == "" else field.tag + sized(text(value))


def _integer(field: Field, value: Any) -> bytes:
    # 5.0 is an integer in JSON as JavaScript reads it.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
        raise Unfit(f"`{field.key}` must be an integer within ±{LARGEST}")
    return field.tag + varint(value)


def _boolean(field: Field, value: Any) -> bytes:
    if isinstance(value, bool):
        return field.tag + varint(value)
    raise Unfit(f"`{field.key}` must be true or false")


def _enum(field: Field, value: Any) -> bytes:
    number = ENUMS[field.type_name][value]
    return field.tag + varint(number) if number else b""


def _value(field: Field, value: Any) -> bytes:
    return field.tag + sized(write_value(value))


def _struct(field: Field, value: Any) -> bytes:
    if isinstance(value, dict):
        return field.tag + sized(write_struct(value))
    raise Unfit(f"`{field.key}` must be an object")


def _nested(field: Field, value: Any) -> bytes:
    if isinstance(value, dict):
        return field.tag + sized(_message(field.type_name, value))
    raise Unfit(f"`{field.key}` must be an object")


@lru_cache(maxsize=1024)
def _fixed(kind: str, of: str, subagent: str | None) -> tuple[bytes, bytes]:
    """The fields before a delta, its tag included, and those after it."""
    event = {"type": kind, DELTA_IDS[kind]: of, "subagentRunId": subagent}
    fields = MESSAGES[EVENTS[kind].type_name]
    at = [field.key for field in fields].index("delta")
    before = b"".join([_field(field, event) for field in fields[:at]]) + fields[at].tag
    return before, b"".join([_field(field, event) for field in fields[at + 1 :]])


@lru_cache(maxsize=8192)
def _around(kind: str, of: str, subagent: str | None, length: int) -> tuple[bytes, bytes]:
    """A frame's bytes before and after a delta of `length` bytes. KeyError, never cached, asks for the long way."""
    if length == 0 or len(of) + len(subagent or "") > _LONGEST_CACHED_ID:
        raise KeyError(kind)
    before, after = _fixed(kind, of, subagent)
    before += varint(length)
    head = EVENTS[kind].tag + varint(len(before) + length + len(after)) + before
    return _length(kind, len(head) + length + len(after)) + head, after


_WRITERS: dict[Kind, Callable[[Field, Any], bytes]] = {
    "string": _string,
    "integer": _integer,
    "boolean": _boolean,
    "enum": _enum,
    "value": _value,
    "struct": _struct,
    "message": _nested,
}
