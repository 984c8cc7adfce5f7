"""Where a key stands in a TOML text: `tomllib` reads values and forgets their lines.

In: the text, and a place as the loader names it (`("models", 2, "price", "input")`). Out: the line, from 1, of that
key, or of the nearest table around it that is written down. It reads just enough of TOML to follow headers and keys;
values are skipped by their brackets and quotes.
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
    """1 where nothing of it is written."""
    best, line = 0, 1
    for at, found in _keys(text):
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(found, place, strict=False)))
        if same > best and same in (len(found), len(place)):
            best, line = same, at
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
                table = _with_numbers(_names(header["keys"]), counts, listed=line.strip().startswith("[["))
                yield number, table
                continue
            if key := _KEY.match(line):
                whole = (*table, *_names(key["keys"]))
                yield number, whole
                yield from ((number, (*whole, *inner)) for inner in _inline(line[key.end() :]))
        depth, open_until = _after(line, depth, open_until)


def _inline(value: str) -> Iterator[Place]:
    """Keys of an inline table, one level down."""
    if value.strip().startswith("{"):
        for found in re.finditer(rf"[{{,]{_KEY.pattern}", value):
            yield _names(found["keys"])


def _names(keys: str) -> Place:
    return tuple(_plain(part) for part in _PART.findall(keys))


def _plain(part: str) -> str:
    if part[0] not in "\"'":
        return part
    return str(tomllib.loads(f"x = {part}")["x"])


def _with_numbers(names: Place, counts: dict[Place, int], *, listed: bool) -> Place:
    """`[[models]]` for the third time is `models.2`, and `[models.price]` after it is in that."""
    place: Place = ()
    for last, name in ((index == len(names) - 1, name) for index, name in enumerate(names)):
        place = (*place, name)
        if last and listed:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place = (*place, counts[place])
    return place


def _after(line: str, depth: int, open_until: str | None) -> tuple[int, str | None]:
    """How deep in brackets, and in which long string, the next line begins."""
    at = 0
    while at < len(line):
        if open_until is not None:
            end = _end(line, at, open_until)
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
    # A bracket of a header was never counted: headers are taken before this.
    return max(depth, 0), open_until if open_until is not None and len(open_until) == 3 else None


def _end(line: str, at: int, quote: str) -> int:
    while at < len(line):
        if line[at] == "\\" and quote[0] == '"':
            at += 2
        elif line.startswith(quote, at):
            return at + len(quote)
        else:
            at += 1
    return -1
