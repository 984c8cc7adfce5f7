"""What a typed line means, by a field's schema."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.cli.chat.forms import list_choices, parse_line

TITLED: dict[str, Any] = {"oneOf": [{"const": "a", "title": "First"}, {"const": "b"}]}


@pytest.mark.parametrize(
    ("schema", "choices"),
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
def test_choices_are_read_from_every_form_of_schema(schema: dict[str, Any], choices: list[Any]) -> None:
    assert list_choices(schema) == choices


@pytest.mark.parametrize(
    ("line", "schema", "value"),
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
def test_a_line_is_parsed_as_its_field_requires(line: str, schema: dict[str, Any], value: Any) -> None:
    assert parse_line(line, schema, list_choices(schema)) == value


@pytest.mark.parametrize(
    ("line", "schema", "message"),
    [
        ("3", TITLED, "from 1 to 2"),
        ("perhaps", {"type": "boolean"}, "yes or no"),
        ("1.5", {"type": "integer"}, "whole number"),
        ("x", {"type": "number"}, "enter a number"),
        ("{", {"type": "object"}, "JSON"),
    ],
)
def test_an_invalid_line_is_refused_with_what_is_expected(line: str, schema: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_line(line, schema, list_choices(schema))
