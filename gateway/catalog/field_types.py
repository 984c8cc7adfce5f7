"""Words of an agent's file that are more than text. Each is checked where it stands, and the schema says the same."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from gateway.catalog.capability_table import camel
from gateway.catalog.problems import meant
from gateway.turn import Options

OPTIONS = tuple(camel(field.name) for field in fields(Options) if field.name != "merge_window_ms")
"""The names in `forwardedProps.gateway`; the window is a part of `merge` there. Those that the gateway carries out for
every agent (`merge`, `strict`, `onDisconnect`) may be listed too: it changes nothing."""

_TOKEN = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"  # RFC 9110, 5.6.2
_LINE = r"^([!-~]([ \t!-~]*[!-~])?)?$"  # RFC 9110, 5.5, without what is beyond ASCII: the HTTP client refuses that
_PROGRAM = {"type": "string", "pattern": r"\S"}


def _option(name: str) -> str:
    if name in OPTIONS:
        return name
    near = meant(name, OPTIONS)
    hint = "" if near is None else f" Did you mean {near}?"
    raise ValueError(f"there is no such option.{hint} Known: {', '.join(OPTIONS)}.")


def _program(line: tuple[str, ...]) -> tuple[str, ...]:
    if line and not line[0].strip():
        raise ValueError("the first item is the program, and must not be empty")
    return line


def _header_name(name: str) -> str:
    if not re.fullmatch(_TOKEN, name):
        raise ValueError("is no name of an HTTP header: letters, digits and !#$%&'*+-.^_`|~ only")
    return name


def header_value(value: str) -> str:
    """Raises `ValueError`, without the value: it may be a secret."""
    if not re.fullmatch(_LINE, value):
        raise ValueError("must be one line of ASCII, with no space at either end")
    return value


OptionName = Annotated[str, AfterValidator(_option), WithJsonSchema({"type": "string", "enum": [*OPTIONS]})]
OptionNames = tuple[OptionName, ...]

CommandLine = Annotated[
    tuple[str, ...], AfterValidator(_program), Field(json_schema_extra={"prefixItems": [{**_PROGRAM}]})
]
"""A program and its arguments; empty: there is none."""

HeaderName = Annotated[str, AfterValidator(_header_name)]
HeaderValue = Annotated[str, AfterValidator(header_value), WithJsonSchema({"type": "string", "pattern": _LINE})]
Headers = Annotated[
    dict[HeaderName, HeaderValue], Field(json_schema_extra={"propertyNames": {"type": "string", "pattern": _TOKEN}})
]
