"""Two JSON values → the JSON Patch that turns one into the other, as small as comparing place by place makes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Operation = dict[str, Any]


def difference(old: Any, new: Any, path: str = "") -> list[Operation]:
    return list(_compare(old, new, path))


def _compare(old: Any, new: Any, path: str) -> Iterator[Operation]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _objects(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _lists(old, new, path)
    elif type(old) is not type(new) or old != new:  # 1 == True in Python; in JSON they differ
        yield {"op": "replace", "path": path, "value": new}


def _objects(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Operation]:
    for key in old:
        if key not in new:
            yield {"op": "remove", "path": f"{path}/{_escaped(key)}"}
    for key, value in new.items():
        place = f"{path}/{_escaped(key)}"
        if key in old:
            yield from _compare(old[key], value, place)
        else:
            yield {"op": "add", "path": place, "value": value}


def _lists(old: list[Any], new: list[Any], path: str) -> Iterator[Operation]:
    for at, (before, after) in enumerate(zip(old, new, strict=False)):
        yield from _compare(before, after, f"{path}/{at}")
    for at in range(len(old) - 1, len(new) - 1, -1):
        yield {"op": "remove", "path": f"{path}/{at}"}
    for value in new[len(old) :]:
        yield {"op": "add", "path": f"{path}/-", "value": value}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
