"""Fields of the wrong type are absent ones."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.wire.fields import COUNT_MAX, count, items, json_text, marked, non_empty, obj, present, text, without_meta


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3), (3.0, 3), (0, 0), (COUNT_MAX, COUNT_MAX), (-1, None), (1.5, None), (True, None), ("3", None)]
    + [(COUNT_MAX + 1, None), (None, None), (float("inf"), None)],
)
def test_a_count_is_a_whole_number_that_clients_take(value: Any, number: int | None) -> None:
    assert count(value) == number


def test_a_marker_is_true_or_any_object() -> None:
    values: list[Any] = [True, {}, {"a": 1}, False, None, 1, []]
    assert [marked(value) for value in values] == [True] * 3 + [False] * 4


def test_other_types_read_as_nothing() -> None:
    assert (obj([1]), items({"a": 1}), items([1, {}, "x"]), text(1), non_empty(""), non_empty("x")) == (
        {},
        [],
        [{}],
        None,
        None,
        "x",
    )


def test_what_is_absent_or_empty_is_left_out_but_zero_and_no_are_said() -> None:
    assert present({"a": None, "b": [], "c": "", "d": 0, "e": False, "f": {}}) == {"d": 0, "e": False, "f": {}}


def test_meta_is_taken_out_everywhere() -> None:
    assert without_meta({"_meta": 1, "a": [{"_meta": {}, "b": "_meta"}]}) == {"a": [{"b": "_meta"}]}


def test_what_is_nested_beyond_reason_is_cut() -> None:
    deep: Any = "bottom"
    for _ in range(500):
        deep = [deep]
    assert "bottom" not in json_text(without_meta(deep))
    assert "unreadable" in json_text(deep)
