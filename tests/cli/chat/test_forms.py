"""What a typed line means, by a field's schema."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.cli.chat.forms import choices, read

TITLED: dict[str, Any] = {"oneOf": [{"const": "a", "title": "First"}, {"const": "b"}]}


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"enum": ["a", "b"]}, [("a", "a"), ("b", "b")]),
        ({"enum": [1, 2], "enumNames": ["one", "two"]}, [(1, "one"), (2, "two")]),
        ({"enum": [1, 2], "enumNames": ["one"]}, [(1, "1"), (2, "2")]),
        (TITLED, [("a", "First"), ("b", "b")]),
        ({"type": "array", "items": {"anyOf": TITLED["oneOf"]}}, [("a", "First"), ("b", "b")]),
        ({"type": "string"}, []),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, []),
    ],
)
def test_choices_are_found_wherever_a_schema_has_them(schema: dict[str, Any], found: list[Any]) -> None:
    assert choices(schema) == found


@pytest.mark.parametrize(
    ("typed", "schema", "value"),
    [
        ("2", TITLED, "b"),
        ("First", TITLED, "a"),
        ("b", TITLED, "b"),
        ("2", {"enum": ["2", "1"]}, "1"),  # the number comes first: it is what is shown
        ("1, b", {"type": "array", "items": TITLED}, ["a", "b"]),
        ("Yes", {"type": "boolean"}, True),
        ("n", {"type": "boolean"}, False),
        ("-7", {"type": "integer"}, -7),
        ("1.5", {"type": "number"}, 1.5),
        ('{"a": [1]}', {"type": "object"}, {"a": [1]}),
        ("[1, 2]", {"type": "array"}, [1, 2]),
        ("7", {"type": "string"}, "7"),
        ("anything", {}, "anything"),
    ],
)
def test_a_line_is_read_as_the_field_wants_it(typed: str, schema: dict[str, Any], value: Any) -> None:
    assert read(typed, schema, choices(schema)) == value


@pytest.mark.parametrize(
    ("typed", "schema", "says"),
    [
        ("3", TITLED, "one of 1 to 2"),
        ("perhaps", {"type": "boolean"}, "yes or no?"),
        ("1.5", {"type": "integer"}, "whole number"),
        ("x", {"type": "number"}, "not a number"),
        ("{", {"type": "object"}, "JSON"),
    ],
)
def test_a_line_that_is_none_is_answered_with_what_is_expected(typed: str, schema: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read(typed, schema, choices(schema))
