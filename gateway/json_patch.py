"""The difference of two JSON values as a JSON Patch (RFC 6902).

In: what was known and what is so now. Out: operations that lead from one to the other: `add`, `remove`, `replace`,
objects key by key. A list is a leaf, as it is in a layer: it is replaced whole. Neither value is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Patch = list[dict[str, Any]]


def diff(before: Any, after: Any) -> Patch:
    return list(_operations(before, after, ""))


def _operations(before: Any, after: Any, path: str) -> Iterator[dict[str, Any]]:
    if not (isinstance(before, dict) and isinstance(after, dict)):
        if not same(before, after):
            yield {"op": "replace", "path": path, "value": after}
        return
    yield from ({"op": "remove", "path": f"{path}/{_escaped(key)}"} for key in before if key not in after)
    for key, value in after.items():
        place = f"{path}/{_escaped(key)}"
        if key in before:
            yield from _operations(before[key], value, place)
        else:
            yield {"op": "add", "path": place, "value": value}


def same(one: Any, other: Any) -> bool:
    """Alike as JSON: for Python, `True` and `1` are equal, and so are `1` and `1.0`."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _escaped(key: str) -> str:
    """As a step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
