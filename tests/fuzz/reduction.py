"""A failing case → the smallest one that fails in the same way: lines are dropped, then keys and list items."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from tests.fuzz.mutations import Path, change_parent, parse_line

MAX_TRIES = 3000

Failure = tuple[str, str, int]
"""Type of the exception; file and line that raised it."""
Check = Callable[[list[bytes]], None]


def find_failure(check: Check, lines: list[bytes]) -> Failure | None:
    """How the check fails; None if it passes."""
    try:
        check(lines)
    except Exception as exc:
        return failure_of(exc)
    return None


def failure_of(exc: Exception) -> Failure:
    frame = traceback.extract_tb(exc.__traceback__)[-1]
    return type(exc).__name__, frame.filename, frame.lineno or 0


def reduce_case(check: Check, lines: list[bytes], failure: Failure) -> list[bytes]:
    """The lines without all that the failure does not need."""
    tries = iter(range(MAX_TRIES))
    smallest = list(lines)
    progress = True
    while progress:
        progress = False
        for candidate in _smaller_cases(smallest):
            if next(tries, None) is None:
                return smallest
            if find_failure(check, candidate) == failure:
                smallest = candidate
                progress = True
                break
    return smallest


def _smaller_cases(lines: list[bytes]) -> Iterator[list[bytes]]:
    size = len(lines) // 2
    while size:
        for start in range(0, len(lines), size):
            yield lines[:start] + lines[start + size :]
        size //= 2
    for at, line in enumerate(lines):
        tree = parse_line(line)
        for path in _paths(tree):
            smaller = orjson.dumps(change_parent(tree, path, lambda node, key: node.__delitem__(key)))
            yield [*lines[:at], smaller, *lines[at + 1 :]]


def _paths(tree: Any, path: Path = ()) -> Iterator[Path]:
    """Outer values first: one that can go takes all inside it along."""
    if isinstance(tree, dict | list):
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        for key in keys:
            yield (*path, key)
        for key in keys:
            yield from _paths(tree[key], (*path, key))
