from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import math
import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.errors import AgentFault, NotJson
from gateway.jsonio import MAX_DEPTH, dumps, loads

tried = settings(deadline=None, max_examples=100)

texts = st.text(st.characters(), max_size=20)
"""With lone surrogates."""
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


def custom(value: Any) -> dict[str, Any]:
    return {"type": "CUSTOM", "name": "n", "value": value}


# ---- writing


@tried
@given(values)
def test_whatever_json_has_is_written_as_one_line(value: Any) -> None:
    line = dumps(custom(value))
    assert not {10, 13} & set(line)
    # JavaScript's own reading of surrogates: two halves that meet are one character.
    joined = json.loads(json.dumps(custom(value)))
    assert json.loads(line) == joined


def test_a_lone_surrogate_is_escaped_as_javascript_does() -> None:
    assert dumps({"type": "RAW", "event": "cut \ud83d"}) == b'{"type":"RAW","event":"cut \\ud83d"}'
    assert dumps({"type": "RAW", "event": {"\ude42": 1}}) == b'{"type":"RAW","event":{"\\ude42":1}}'


@pytest.mark.parametrize("beside", ["", "\ud83d"], ids=["orjson", "by hand"])
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_have_is_null(number: float, beside: str) -> None:
    assert json.loads(dumps(custom([number, beside])))["value"] == [None, beside]


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1, 10**300])
def test_an_integer_of_any_size_is_written_in_digits(number: int) -> None:
    assert dumps(custom(number)).endswith(b'"value":%d}' % number)


class Level(enum.Enum):
    HIGH = "high"


@pytest.mark.parametrize("beside", ["", "\ud83d"], ids=["orjson", "by hand"])
def test_enums_uuids_and_tuples_are_taken_on_both_ways(beside: str) -> None:
    line = dumps(custom([Level.HIGH, uuid.UUID(int=1), (1, 2), beside]))
    assert json.loads(line)["value"] == ["high", "00000000-0000-0000-0000-000000000001", [1, 2], beside]


@dataclasses.dataclass
class Thing:
    a: int = 1


NOT_JSON: list[tuple[Any, str]] = [
    ({"when": [datetime.datetime(2030, 1, 1)]}, "at `value.when[0]` a datetime is not JSON"),
    (datetime.date(2030, 1, 1), "at `value` a date is not JSON"),
    ({1, 2}, "at `value` a set is not JSON"),
    (b"bytes", "at `value` a bytes is not JSON"),
    (Thing(), "at `value` a Thing is not JSON"),
    (object(), "at `value` an object is not JSON"),
    ({"a": {1: 2}}, "`value.a` has the key 1, which is not a string"),
    ({None: 2}, "`value` has the key None, which is not a string"),
    ([10**5000], "integer string conversion"),
]


@pytest.mark.parametrize(("value", "reason"), NOT_JSON, ids=[reason for _, reason in NOT_JSON])
def test_what_is_not_json_is_the_agents_fault_and_names_the_place(value: Any, reason: str) -> None:
    with pytest.raises(AgentFault) as caught:
        dumps(custom(value))
    assert "The agent's CUSTOM event cannot be written as JSON" in caught.value.detail
    assert reason in caught.value.detail


@pytest.mark.parametrize("event", [{"a": {1}}, {"type": 5, "a": {1}}, {"type": None, "a": {1}}])
def test_an_event_without_a_type_is_an_event(event: dict[str, Any]) -> None:
    with pytest.raises(AgentFault, match="The agent's event cannot be written as JSON: at `a` a set is not JSON"):
        dumps(event)


def nested(levels: int, kind: str = "list") -> Any:
    value: Any = {} if kind == "dict" else []
    for _ in range(levels - 1):
        value = {"k": value} if kind == "dict" else [value]
    return value


@pytest.mark.parametrize("kind", ["list", "dict"])
@pytest.mark.parametrize("beside", ["", "\ud83d"], ids=["orjson", "by hand"])
def test_an_event_may_be_200_levels_deep_and_no_more(kind: str, beside: str) -> None:
    deepest = custom(nested(MAX_DEPTH - 1, kind)) | {"name": beside}
    assert loads(dumps(deepest)) == deepest
    for levels in (MAX_DEPTH, MAX_DEPTH + 50, MAX_DEPTH + 60, 5000):
        with pytest.raises(AgentFault, match="CUSTOM event .* nested deeper than 200 levels"):
            dumps(custom(nested(levels, kind)) | {"name": beside})


