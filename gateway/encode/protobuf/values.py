"""Open JSON values as `google.protobuf.Value` and `Struct`, written and read.

In: any JSON value. Out: the message's bytes, without a tag and a length of its own. Map entries are in JavaScript's key
order, so that the bytes are those of the official encoder. Every number is a double. NaN, an infinity and an integer
beyond 1.8e308 become null, as in `JSON.stringify`.
"""

from __future__ import annotations

from math import isfinite
from struct import Struct
from typing import Any

from gateway.encode.protobuf.tables import varint
from gateway.jsonio import MAX_DEPTH, Unfit, plain

_double = Struct("<d").pack

_NULL = b"\x08\x00"
_NUMBER = b"\x11"
_STRING = b"\x1a"
_TRUE, _FALSE = b"\x20\x01", b"\x20\x00"
_STRUCT = b"\x2a"
_LIST = b"\x32"
_ITEM = _ENTRY = _KEY = b"\x0a"
_ENTRY_VALUE = b"\x12"

_LAST_INDEX = 2**32 - 2
"""JavaScript's largest array index; a larger integer is an ordinary key."""


def with_length(data: bytes) -> bytes:
    """The data with its length before it."""
    return varint(len(data)) + data


def encode_text(value: str) -> bytes:
    """UTF-8. Two adjacent surrogates are joined, a single one becomes U+FFFD, as in JavaScript."""
    try:
        return str.encode(value)
    except UnicodeEncodeError:
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def write_value(value: Any, levels: int = MAX_DEPTH) -> bytes:
    """`levels` is how many more objects and lists may be nested."""
    if isinstance(value, str):
        return _STRING + with_length(encode_text(value))
    if value is None:
        return _NULL
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if isinstance(value, (int, float)):
        return _write_number(value)
    if isinstance(value, dict):
        return _STRUCT + with_length(write_struct(value, levels))
    if isinstance(value, (list, tuple)):
        _check_depth(levels)
        return _LIST + with_length(b"".join([_ITEM + with_length(write_value(item, levels - 1)) for item in value]))
    return write_value(plain(value), levels)


def write_struct(value: dict[str, Any], levels: int = MAX_DEPTH) -> bytes:
    _check_depth(levels)
    entries = []
    for key in _keys_in_javascript_order(value):
        # An empty key is the default, so it is not written.
        name = _KEY + with_length(encode_text(key)) if key else b""
        entries.append(_ENTRY + with_length(name + _ENTRY_VALUE + with_length(write_value(value[key], levels - 1))))
    return b"".join(entries)


def _write_number(value: float) -> bytes:
    try:
        number = float(value)
    except OverflowError:
        return _NULL
    return _NUMBER + _double(number) if isfinite(number) else _NULL


def _keys_in_javascript_order(value: dict[str, Any]) -> list[str]:
    """JavaScript's order: array indices first, ascending, then the rest as inserted."""
    indices = [key for key in value if _is_index(key)]
    if not indices:
        return list(value)
    return sorted(indices, key=int) + [key for key in value if not _is_index(key)]


def _is_index(key: str) -> bool:
    if not isinstance(key, str):
        raise Unfit(f"the key {key!r} is not a string")
    if not ("0" <= key < ":") or not key.isdecimal() or not key.isascii():
        return False
    return (key[0] != "0" or key == "0") and len(key) < 11 and int(key) <= _LAST_INDEX


def _check_depth(levels: int) -> None:
    if levels == 0:
        raise Unfit(f"it is nested deeper than {MAX_DEPTH} levels, or holds itself")


def read_value(value: Any) -> Any:
    """A parsed `Value` as JSON. A whole number is an int again, as JavaScript prints it; no kind at all is null."""
    match value.WhichOneof("kind"):
        case "number_value":
            return _read_number(value.number_value)
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "struct_value":
            return read_struct(value.struct_value)
        case "list_value":
            return [read_value(item) for item in value.list_value.values]
        case _:
            return None


def read_struct(value: Any) -> dict[str, Any]:
    return {key: read_value(item) for key, item in value.fields.items()}


def _read_number(number: float) -> int | float | None:
    if not isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) <= 2**53 else number
