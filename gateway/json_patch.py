"""The difference of two JSON values as a JSON Patch (RFC 6902), and paths as JSON Pointers (RFC 6901).

In: a value before and after a change. Out: the operations `add`, `remove` and `replace` that turn one into the other.
Never: a change of either value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Operation = dict[str, Any]
Patch = list[Operation]


def diff(before: Any, after: Any, *, into_lists: bool = False) -> Patch:
    """Objects are compared key by key. A list is replaced whole, as it is one value of a capability layer;
    `into_lists`: it is compared item by item, as it is the smallest patch of an activity."""
    return list(_operations(before, after, "", into_lists))


def pointer(path: Iterable[str | int]) -> str:
    """A JSON Pointer to the value below these keys and indexes."""
    return "".join(f"/{escape_key(str(key))}" for key in path)


def escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: for Python, `True` and `1` are equal, and so are `1` and `1.0`."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _operations(before: Any, after: Any, path: str, into_lists: bool) -> Iterator[Operation]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _compare_objects(before, after, path, into_lists)
    elif into_lists and isinstance(before, list) and isinstance(after, list):
        yield from _compare_lists(before, after, path)
    elif not same(before, after):
        yield {"op": "replace", "path": path, "value": after}


def _compare_objects(before: dict[str, Any], after: dict[str, Any], path: str, into_lists: bool) -> Iterator[Operation]:
    yield from ({"op": "remove", "path": f"{path}/{escape_key(key)}"} for key in before if key not in after)
    for key, value in after.items():
        member = f"{path}/{escape_key(key)}"
        if key in before:
            yield from _operations(before[key], value, member, into_lists)
        else:
            yield {"op": "add", "path": member, "value": value}


def _compare_lists(before: list[Any], after: list[Any], path: str) -> Iterator[Operation]:
    for index, (old, new) in enumerate(zip(before, after, strict=False)):
        yield from _operations(old, new, f"{path}/{index}", True)
    for index in range(len(before) - 1, len(after) - 1, -1):
        yield {"op": "remove", "path": f"{path}/{index}"}
    for value in after[len(before) :]:
        yield {"op": "add", "path": f"{path}/-", "value": value}
