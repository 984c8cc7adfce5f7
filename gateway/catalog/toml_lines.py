"""The line of a key in a TOML text: `tomllib` does not report lines.

In: the text, and a place as the loader names it (`("models", 2, "price", "input")`). Out: the line, from 1, of that
key, or of the innermost table around it that the text contains. It parses only headers and keys; values are skipped by
their brackets and quotes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from itertools import takewhile

from gateway.catalog.problems import Place

_HEADER = re.compile(r"\[\[?\s*(?P<keys>[^\]]+?)\s*\]\]?\s*(#.*)?$")
_PART = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|[A-Za-z0-9_-]+")
_KEY = re.compile(rf"\s*(?P<keys>(?:{_PART.pattern})(?:\s*\.\s*(?:{_PART.pattern}))*)\s*=")
_QUOTES = ('"""', "'''", '"', "'")


def line_of(text: str, place: Place) -> int:
    """1 where the text contains no part of the place."""
    best = 0
    line = 1
    for number, key in _keys(text):
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(key, place, strict=False)))
        if common > best and common in (len(key), len(place)):
            best = common
            line = number
    return line


def _keys(text: str) -> Iterator[tuple[int, Place]]:
    """Every header and key, with its line."""
    table: Place = ()
    counts: dict[Place, int] = {}
    open_until: str | None = None
    depth = 0
    for number, line in enumerate(text.splitlines(), 1):
        if open_until is None and not depth:
            if header := _HEADER.match(line.strip()):
                table = _with_indexes(_names(header["keys"]), counts, is_list=line.strip().startswith("[["))
                yield number, table
                continue
            if key := _KEY.match(line):
                whole = (*table, *_names(key["keys"]))
                yield number, whole
                yield from ((number, (*whole, *inner)) for inner in _inline_keys(line[key.end() :]))
        depth, open_until = _state_after(line, depth, open_until)


def _inline_keys(value: str) -> Iterator[Place]:
    """Keys of an inline table, one level down."""
    if value.strip().startswith("{"):
        for match in re.finditer(rf"[{{,]{_KEY.pattern}", value):
            yield _names(match["keys"])


def _names(keys: str) -> Place:
    return tuple(_unquote(part) for part in _PART.findall(keys))


def _unquote(part: str) -> str:
    if part[0] not in "\"'":
        return part
    return str(tomllib.loads(f"x = {part}")["x"])


def _with_indexes(names: Place, counts: dict[Place, int], *, is_list: bool) -> Place:
    """The third `[[models]]` is `models.2`, and a `[models.price]` after it belongs to it."""
    place: Place = ()
    for is_last, name in ((index == len(names) - 1, name) for index, name in enumerate(names)):
        place = (*place, name)
        if is_last and is_list:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place = (*place, counts[place])
    return place


def _state_after(line: str, depth: int, open_until: str | None) -> tuple[int, str | None]:
    """The depth of brackets, and the quote of the open multi-line string, at the start of the next line."""
    at = 0
    while at < len(line):
        if open_until is not None:
            end = _end_of_string(line, at, open_until)
            if end < 0:
                return depth, open_until if len(open_until) == 3 else None
            at, open_until = end, None
        elif line[at] == "#":
            break
        elif quote := next((mark for mark in _QUOTES if line.startswith(mark, at)), None):
            at, open_until = at + len(quote), quote
        else:
            depth += (line[at] in "[{") - (line[at] in "]}")
            at += 1
    # The brackets of headers are not counted: headers are handled before this.
    return max(depth, 0), open_until if open_until is not None and len(open_until) == 3 else None


def _end_of_string(line: str, at: int, quote: str) -> int:
    while at < len(line):
        if line[at] == "\\" and quote[0] == '"':
            at += 2
        elif line.startswith(quote, at):
            return at + len(quote)
        else:
            at += 1
    return -1
