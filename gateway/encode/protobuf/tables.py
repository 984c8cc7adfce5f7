"""The messages of `proto/ag_ui.proto` as tables for encoder and decoder, made from the generated descriptors.

In: descriptors, once, at import. Out: for each message its fields in number order, each with its JSON key, the bytes of
its tag and whether JSON requires it. Never: differences of shape between JSON and message, which are in `shapes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor

from gateway.encode.protobuf.pb import ag_ui_pb2

Kind = Literal["string", "integer", "boolean", "enum", "value", "struct", "message"]

MAX_SAFE_INTEGER = 2**53 - 1
"""JavaScript's largest exact integer. AG-UI's client throws on a larger `timestamp` or token count."""

MAX_FRAME_BYTES = 10 * 1024 * 1024
"""The four bytes of the length included. AG-UI's client gives up on a larger frame."""

_KINDS: dict[int, Kind] = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_INT64: "integer",
    FieldDescriptor.TYPE_BOOL: "boolean",
    FieldDescriptor.TYPE_ENUM: "enum",
    FieldDescriptor.TYPE_MESSAGE: "message",
}
_OPEN: dict[str, Kind] = {"Value": "value", "Struct": "struct"}
_VARINTS = ("integer", "boolean", "enum")

_REQUIRED_LISTS = {
    "ag_ui.StateDeltaEvent.delta",
    "ag_ui.ActivityDeltaEvent.patch",
    "ag_ui.MessagesSnapshotEvent.messages",
    "ag_ui.RunAgentInput.messages",
}
"""Lists that JSON always has. The .proto cannot require a list, and adding an empty one would wipe the client's
messages."""

_READ_AS_EMPTY = {"ag_ui.RunAgentInput.tools", "ag_ui.RunAgentInput.context", "ag_ui.RunAgentInput.resume"}
"""Lists that JSON may leave out, and that the official decoder restores as `[]`."""


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    """In the .proto, and so the attribute of the generated class."""
    key: str
    """In JSON."""
    kind: Kind
    type_name: str
    """Of the message or the enum; "" for the rest."""
    tag: bytes
    repeated: bool
    required: bool
    """JSON must have it: a string or a message without `optional`, a list named above."""
    keeps_null: bool
    """Null is a value here, not absence: in required open values, and in the value of a patch operation."""
    materialised: bool
    """Reads back as `[]` when nothing was written."""


_ONE_BYTE = [bytes((number,)) for number in range(0x80)]


def varint(number: int) -> bytes:
    """Base 128, the lowest seven bits first. A negative number goes as its 64 bits, so in ten bytes."""
    if 0 <= number < 0x80:
        return _ONE_BYTE[number]
    if 0 <= number < 0x4000:
        return bytes((number & 0x7F | 0x80, number >> 7))
    number &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_field(field: FieldDescriptor) -> Field:
    name = field.full_name
    described = field.message_type or field.enum_type
    type_name = described.name if described is not None else ""
    kind = _OPEN.get(type_name, _KINDS[field.type])
    # proto3 gives every `optional` field a oneof of its own; the arms of real ones may be absent as well.
    optional = field.containing_oneof is not None
    return Field(
        name=field.name,
        key=field.json_name,
        kind=kind,
        type_name=type_name,
        tag=varint(field.number << 3 | (0 if kind in _VARINTS else 2)),
        repeated=field.is_repeated,
        required=name in _REQUIRED_LISTS if field.is_repeated else not optional,
        keeps_null=kind == "value" and (not optional or name == "ag_ui.JsonPatchOperation.value"),
        materialised=name in _REQUIRED_LISTS or name in _READ_AS_EMPTY,
    )


def _read_fields(message: Descriptor) -> tuple[Field, ...]:
    return tuple(_read_field(field) for field in sorted(message.fields, key=lambda field: field.number))


_FILE: FileDescriptor = ag_ui_pb2.DESCRIPTOR

MESSAGES: dict[str, tuple[Field, ...]] = {
    name: _read_fields(message) for name, message in _FILE.message_types_by_name.items()
}

ENUMS: dict[str, dict[str, int]] = {
    name: {value.name: value.number for value in enum.values} for name, enum in _FILE.enum_types_by_name.items()
}

EVENTS: dict[str, Field] = {field.name.upper(): field for field in MESSAGES["Event"]}
"""AG-UI's `type` → the arm that carries it."""
