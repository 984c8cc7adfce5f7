"""Fields of the wrong type are absent ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.fields import (
    COUNT_MAX,
    MESSAGE_MAX_DEPTH,
    amount,
    count,
    flag,
    has_marker,
    if_small,
    integer,
    items,
    json_text,
    named_values,
    non_empty,
    number,
    obj,
    parse_json,
    present,
    strings,
    text,
    unique_strings,
    value_at,
    without_meta,
)
from tests.agui.streams import VALUES, steady


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, 3), (3.0, 3), (0, 0), (COUNT_MAX, COUNT_MAX), (-1, None), (1.5, None), (True, None), ("3", None)]
    + [(COUNT_MAX + 1, None), (None, None), (float("inf"), None)],
)
def test_a_count_is_a_whole_number_that_clients_take(value: Any, expected: int | None) -> None:
    assert count(value) == expected


def test_a_marker_is_true_or_any_object() -> None:
    values: list[Any] = [True, {}, {"a": 1}, False, None, 1, []]
    assert [has_marker(value) for value in values] == [True] * 3 + [False] * 4


def test_other_types_read_as_nothing() -> None:
    assert (obj([1]), items({"a": 1}), items([1, {}, "x"]), text(1), non_empty(""), non_empty("x")) == (
        {},
        [],
        [{}],
        None,
        None,
        "x",
    )


def test_what_is_absent_or_empty_is_left_out_but_zero_and_false_stay() -> None:
    assert present({"a": None, "b": [], "c": "", "d": 0, "e": False, "f": {}}) == {"d": 0, "e": False, "f": {}}


def test_meta_is_taken_out_everywhere() -> None:
    assert without_meta({"_meta": 1, "a": [{"_meta": {}, "b": "_meta"}]}) == {"a": [{"b": "_meta"}]}


def test_what_is_nested_beyond_reason_is_cut() -> None:
    deep: Any = "bottom"
    for _ in range(500):
        deep = [deep]
    assert "bottom" not in json_text(without_meta(deep))
    assert "unreadable" in json_text(deep)


READERS: list[Callable[[Any], Any]] = [
    amount, count, flag, has_marker, integer, items, json_text, non_empty, number, obj, strings, text, unique_strings,
    named_values, without_meta, lambda value: value_at(value, "a", "b"), lambda value: if_small(value, 3),
    lambda value: present(obj(value)),
    named_values,
]  # fmt: skip
SPECIAL: list[Any] = [float("inf"), float("-inf"), float("nan"), 10**400, -(10**400), "\ud83d", {"a": {"b": "\ud83d"}}]


@steady
@given(VALUES)
def test_no_reader_raises_for_any_json_value(value: Any) -> None:
    for read in READERS:
        read(value)
        read({"a": value, "b": [value]})


@pytest.mark.parametrize("value", SPECIAL, ids=lambda value: repr(value)[:12])
def test_no_reader_raises_for_values_at_the_edge_of_json(value: Any) -> None:
    for read in READERS:
        read(value)


@steady
@given(st.text() | st.binary())
def test_a_text_that_is_no_json_reads_as_none(value: str | bytes) -> None:
    parse_json(value)
    assert parse_json("{") is None


def test_json_in_a_text_that_no_event_could_carry_is_absent() -> None:
    nested = "[" * MESSAGE_MAX_DEPTH + "]" * MESSAGE_MAX_DEPTH
    assert parse_json(nested) is not None
    assert parse_json(f"[{nested}]") is None
    assert parse_json(f"[{nested}]".encode()) is None


def test_values_are_read_by_their_type() -> None:
    mixed: list[Any] = ["a", "", 1, None, "a", ["b"]]
    assert (strings(mixed), unique_strings(mixed), strings("ab"), strings(True)) == (["a", "", "a"], ["a"], [], [])
    assert (flag(True), flag(0), integer(True), integer(-3), integer(1.0)) == (True, None, None, -3, None)
    assert (number(1), number(0.5), number(True), number("1"), number(float("nan"))) == (1, 0.5, None, None, None)
    assert (amount(0.1), amount(0), amount(-1), amount(float("inf"))) == (0.1, None, None, None)
    assert (value_at({"a": {"b": 1}}, "a", "b"), value_at({"a": [1]}, "a", "b"), value_at(None, "a")) == (1, None, None)
    pairs = [{"name": "A", "value": "b"}, {"name": "C"}, {"value": "d"}, 7]
    assert (named_values(pairs), named_values({"A": 1}), named_values("x")) == ({"A": "b", "C": ""}, {"A": "1"}, {})
    assert (if_small("abc", 5), if_small("abcd", 5), if_small("abcd", 5, "no")) == ("abc", None, "no")
