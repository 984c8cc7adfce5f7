"""A form, field by field, from a JSON schema.

In: a schema, the lines that a person types. Out: the object that was filled in. What is typed is held against the
field's schema at once, and asked for again with the reason; the whole is checked by the gateway.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import orjson
from rich.console import Console
from rich.text import Text

from gateway.cli.output.terminal import harmless

YES, NO = ("y", "yes", "true", "1"), ("n", "no", "false", "0")
MISSING = object()


class FormAbandoned(Exception):
    """Ctrl-D: no answer."""


class Form:
    def __init__(self, console: Console) -> None:
        self._console = console

    def fill(self, schema: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> Any:
        """`given`: values to keep by an empty line. A schema of something else than an object is one field."""
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return self._ask("answer", schema, required=True, default=MISSING)
        required, filled = schema.get("required", ()), dict(given or {})
        for name, field in properties.items():
            told = field if isinstance(field, dict) else {}
            value = self._ask(name, told, name in required, filled.get(name, told.get("default", MISSING)))
            if value is not MISSING:
                filled[name] = value
        return filled

    def _ask(self, name: str, schema: Mapping[str, Any], required: bool, default: Any) -> Any:
        options = choices(schema)
        self._introduce(name, schema, options, required, default)
        while True:
            typed = self._line()
            if not typed and (default is not MISSING or not required):
                return default
            try:
                value = read(typed, schema, options)
            except ValueError as exc:
                self._say(f"  {exc}", "yellow")
                continue
            if (wrong := _against(value, schema)) is None:
                return value
            self._say(f"  {wrong}", "yellow")

    def _introduce(
        self, name: str, schema: Mapping[str, Any], options: list[tuple[Any, str]], required: bool, default: Any
    ) -> None:
        title, about = schema.get("title"), schema.get("description")
        words = [str(title) if title else name, f"({about})" if about else "", "" if required else "[optional]"]
        self._say(" ".join(word for word in words if word), "bold")
        for number, (_, label) in enumerate(options, 1):
            self._say(f"  {number}  {label}", "")
        shown = "" if default is MISSING else f"[{_text(default)}] "
        kind = " y/n" if schema.get("type") == "boolean" else ""
        self._console.print(Text(harmless(f"{shown}>{kind} "), "dim"), end="")

    def _line(self) -> str:
        typed = sys.stdin.readline()
        if not typed:
            raise FormAbandoned
        return typed.strip()

    def _say(self, words: str, style: str) -> None:
        self._console.print(Text(harmless(words), style))


def choices(schema: Mapping[str, Any]) -> list[tuple[Any, str]]:
    """(value, what it is called) of a field that is chosen from a list; of an array, its items."""
    items = schema.get("items")
    told = items if schema.get("type") == "array" and isinstance(items, dict) else schema
    for key in ("oneOf", "anyOf"):
        named = [option for option in told.get(key, ()) if isinstance(option, dict) and "const" in option]
        if named:
            return [(option["const"], str(option.get("title", option["const"]))) for option in named]
    names = told.get("enumNames")
    values = told.get("enum", ())
    labels = names if isinstance(names, list) and len(names) == len(values) else values
    return [(value, str(label)) for value, label in zip(values, labels, strict=True)]


def read(typed: str, schema: Mapping[str, Any], options: list[tuple[Any, str]]) -> Any:
    """What a line means. Raises `ValueError` with what is expected."""
    if schema.get("type") == "array" and options:
        return [_chosen(part.strip(), options) for part in typed.split(",") if part.strip()]
    if options:
        return _chosen(typed, options)
    match schema.get("type"):
        case "boolean":
            if typed.lower() not in (*YES, *NO):
                raise ValueError("yes or no?")
            return typed.lower() in YES
        case "integer" | "number" as kind:
            try:
                return int(typed) if kind == "integer" else float(typed)
            except ValueError:
                raise ValueError("that is not a number" if kind == "number" else "that is not a whole number") from None
        case "object" | "array":
            try:
                return orjson.loads(typed)
            except ValueError:
                raise ValueError("this is written as JSON") from None
        case _:
            return typed


def _chosen(typed: str, options: list[tuple[Any, str]]) -> Any:
    """By number, by value or by name."""
    if typed.isdigit() and 1 <= int(typed) <= len(options):
        return options[int(typed) - 1][0]
    for value, label in options:
        if typed in (label, value):
            return value
    raise ValueError(f"one of 1 to {len(options)}")


def _against(value: Any, schema: Mapping[str, Any]) -> str | None:
    from jsonschema import Draft202012Validator  # a form is rare, and this slow to import
    from referencing import Registry

    try:
        # An empty registry: the default one would fetch what a schema refers to from the network.
        errors = list(Draft202012Validator(dict(schema), registry=Registry()).iter_errors(value))
    except Exception:  # of whatever kind: a schema that is none must not keep anybody from answering
        return None
    return errors[0].message if errors else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
