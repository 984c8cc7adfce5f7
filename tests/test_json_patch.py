"""The difference of two JSON values, applied to the first, is the second."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import given
from jsonpatch import apply_patch

from gateway.json_patch import diff
from tests.agui.streams import VALUES, steady


@steady
@given(VALUES, VALUES)
def test_a_difference_makes_the_new_of_the_old(old: Any, new: Any) -> None:
    assert apply_patch({"it": deepcopy(old)}, diff({"it": old}, {"it": new}, into_lists=True)) == {"it": new}


@steady
@given(VALUES)
def test_equal_values_have_none(value: Any) -> None:
    assert diff(value, deepcopy(value), into_lists=True) == []


def test_only_what_changed_is_named() -> None:
    old = {"entries": [{"content": "a", "status": "pending"}, {"content": "b"}]}
    new = {"entries": [{"content": "a", "status": "completed"}, {"content": "b"}, {"content": "c"}]}
    assert diff(old, new, into_lists=True) == [
        {"op": "replace", "path": "/entries/0/status", "value": "completed"},
        {"op": "add", "path": "/entries/-", "value": {"content": "c"}},
    ]


def test_the_last_are_removed_first() -> None:
    assert diff([1, 2, 3], [1], into_lists=True) == [{"op": "remove", "path": "/2"}, {"op": "remove", "path": "/1"}]


def test_a_key_is_escaped_and_a_bool_is_no_number() -> None:
    assert diff({"a/b~": 1}, {"a/b~": True}, into_lists=True) == [{"op": "replace", "path": "/a~1b~0", "value": True}]
