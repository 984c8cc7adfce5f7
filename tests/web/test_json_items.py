"""The values of a JSON text, counted without parsing it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import TooLarge
from gateway.web.json_items import ItemCounter
from tests.agui.streams import steady
from tests.agui.test_inbound_any import json_values


def count_values(value: Any) -> int:
    """Every opening bracket, and every comma."""
    if isinstance(value, dict):
        return 1 + max(0, len(value) - 1) + sum(map(count_values, value.values()))
    if isinstance(value, list):
        return 1 + max(0, len(value) - 1) + sum(map(count_values, value))
    return 0


@steady
@given(json_values, st.booleans(), st.data())
def test_pieces_count_as_the_whole_does(value: Any, is_ascii: bool, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    counter = ItemCounter(10**9)
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        counter.count(text[start:end])
    assert counter.items == count_values(value)


@pytest.mark.parametrize("piece", [rb'"\",[{\\"', rb'"\\\\"', rb'"\\\\\\\""', '"ä,["'.encode()])
def test_nothing_inside_a_string_counts_byte_by_byte(piece: bytes) -> None:
    counter = ItemCounter(10)
    text = b"[" + b",".join([piece] * 5) + b"]"
    assert isinstance(json.loads(text), list)
    for at in range(len(text)):
        counter.count(text[at : at + 1])
    assert counter.items == 5


def test_more_than_the_bound_is_too_large() -> None:
    counter = ItemCounter(3)
    counter.count(b"[1,2,3")
    counter.raise_if_full()
    counter.count(b",4]")
    with pytest.raises(TooLarge, match="max_body_items"):
        counter.raise_if_full()
