"""The difference of two JSON values, applied to the first, is the second."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import given
from jsonpatch import apply_patch

from gateway.wire.acp.json_patch import difference
from tests.agui.streams import VALUES, steady


@steady
@given(VALUES, VALUES)
def test_a_difference_makes_the_new_of_the_old(old: Any, new: Any) -> None:
    assert apply_patch({"it": deepcopy(old)}, difference({"it": old}, {"it": new})) == {"it": new}


@steady
@given(VALUES)
def test_equal_values_have_none(value: Any) -> None:
    assert difference(value, deepcopy(value)) == []


def test_only_what_changed_is_named() -> None:
    old = {"entries": [{"content": "a", "status": "pending"}, {"content": "b"}]}
    new = {"entries": [{"content": "a", "status": "completed"}, {"content": "b"}, {"content": "c"}]}
    assert difference(old, new) == [
        {"op": "replace", "path": "/entries/0/status", "value": "completed"},
        {"op": "add", "path": "/entries/-", "value": {"content": "c"}},
    ]


def test_the_last_are_removed_first() -> None:
    assert difference([1, 2, 3], [1]) == [{"op": "remove", "path": "/2"}, {"op": "remove", "path": "/1"}]


def test_a_key_is_escaped_and_a_bool_is_no_number() -> None:
    assert difference({"a/b~": 1}, {"a/b~": True}) == [{"op": "replace", "path": "/a~1b~0", "value": True}]
