"""A piece as one row of bytes, and back: the format that every store uses.

In: pieces to store; rows (`first`, payload) to read from. Out: a payload, which is the lines joined by newlines; the
pieces that a reader requested. Pure; it never reads an event. JSON without indentation has no newline in a line
(RFC 8259 §7), which is relied upon: a check would cost `append` more than everything else in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from gateway.store.base import Piece


def join_lines(lines: Sequence[bytes]) -> bytes:
    """The payload of one row."""
    return b"\n".join(lines)


def stored_size(payload: bytes) -> int:
    """The bytes of a row for limits: its lines with one newline each, however rows were joined."""
    return len(payload) + 1


def select_pieces(rows: Iterable[tuple[int, bytes]], after: int, max_bytes: int) -> list[Piece]:
    """Events above `after`, up to `max_bytes` but at least one. Reads no more rows than necessary."""
    pieces: list[Piece] = []
    for first, payload in rows:
        skip = max(0, after + 1 - first)
        lines = payload.split(b"\n")[skip:]
        if skip or stored_size(payload) > max_bytes:
            count, size = _count_fitting(lines, max_bytes, at_least=0 if pieces else 1)
        else:
            count = len(lines)
            size = stored_size(payload)
        if count:
            pieces.append(Piece(first + skip, lines[:count]))
            max_bytes -= size
        if count < len(lines):
            break
    return pieces


def _count_fitting(lines: Sequence[bytes], max_bytes: int, at_least: int) -> tuple[int, int]:
    """How many of `lines` fit, and their size."""
    sizes = [0, *accumulate(len(line) + 1 for line in lines)]
    count = max(bisect_right(sizes, max_bytes) - 1, min(at_least, len(lines)))
    return count, sizes[count]
