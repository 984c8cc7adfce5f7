"""A form, field by field, from a JSON Schema.

In: a schema and the lines that the user types. Out: the object that was filled in. Each line is checked against its
field's schema at once and asked for again with the reason; the gateway checks the whole.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import orjson
from rich.console import Console
from rich.text import Text

from gateway.cli.output.terminal import printable

TRUE_INPUTS = ("y", "yes", "true", "1")
FALSE_INPUTS = ("n", "no", "false", "0")
MISSING = object()


class FormAbandoned(Exception):
    """The user pressed Ctrl-D or Escape: there is no answer."""


class Form:
    """Asks for the fields on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def fill(self, schema: Mapping[str, Any], values: Mapping[str, Any] | None = None) -> Any:
        """`values`: kept by an empty line. A schema that is not an object is a single field."""
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return self._ask("answer", schema, required=True, default=MISSING)
        required = schema.get("required", ())
        filled = dict(values or {})
        for name, field in properties.items():
            field_schema = field if isinstance(field, dict) else {}
            default = filled.get(name, field_schema.get("default", MISSING))
            value = self._ask(name, field_schema, name in required, default)
            if value is not MISSING:
                filled[name] = value
        return filled

    def _ask(self, name: str, schema: Mapping[str, Any], required: bool, default: Any) -> Any:
        options = list_choices(schema)
        self._print_field(name, schema, options, required, default)
        while True:
            line = self._read_line()
            if not line and (default is not MISSING or not required):
                return default
            try:
                value = parse_line(line, schema, options)
            except ValueError as exc:
                self._print(f"  {exc}", "yellow")
                continue
            if (problem := _validate(value, schema)) is None:
                return value
            self._print(f"  {problem}", "yellow")

    def _print_field(
        self, name: str, schema: Mapping[str, Any], options: list[tuple[Any, str]], required: bool, default: Any
    ) -> None:
        title = schema.get("title")
        description = schema.get("description")
        parts = [
            str(title) if title else name,
            f"({description})" if description else "",
            "" if required else "[optional]",
        ]
        self._print(" ".join(part for part in parts if part), "bold")
        for number, (_, label) in enumerate(options, 1):
            self._print(f"  {number}  {label}", "")
        current = "" if default is MISSING else f"[{_format(default)}] "
        kind = " y/n" if schema.get("type") == "boolean" else ""
        self._console.print(Text(printable(f"{current}>{kind} "), "dim"), end="")

    def _read_line(self) -> str:
        line = sys.stdin.readline()
        if not line:
            raise FormAbandoned
        return line.strip()

    def _print(self, text: str, style: str) -> None:
        self._console.print(Text(printable(text), style))


def list_choices(schema: Mapping[str, Any]) -> list[tuple[Any, str]]:
    """(value, label) of a field whose value is chosen from a list; for an array, those of its items."""
    items = schema.get("items")
    choice = items if schema.get("type") == "array" and isinstance(items, dict) else schema
    for key in ("oneOf", "anyOf"):
        named = [option for option in choice.get(key, ()) if isinstance(option, dict) and "const" in option]
        if named:
            return [(option["const"], str(option.get("title", option["const"]))) for option in named]
    names = choice.get("enumNames")
    values = choice.get("enum", ())
    labels = names if isinstance(names, list) and len(names) == len(values) else values
    return [(value, str(label)) for value, label in zip(values, labels, strict=True)]


def parse_line(line: str, schema: Mapping[str, Any], options: list[tuple[Any, str]]) -> Any:
    """The value of a line. Raises `ValueError` with what is expected."""
    if schema.get("type") == "array" and options:
        return [_choose(part.strip(), options) for part in line.split(",") if part.strip()]
    if options:
        return _choose(line, options)
    match schema.get("type"):
        case "boolean":
            if line.lower() not in (*TRUE_INPUTS, *FALSE_INPUTS):
                raise ValueError("enter yes or no")
            return line.lower() in TRUE_INPUTS
        case "integer" | "number" as kind:
            try:
                return int(line) if kind == "integer" else float(line)
            except ValueError:
                raise ValueError("enter a number" if kind == "number" else "enter a whole number") from None
        case "object" | "array":
            try:
                return orjson.loads(line)
            except ValueError:
                raise ValueError("enter JSON") from None
        case _:
            return line


def _choose(entry: str, options: list[tuple[Any, str]]) -> Any:
    """By number, by value or by label."""
    if entry.isdigit() and 1 <= int(entry) <= len(options):
        return options[int(entry) - 1][0]
    for value, label in options:
        if entry in (label, value):
            return value
    raise ValueError(f"enter a number from 1 to {len(options)}")


def _validate(value: Any, schema: Mapping[str, Any]) -> str | None:
    from jsonschema import Draft202012Validator  # slow to import, and forms are rare
    from referencing import Registry

    try:
        # An empty registry: the default one would fetch referenced schemas from the network.
        errors = list(Draft202012Validator(dict(schema), registry=Registry()).iter_errors(value))
    except Exception:  # an invalid schema must not keep the user from answering
        return None
    return errors[0].message if errors else None


def _format(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
