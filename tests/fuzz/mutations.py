"""Random changes of recorded messages.

In: the lines of a recording (one message each) and a `random.Random`. Out: other lines: values of another type, keys
dropped, renamed or doubled, lines dropped, doubled, moved, cut, joined, damaged. Never: a change of the lines that came
in, so that recordings are parsed once and shared by all cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random
from typing import Any

import orjson

JSON_TEXTS: tuple[bytes, ...] = (
    b"null",
    b"true",
    b"false",
    b"0",
    b"-1",
    b"1.5",
    b"9007199254740993",
    b"1" + b"0" * 30,
    b"1e999",
    b'""',
    b'"x"',
    b'"\\ud800"',
    b'"\\u0000"',
    b'"null"',
    b'"{\\"a\\":[null,7]}"',
    b'"' + b"[" * 180 + b"]" * 180 + b'"',
    b"[]",
    b"{}",
    b"[null]",
    b'["x","x"]',
    b'{"type":7}',
    b'[[{"a":[{}]}]]',
    b'{"a":{"b":{"c":[1,null,"x"]}}}',
    b"[" * 150 + b"]" * 150,
    b'{"a":' * 230 + b"0" + b"}" * 230,
    b"[" * 3000 + b"]" * 3000,
)
"""One value of every JSON type, and those of each type that readers trip over."""

NOISE_LINES = (b"[]", b"null", b"7", b'"x"', b"Warning: none", b"{}", b"", b" ", b"\xff\xfe", b"{", b'{"a":')
PLACEHOLDER = "@placeholder@"
WINDOW_MAX_LINES = 12
MAX_CHANGES = 5

Line = bytes
Path = tuple[Any, ...]


@lru_cache(maxsize=50_000)
def parse_line(line: Line) -> Any:
    """The line's JSON value; None if it is no JSON. Shared by all cases: never changed."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return None


def mutate_lines(rng: Random, lines: Sequence[Line]) -> list[Line]:
    """Some of the lines, or all of them, with a few changes."""
    result = list(lines)
    if len(result) > 2 and rng.random() < 0.6:
        start = rng.randrange(len(result))
        result = result[start : start + rng.randint(1, WINDOW_MAX_LINES)]
    for _ in range(rng.randint(1, MAX_CHANGES)):
        if not result:
            break
        rng.choice(LINE_CHANGES)(rng, result, rng.randrange(len(result)))
    return result


def mutate_chunks(rng: Random, chunks: Sequence[bytes]) -> list[bytes]:
    """The same for a binary format: chunks dropped, doubled, moved, cut and damaged, but never read as JSON."""
    result = list(chunks)
    for _ in range(rng.randint(1, MAX_CHANGES)):
        if not result:
            break
        rng.choice(CHUNK_CHANGES)(rng, result, rng.randrange(len(result)))
    return result


def cut_bytes(rng: Random, data: bytes) -> list[bytes]:
    """The same bytes in pieces, as a socket may deliver them."""
    pieces = []
    start = 0
    size = rng.choice((1, 7, 100, 4096, len(data) or 1))
    if len(data) > 4000:
        size = max(size, 100)
    while start < len(data):
        end = start + rng.randint(1, size)
        pieces.append(data[start:end])
        start = end
    return pieces


# -- whole lines


def _drop_line(rng: Random, lines: list[Line], at: int) -> None:
    del lines[at]


def _double_line(rng: Random, lines: list[Line], at: int) -> None:
    lines.insert(rng.randint(0, len(lines)), lines[at])


def _move_line(rng: Random, lines: list[Line], at: int) -> None:
    line = lines.pop(at)
    lines.insert(rng.randint(0, len(lines)), line)


def _reverse_lines(rng: Random, lines: list[Line], at: int) -> None:
    end = at + rng.randint(2, 5)
    lines[at:end] = lines[at:end][::-1]


def _truncate_line(rng: Random, lines: list[Line], at: int) -> None:
    lines[at] = lines[at][: rng.randint(0, len(lines[at]))]


def _join_lines(rng: Random, lines: list[Line], at: int) -> None:
    lines[at : at + 2] = [b"".join(lines[at : at + 2])]