def test_an_event_that_holds_itself_is_the_agents_fault() -> None:
    event = custom({})
    event["value"]["again"] = event
    with pytest.raises(AgentFault, match="or holds itself"):
        dumps(event)


def test_a_long_line_is_what_orjson_would_write() -> None:
    event = custom([{"text": 'brackets [[[ in "strings" \\', "n": number} for number in range(500)])
    assert json.loads(dumps(event)) == event


# ---- reading


@tried
@given(values)
def test_what_we_write_we_read(value: Any) -> None:
    assert loads(dumps(custom(value))) == json.loads(json.dumps(custom(value)))


@pytest.mark.parametrize("text", ['"\\ude42\\ud83d"', b'"\\ude42\\ud83d"', '"\ude42\ud83d"'])
def test_lone_surrogates_are_read(text: bytes | str) -> None:
    assert loads(text) == "\ude42\ud83d"


def test_a_huge_integer_is_read() -> None:
    assert loads("123456789012345678901234567890") == 123456789012345678901234567890.0
    assert loads(b"1" * 400) == int("1" * 400)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "[1,]",
        "{'a':1}",
        "NaN",
        "[Infinity]",
        "[-Infinity]",
        '["\\ud83d", NaN]',
        "1e400",
        "[1] 2",
        "01",
        '"\n"',
        "\ufeff{}",
        "1" * 5000,
        b"\xff",
        b'"\xed\xa0\xbd"',
        '{"a":1}'.encode("utf-16"),
        "// c\n1",
        "True",
    ],
)
def test_what_is_not_json_is_refused(text: bytes | str) -> None:
    with pytest.raises(NotJson):
        loads(text)


def test_the_refusal_names_the_value_and_the_place() -> None:
    with pytest.raises(NotJson, match="The text is not JSON: .*line 2 column 3"):
        loads('{\n  ]"')


def deep(levels: int, kind: str = "[") -> str:
    opening, closing = {"[": ("[", "]"), "{": ('{"k":', "}")}[kind]
    return opening * (levels - 1) + (kind + closing[-1]) + closing * (levels - 1)


@pytest.mark.parametrize("kind", ["[", "{"])
@pytest.mark.parametrize("limit", [1, 3, 15, 16, 17, 18, 40, 200, 300])
def test_depth_is_bounded_exactly(kind: str, limit: int) -> None:
    for text in (deep(limit, kind), deep(limit, kind).encode()):
        loads(text, limit)
    for levels in (limit + 1, limit + 2, 1000, 3000, 200_000):
        with pytest.raises(NotJson, match=r"nested"):
            loads(deep(levels, kind), limit)


def test_depth_is_found_behind_a_lone_surrogate() -> None:
    with pytest.raises(NotJson, match="nested deeper than 200 levels"):
        loads('["\\ud83d",' + deep(200) + "]")


@pytest.mark.parametrize(
    "noise",
    ["[" * 500, "]" * 500, "{" * 500, '\\"[' * 300, "\\\\", '\\\\\\"]', '\\n\\\\\\"}' * 100, "\\u005c[" * 300],
)
def test_brackets_in_strings_count_for_nothing(noise: str) -> None:
    shallow = f'["{noise}","{noise}",{{"{noise}":"{noise}"}},{deep(199)},"{noise}"]'
    loads(shallow)
    with pytest.raises(NotJson, match="nested deeper than 200 levels"):
        loads(f'["{noise}","{noise}",{{"{noise}":"{noise}"}},{deep(200)},"{noise}"]')


def depth(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@tried
@given(
    st.recursive(
        st.text('[]{}"\\x', max_size=6),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('[]{}"\\', max_size=3), inner, max_size=3),
    )
)
def test_the_depth_found_is_the_depth_there_is(value: Any) -> None:
    text, levels = json.dumps(value), depth(value)
    assert loads(text, max(levels, 1)) == value
    if levels > 1:
        with pytest.raises(NotJson):
            loads(text, levels - 1)
