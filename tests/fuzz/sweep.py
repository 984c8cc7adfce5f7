"""Exhaustive search: each value of each kind of recorded message is replaced by every JSON type, once.

Two messages are of one kind if the strings in their discriminators (`type`, `method`, …) are the same. Two values are
the same if they stand at the same path of messages of one kind, whatever the index in a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from tests.fuzz.mutations import JSON_TEXTS, Path, parse_line, replace_value
from tests.fuzz.runner import Case
from tests.fuzz.target import Sample, Target

DISCRIMINATORS = ("type", "subtype", "method", "sessionUpdate", "event", "kind", "role", "status", "name", "reason")
LINES_BEFORE = 40
"""Enough for the calls, messages and requests that a line refers to."""
LINES_AFTER = 6
MAX_PATH_LENGTH = 14
MAX_LIST_ITEMS = 3
MAX_MARK_CHARS = 40

Kind = tuple[Any, ...]


def sweep_cases(targets: list[Target], stride: int = 1) -> Iterator[Case]:
    """One case for each value and each JSON type; with a stride, only every n-th of them."""
    return (make_case() for make_case in islice(_cases(targets), 0, None, stride))


def _cases(targets: list[Target]) -> Iterator[Callable[[], Case]]:
    for target in targets:
        known: set[Kind] = set()
        for sample in target.samples if target.is_json else ():
            for at, line in enumerate(sample.lines):
                tree = parse_line(line)
                for path, kind in _values(tree):
                    if kind not in known:
                        known.add(kind)
                        for seed in range(len(JSON_TEXTS)):
                            yield partial(_make_case, target, sample, at, path, seed)


def _make_case(target: Target, sample: Sample, at: int, path: Path, seed: int) -> Case:
    before = sample.lines[max(0, at - LINES_BEFORE) : at]
    after = sample.lines[at + 1 : at + 1 + LINES_AFTER]
    line = replace_value(parse_line(sample.lines[at]), path, JSON_TEXTS[seed])
    return Case(target, sample, [*before, line, *after], seed)


def _values(node: Any, path: Path = (), kind: Kind = ()) -> Iterator[tuple[Path, Kind]]:
    """The path of every value, and its kind: the same path with discriminators instead of indexes."""
    if len(path) == MAX_PATH_LENGTH:
        return
    if isinstance(node, dict):
        marks = tuple(_mark(node.get(name)) for name in DISCRIMINATORS)
        for key, value in node.items():
            yield (*path, key), (*kind, key, marks)
            yield from _values(value, (*path, key), (*kind, key, marks))
    elif isinstance(node, list):
        for index, value in enumerate(node[:MAX_LIST_ITEMS]):
            yield (*path, index), (*kind, None)
            yield from _values(value, (*path, index), (*kind, None))


def _mark(value: Any) -> str | None:
    return value if isinstance(value, str) and len(value) < MAX_MARK_CHARS else None