def _damage_line(rng: Random, lines: list[Line], at: int) -> None:
    position = rng.randint(0, len(lines[at]))
    width = rng.randint(0, 2)
    damage = rng.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\r", b'"', b"\\", b"}", rng.randbytes(3)))
    lines[at] = lines[at][:position] + damage + lines[at][position + width :]


def _add_noise(rng: Random, lines: list[Line], at: int) -> None:
    lines.insert(at, rng.choice(NOISE_LINES))


# -- values inside a line


def random_path(rng: Random, tree: Any) -> Path:
    """A path to a value in the tree; empty if the tree has none."""
    path: list[Any] = []
    node = tree
    while isinstance(node, dict | list) and node and not (path and rng.random() < 0.2):
        key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        path.append(key)
        node = node[key]
    return tuple(path)


def get_value(tree: Any, path: Path) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def change_parent(tree: Any, path: Path, change: Callable[[Any, Any], None]) -> Any:
    """A copy of the tree with its last container on the path changed in place. Only what is on the path is copied."""
    copy = tree.copy()
    node = copy
    for key in path[:-1]:
        node[key] = node[key].copy()
        node = node[key]
    change(node, path[-1])
    return copy


def replace_value(tree: Any, path: Path, json_text: bytes) -> Line:
    """The tree as a line, with this JSON text in place of one value. The text need not be one that orjson writes."""

    def change(node: Any, key: Any) -> None:
        node[key] = PLACEHOLDER

    return _dump(change_parent(tree, path, change), json_text)


def _dump(tree: Any, json_text: bytes) -> Line:
    return orjson.dumps(tree).replace(b'"%b"' % PLACEHOLDER.encode(), json_text)


def _pick_value(rng: Random, lines: list[Line], at: int) -> tuple[Any, Path]:
    tree = parse_line(lines[at])
    return tree, random_path(rng, tree)


def _retype_value(rng: Random, lines: list[Line], at: int) -> None:
    tree, path = _pick_value(rng, lines, at)
    if path:
        lines[at] = replace_value(tree, path, rng.choice(JSON_TEXTS))


def _exchange_value(rng: Random, lines: list[Line], at: int) -> None:
    """A value gets the place of another: ids meet ids of other messages, kinds meet other kinds."""
    tree, path = _pick_value(rng, lines, at)
    other, other_path = _pick_value(rng, lines, rng.randrange(len(lines)))
    if path and other_path:
        lines[at] = replace_value(tree, path, orjson.dumps(get_value(other, other_path)))


def _drop_key(rng: Random, lines: list[Line], at: int) -> None:
    tree, path = _pick_value(rng, lines, at)
    if path:
        lines[at] = orjson.dumps(change_parent(tree, path, lambda node, key: node.__delitem__(key)))


def _rename_key(rng: Random, lines: list[Line], at: int) -> None:
    tree, path = _pick_value(rng, lines, at)
    if path and isinstance(path[-1], str):
        name = rng.choice((path[-1].upper(), "", "type", "id", path[-1] + "_"))

        def change(node: Any, key: Any) -> None:
            node[name] = node.pop(key)

        lines[at] = orjson.dumps(change_parent(tree, path, change))


def _double_key(rng: Random, lines: list[Line], at: int) -> None:
    """A list's item twice, or an object's key twice, the second time with another value: JSON allows both."""
    tree, path = _pick_value(rng, lines, at)
    if not path:
        return
    value = orjson.dumps(get_value(tree, path))
    if isinstance(path[-1], str):
        lines[at] = replace_value(tree, path, b"%b,%b:%b" % (value, orjson.dumps(path[-1]), rng.choice(JSON_TEXTS)))
    else:
        lines[at] = replace_value(tree, path, b"%b,%b" % (value, value))


Change = Callable[[Random, list[Line], int], None]

CHUNK_CHANGES: tuple[Change, ...] = (
    _drop_line,
    _double_line,
    _move_line,
    _truncate_line,
    _damage_line,
    _damage_line,
    _damage_line,
)
LINE_CHANGES: tuple[Change, ...] = (
    *(_retype_value,) * 8,
    *(_exchange_value,) * 3,
    *(_drop_key,) * 3,
    _rename_key,
    _double_key,
    _drop_line,
    _double_line,
    _move_line,
    _reverse_lines,
    _truncate_line,
    _join_lines,
    _damage_line,
    _add_noise,
)
"""Each as often as it is listed: changes of a value find most."""
