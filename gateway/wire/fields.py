"""Typed readers of foreign JSON.

In: any JSON value that an agent sent. Out: a value of the type that the caller needs; a value of another type reads as
absent, a list item of another type is skipped. Never: an exception. ACP asks clients to tolerate malformed optional
fields, and real agents send them, so every dialect reads foreign JSON through these functions only.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import orjson

from gateway.errors import AgentFault
from gateway.jsonio import dumps, is_deeper

MESSAGE_MAX_DEPTH = 150
"""Levels of objects and lists in a message. An AG-UI event around a part of it must stay below `jsonio.MAX_DEPTH`."""

COUNT_MAX = 2**53 - 1
"""AG-UI's limit for a count. A larger one would fail the run at its last event."""


def obj(value: Any) -> dict[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def value_at(value: Any, *keys: str) -> Any:
    """The value below these keys, one object inside the other; None where one of them is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def items(value: Any) -> list[dict[str, Any]]:
    """The objects in a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def strings(value: Any) -> list[str]:
    """The strings in a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def unique_strings(value: Any) -> list[str]:
    """The strings in a list that are not empty, each once: a JSON Schema that lists one twice matches neither."""
    return list(dict.fromkeys(item for item in strings(value) if item))


def text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def non_empty(value: Any) -> str | None:
    """A string with at least one character: an id, a name."""
    return value if isinstance(value, str) and value else None


def flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def integer(value: Any) -> int | None:
    """A whole number of either sign: an exit code, an index, a line. A bool is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(value: Any) -> float | None:
    """A finite number. A bool is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return value if isfinite(value) else None
    except OverflowError:  # an integer beyond every float
        return None


def amount(value: Any) -> float | None:
    """A number above zero: a price, a duration."""
    known = number(value)
    return known if known is not None and known > 0 else None


def count(value: Any) -> int | None:
    """A number of tokens. A float without a fraction counts; a bool does not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    whole = integer(value)
    return whole if whole is not None and 0 <= whole <= COUNT_MAX else None


def named_values(value: Any) -> dict[str, str]:
    """`[{"name", "value"}]`, ACP's form of environment variables and headers, or an object → an object of texts."""
    if isinstance(value, Mapping):
        return {str(name): str(item) for name, item in value.items()}
    entries = [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []
    return {str(entry["name"]): str(entry.get("value", "")) for entry in entries if "name" in entry}


def has_marker(value: Any) -> bool:
    """A capability marker: `true`, or any object, also an empty one."""
    return value is True or isinstance(value, dict)


def present(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that are neither absent nor empty."""
    return {key: value for key, value in fields.items() if value is not None and value != [] and value != ""}


def parse_json(value: str | bytes) -> Any:
    """The JSON value in a text; None for a text that is no JSON, or nested so deep that no event could carry it."""
    try:
        parsed = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    return None if is_deeper(value.encode() if isinstance(value, str) else value, MESSAGE_MAX_DEPTH) else parsed


def json_text(value: Any) -> str:
    """The value as compact JSON. What cannot be written (nested too deep) is replaced by the reason."""
    try:
        return dumps(value).decode()
    except AgentFault as fault:
        return dumps({"unreadable": fault.detail}).decode()


def if_small(value: Any, max_chars: int, otherwise: Any = None) -> Any:
    """The value, unless its JSON is longer than this."""
    return value if len(json_text(value)) <= max_chars else otherwise


def without_meta(value: Any, levels: int = 100) -> Any:
    """The same value without any `_meta`: vendors keep there what is not for end users (masked keys, whole skill
    texts)."""
    if levels == 0:
        return None
    if isinstance(value, dict):
        return {key: without_meta(item, levels - 1) for key, item in value.items() if key != "_meta"}
    return [without_meta(item, levels - 1) for item in value] if isinstance(value, list) else value
