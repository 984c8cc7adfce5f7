"""omp's own argument is left out of the JSON while it streams, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.dialects.pi.omp_intent import IntentFilter
from tests.agui.streams import VALUES, steady


def stripped(text: str, sizes: list[int]) -> str:
    strip, found, start, number = IntentFilter(), "", 0, 0
    while start < len(text):
        size = sizes[number % len(sizes)]
        found += strip.feed(text[start : start + size])
        start, number = start + size, number + 1
    return found


OBJECTS = st.dictionaries(st.sampled_from(["i", "a", "command", '"', "\\", "i "]) | st.text(max_size=3), VALUES)
CUTS = st.lists(st.integers(1, 7), min_size=1, max_size=5)


@steady
@given(OBJECTS, st.permutations(range(6)), CUTS, st.sampled_from([None, 2]), st.booleans())
def test_what_is_left_is_the_object_without_it(
    value: dict[str, Any], order: list[int], cuts: list[int], indent: int | None, ascii_only: bool
) -> None:
    keys = sorted(value, key=lambda key: order[len(key) % 6])
    text = json.dumps({key: value[key] for key in keys}, indent=indent, ensure_ascii=ascii_only)
    rest = {key: item for key, item in value.items() if key != "i"}
    assert json.loads(stripped(text, cuts)) == rest


@pytest.mark.parametrize("text", ["[1, 2]", '"i"', "7", "null", '[{"i": 1}]'])
def test_what_is_no_object_goes_through(text: str) -> None:
    assert stripped(text, [1]) == text


def test_only_the_outermost_is_looked_at() -> None:
    assert stripped('{"a": {"i": 1}, "b": [{"i": 2}]}', [3]) == '{"a": {"i": 1}, "b": [{"i": 2}]}'


def test_arguments_pass_as_early_as_possible() -> None:
    strip = IntentFilter()
    assert strip.feed('{"i":"why","comm') == "{"
    assert strip.feed('and":"ec') == '"command":"ec'
    assert strip.feed('ho"') == 'ho"'
    assert strip.feed("}") == "}"


@steady
@given(st.text(alphabet='{}[]",:\\i a1'), CUTS)
def test_what_is_no_json_at_all_is_no_reason_to_fail(text: str, cuts: list[int]) -> None:
    stripped(text, cuts)
