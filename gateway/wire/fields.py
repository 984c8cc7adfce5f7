"""Fields of a foreign message, read leniently: a value of the wrong type is an absent one, a bad list item is skipped.

In: whatever an agent sent. Out: values of the type asked for. Never raises: the schema itself asks readers to put up
with bad optional fields, and real agents send them.
"""

from __future__ import annotations

from typing import Any

from gateway.errors import AgentFault
from gateway.jsonio import dumps

COUNT_MAX = 2**53 - 1
"""AG-UI's limit for a count; larger ones fail a run at its last event."""


def obj(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[dict[str, Any]]:
    """The objects in a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def non_empty(value: Any) -> str | None:
    """A text that says something: an id, a name."""
    return value if isinstance(value, str) and value else None


def strings(value: Any) -> list[str]:
    """The non-empty strings in a list."""
    return [item for item in value if isinstance(item, str) and item] if isinstance(value, list) else []


def count(value: Any) -> int | None:
    """A number of tokens. A float without a fraction counts; a bool does not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= COUNT_MAX
    return value if good else None


def marked(value: Any) -> bool:
    """A capability marker: `true`, or any object, also an empty one."""
    return value is True or isinstance(value, dict)


def present(fields: dict[str, Any]) -> dict[str, Any]:
    """Without what is absent or empty."""
    return {key: value for key, value in fields.items() if value is not None and value != [] and value != ""}


def json_text(value: Any) -> str:
    """The value as compact JSON. What cannot be written (nested too deep) is told in its place."""
    try:
        return dumps(value).decode()
    except AgentFault as fault:
        return dumps({"unreadable": fault.detail}).decode()


def without_meta(value: Any, levels: int = 100) -> Any:
    """The same value with every `_meta` taken out: vendors keep there what is not for end users (masked keys, whole
    skill texts)."""
    if levels == 0:
        return None
    if isinstance(value, dict):
        return {key: without_meta(item, levels - 1) for key, item in value.items() if key != "_meta"}
    return [without_meta(item, levels - 1) for item in value] if isinstance(value, list) else value
