"""The detail of an audit entry: bounded, and without secrets."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.audit.detail import MASK, MAX_DETAIL_BYTES, MAX_TEXT_CHARS, to_detail


def read(fields: dict[str, Any], *secrets: str) -> Any:
    return orjson.loads(to_detail(fields, secrets))


def test_plain_values_stay_as_they_are() -> None:
    fields = {"model": "opus", "count": 3, "edited": False, "args": ["-v"], "nested": {"path": "/tmp/x"}, "none": None}
    assert read(fields) == {name: value for name, value in fields.items() if name != "none"}


@pytest.mark.parametrize(
    "fields",
    [
        {"API_KEY": "hunter2hunter2"},
        {"headers": {"Authorization": "hunter2hunter2"}},
        {"env": [{"password": "hunter2hunter2"}]},
        {"command": "curl -H 'Authorization: Bearer hunter2hunter2'"},
        {"command": "OPENAI_API_KEY=hunter2hunter2 run"},
        {"command": "git clone https://me:hunter2hunter2@example.org/x"},
        {"text": "sk-ant-hunter2hunter2"},
        {"hunter2hunter2": 1},
        {"deep": {"list": [{"text": "see hunter2hunter2"}]}},
    ],
)
def test_a_secret_is_masked_wherever_it_stands(fields: dict[str, Any]) -> None:
    text = to_detail(fields, ["hunter2hunter2"]).decode()
    assert "hunter2hunter2" not in text
    assert MASK in text


@pytest.mark.parametrize("text", ["sk-proj-0123456789abcdef", "ghp_0123456789abcdefghij", "AKIA0123456789ABCDEF"])
def test_well_known_tokens_are_masked_though_the_gateway_does_not_have_them(text: str) -> None:
    assert text not in to_detail({"command": f"echo {text}"}).decode()


def test_a_secret_at_the_edge_of_the_bound_is_masked_too() -> None:
    text = "x" * (MAX_TEXT_CHARS - 5) + " hunter2hunter2"
    assert "hunter" not in read({"text": text}, "hunter2hunter2")["text"]


def test_long_and_deep_values_are_cut() -> None:
    deep: Any = "bottom"
    for _ in range(50):
        deep = {"level": deep}
    detail = to_detail({"text": "x" * 100_000, "items": list(range(100_000)), "deep": deep})
    assert len(detail) <= MAX_DETAIL_BYTES
    assert b"bottom" not in detail


def test_many_long_fields_stay_within_the_bound_together() -> None:
    detail = to_detail({f"field{number}": "x" * 499 for number in range(5000)})
    assert len(detail) <= MAX_DETAIL_BYTES


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
)


@given(st.dictionaries(st.text(), JSON))
def test_anything_becomes_a_small_json_object(fields: dict[str, Any]) -> None:
    detail = to_detail(fields, ["secret-value"])
    assert isinstance(orjson.loads(detail), dict)
    assert len(detail) <= MAX_DETAIL_BYTES
