"""Annotated types of fields: option names, command lines, HTTP headers. Validators and schema agree."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from gateway.catalog.capability_table import camel
from gateway.catalog.problems import suggest_name
from gateway.turn import Options

OPTIONS = tuple(camel(field.name) for field in fields(Options) if field.name != "merge_window_ms")
"""The names in `forwardedProps.gateway`; the window is a part of `merge` there. The gateway itself handles `merge`,
`strict` and `onDisconnect` for every agent, `worktree` for every agent that works in a folder, so listing them changes
nothing."""

_TOKEN = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"  # RFC 9110, 5.6.2
_LINE = r"^([!-~]([ \t!-~]*[!-~])?)?$"  # RFC 9110, 5.5, ASCII only: the HTTP client refuses anything else
_PROGRAM = {"type": "string", "pattern": r"\S"}


def _check_option(name: str) -> str:
    if name in OPTIONS:
        return name
    similar = suggest_name(name, OPTIONS)
    hint = "" if similar is None else f" Did you mean {similar}?"
    raise ValueError(f"there is no such option.{hint} Known: {', '.join(OPTIONS)}.")


def _check_program(line: tuple[str, ...]) -> tuple[str, ...]:
    if line and not line[0].strip():
        raise ValueError("the first item is the program and must not be empty")
    return line


def _check_header_name(name: str) -> str:
    if not re.fullmatch(_TOKEN, name):
        raise ValueError("is not the name of an HTTP header: letters, digits and !#$%&'*+-.^_`|~ only")
    return name


def check_header_value(value: str) -> str:
    """Returns the value. Raises `ValueError` without the value in its text: it may be a secret."""
    if not re.fullmatch(_LINE, value):
        raise ValueError("must be one line of ASCII, without spaces at its ends")
    return value


OptionName = Annotated[str, AfterValidator(_check_option), WithJsonSchema({"type": "string", "enum": [*OPTIONS]})]
OptionNames = tuple[OptionName, ...]

CommandLine = Annotated[
    tuple[str, ...], AfterValidator(_check_program), Field(json_schema_extra={"prefixItems": [{**_PROGRAM}]})
]
"""A program and its arguments; empty: none."""

HeaderName = Annotated[str, AfterValidator(_check_header_name)]
HeaderValue = Annotated[str, AfterValidator(check_header_value), WithJsonSchema({"type": "string", "pattern": _LINE})]
Headers = Annotated[
    dict[HeaderName, HeaderValue], Field(json_schema_extra={"propertyNames": {"type": "string", "pattern": _TOKEN}})
]
