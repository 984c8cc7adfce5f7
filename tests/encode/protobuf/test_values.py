from __future__ import annotations

import enum
import math
import uuid
from typing import Any

import pytest
from google.protobuf import json_format, struct_pb2
from hypothesis import given
from hypothesis import strategies as st

from gateway.encode.protobuf.values import encode_text, read_value, write_struct, write_value
from gateway.jsonio import MAX_DEPTH, Unfit
from tests.encode.wire_events import tried, values


@tried
@given(values)
def test_the_protobuf_library_reads_the_same_value(value: Any) -> None:
    message = struct_pb2.Value.FromString(write_value(value))
    assert json_format.MessageToDict(message) == value
    assert read_value(message) == value


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, -(10**400)])
def test_what_a_double_cannot_hold_is_null(value: float) -> None:
    assert write_value(value) == write_value(None) == b"\x08\x00"


def test_booleans_are_not_numbers() -> None:
    assert write_value(True) == b"\x20\x01"
    assert write_value(1)[0] == 0x11


@pytest.mark.parametrize(
    ("number", "back"), [(1.0, "1"), (-0.0, "0"), (1.5, "1.5"), (2.0**53, "9007199254740992"), (1e300, "1e+300")]
)
def test_a_whole_number_is_read_as_an_integer(number: float, back: str) -> None:
    assert repr(read_value(struct_pb2.Value(number_value=number))) == back


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_number_that_json_does_not_have_is_read_as_null(number: float) -> None:
    assert read_value(struct_pb2.Value(number_value=number)) is None


def test_a_value_of_no_kind_is_read_as_null() -> None:
    assert read_value(struct_pb2.Value()) is None


def keys_in_order(value: dict[str, Any]) -> list[str]:
    """Keys as they stand in the bytes; single characters and small integers only."""
    data, keys, at = write_struct(value), [], 0
    while at < len(data):
        length = data[at + 1]
        entry = data[at + 2 : at + 2 + length]
        keys.append(entry[2 : 2 + entry[1]].decode() if entry[0] == 0x0A else "")
        at += 2 + length
    return keys


def test_keys_go_in_javascripts_order() -> None:
    names = ["b", "10", "", "2", "a", "0", "01", "-1", "1.5", "4294967294", "4294967295", "٣", "²", " 1"]
    indices = ["0", "2", "10", "4294967294"]
    rest = ["b", "", "a", "01", "-1", "1.5", "4294967295", "٣", "²", " 1"]
    assert keys_in_order(dict.fromkeys(names)) == indices + rest


def test_an_empty_key_is_not_written_in_its_entry() -> None:
    assert write_struct({"": None}).hex() == "0a04" + "12020800"


@tried
@given(st.text(st.characters(categories=["Cs", "L", "So"])))
def test_surrogates_are_written_as_javascript_writes_them(value: str) -> None:
    # Joined where two halves meet; then whatever half is left stands alone.
    joined = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    expected = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in joined)
    assert encode_text(value).decode() == expected


def test_a_lone_half_is_a_replacement_character_in_keys_too() -> None:
    assert "\ufffd".encode() in write_struct({"\ud83d": 1})


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.Enum):
    HIGH = 3


def test_what_the_json_side_takes_is_taken_here() -> None:
    identity = uuid.UUID(int=7)
    assert write_value(Colour.RED) == write_value("red")
    assert write_value(Level.HIGH) == write_value(3)
    assert write_value(identity) == write_value(str(identity))
    assert write_value((1, 2)) == write_value([1, 2])


@pytest.mark.parametrize("value", [{1, 2}, b"x", object(), [object()], {"a": 1j}])
def test_what_is_not_json_does_not_fit(value: Any) -> None:
    with pytest.raises(Unfit, match="is not JSON"):
        write_value(value)


def nested(levels: int, as_object: bool) -> Any:
    value: Any = {} if as_object else []
    for _ in range(levels - 1):
        value = {"a": value} if as_object else [value]
    return value


@pytest.mark.parametrize("as_object", [True, False])
def test_depth_is_bounded(as_object: bool) -> None:
    assert write_value(nested(MAX_DEPTH, as_object))
    with pytest.raises(Unfit, match="nested deeper than 200 levels"):
        write_value(nested(MAX_DEPTH + 1, as_object))


def test_a_value_that_holds_itself_does_not_fit() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(Unfit, match="or holds itself"):
        write_value(loop)
