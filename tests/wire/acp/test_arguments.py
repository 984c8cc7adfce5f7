"""A tool call's input: text that only ever appends, and is whole in the end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.acp.arguments import Arguments, close_json
from tests.agui.streams import OBJECTS, VALUES, steady


def told(*inputs: Any) -> tuple[list[str], bool]:
    arguments = Arguments()
    deltas = [arguments.grow(raw) for raw in inputs]
    rest, right = arguments.finish()
    return [delta for delta in [*deltas, rest] if delta], right


def test_no_input_is_an_empty_object() -> None:
    assert told() == (["{}"], True)


def test_one_input_is_told_when_it_is_settled() -> None:
    assert told({"command": "ls"}) == (['{"command":"ls"}'], True)


def test_a_growing_input_streams_without_its_closing_marks() -> None:
    assert told({}, {"path": "/a"}, {"path": "/a", "content": "on"}, {"path": "/a", "content": "one"}) == (
        ["{", '"path":"/a', '","content":"on', 'e"}'],
        True,
    )


def test_keys_keep_the_place_they_were_first_seen_at() -> None:
    assert told({"path": "/a"}, {"all": False, "path": "/a", "new": "b"}) == (
        ['{"path":"/a', '","all":false,"new":"b"}'],
        True,
    )


def test_an_input_that_never_goes_on_is_held_back() -> None:
    assert told({"path": "/a"}, {"path": "/b"}, {"path": "/c"}) == (['{"path":"/c"}'], True)


def test_what_turned_out_wrong_is_closed_and_said_to_be_so() -> None:
    deltas, right = told({"a": "x"}, {"a": "xy"}, {"a": "z"})
    assert ("".join(deltas), right) == ('{"a":"x"}', False)


def test_an_input_that_is_no_object_is_its_json() -> None:
    assert told("ls -l") == (['"ls -l"'], True)
    assert told(["ls"]) == (['["ls"]'], True)


def test_an_input_nested_too_deep_is_told_of() -> None:
    deep: Any = {}
    for _ in range(300):
        deep = {"in": deep}
    assert "unreadable" in told(deep)[0][0]


ESCAPES = ("\\", "\\\\", "\\u", "\\u00")
"""Where a text may be cut: inside an escape, or right after one."""


@pytest.mark.parametrize(
    "text",
    ["{", '{"a":', '{"a":1,', "[", '["a', '["",', '{"a":{"b":[1', *('{"a":"x' + end for end in ESCAPES)],
)
def test_whatever_was_cut_off_can_be_closed(text: str) -> None:
    json.loads(text + close_json(text))


@steady
@given(VALUES)
def test_every_json_text_without_its_closing_marks_can_be_closed(value: Any) -> None:
    text = json.dumps({"value": value}, separators=(",", ":")).rstrip('}]"')
    json.loads(text + close_json(text))


@steady
@given(st.lists(OBJECTS, max_size=5))
def test_whatever_comes_the_text_is_json_and_the_last_input_unless_it_says_otherwise(inputs: list[Any]) -> None:
    deltas, right = told(*inputs)
    value = json.loads("".join(deltas))
    assert not right or value == (inputs[-1] if inputs else {})


@steady
@given(OBJECTS)
def test_an_input_that_grows_key_by_key_is_never_taken_back(whole: dict[str, Any]) -> None:
    keys = list(whole)
    steps = [{key: whole[key] for key in keys[:size]} for size in range(len(keys) + 1)]
    deltas, right = told(*steps)
    assert right
    assert json.loads("".join(deltas)) == whole
