"""A tool call's input: text that only ever appends, and is whole in the end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.acp.arguments import Arguments, close_json
from tests.agui.streams import OBJECTS, VALUES, steady


def read_deltas(*inputs: Any) -> tuple[list[str], bool]:
    arguments = Arguments()
    deltas = [arguments.grow(raw) for raw in inputs]
    rest, right = arguments.finish()
    return [delta for delta in [*deltas, rest] if delta], right


def test_no_input_is_an_empty_object() -> None:
    assert read_deltas() == (["{}"], True)


def test_one_input_is_sent_when_it_is_complete() -> None:
    assert read_deltas({"command": "ls"}) == (['{"command":"ls"}'], True)


def test_a_growing_input_streams_without_its_closing_marks() -> None:
    assert read_deltas({}, {"path": "/a"}, {"path": "/a", "content": "on"}, {"path": "/a", "content": "one"}) == (
        ["{", '"path":"/a', '","content":"on', 'e"}'],
        True,
    )


def test_keys_keep_the_place_they_were_first_seen_at() -> None:
    assert read_deltas({"path": "/a"}, {"all": False, "path": "/a", "new": "b"}) == (
        ['{"path":"/a', '","all":false,"new":"b"}'],
        True,
    )


def test_an_input_that_never_continues_is_sent_at_the_end() -> None:
    assert read_deltas({"path": "/a"}, {"path": "/b"}, {"path": "/c"}) == (['{"path":"/c"}'], True)


def test_deltas_that_turned_out_wrong_are_closed_and_marked() -> None:
    deltas, right = read_deltas({"a": "x"}, {"a": "xy"}, {"a": "z"})
    assert ("".join(deltas), right) == ('{"a":"x"}', False)


def test_an_input_that_is_no_object_is_its_json() -> None:
    assert read_deltas("ls -l") == (['"ls -l"'], True)
    assert read_deltas(["ls"]) == (['["ls"]'], True)


def test_an_input_nested_too_deep_is_replaced_by_the_reason() -> None:
    deep: Any = {}
    for _ in range(300):
        deep = {"in": deep}
    assert "unreadable" in read_deltas(deep)[0][0]


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
def test_the_text_is_always_json_and_the_last_input_unless_it_is_marked(inputs: list[Any]) -> None:
    deltas, right = read_deltas(*inputs)
    value = json.loads("".join(deltas))
    assert not right or value == (inputs[-1] if inputs else {})


@steady
@given(OBJECTS)
def test_an_input_that_grows_key_by_key_is_never_taken_back(whole: dict[str, Any]) -> None:
    keys = list(whole)
    steps = [{key: whole[key] for key in keys[:size]} for size in range(len(keys) + 1)]
    deltas, right = read_deltas(*steps)
    assert right
    assert json.loads("".join(deltas)) == whole
