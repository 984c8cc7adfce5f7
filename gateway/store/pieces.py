"""A piece as one row of bytes, and back: what every store keeps.

In: pieces to keep; rows (`first`, payload) to read from. Out: a payload, the lines joined by newlines; the pieces that
a reader asked for. Pure; it never looks inside an event, and rests on what JSON promises: no raw newline in a line made
without indentation (RFC 8259 §7). Checking that would cost `append` more than all the rest of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from gateway.store.base import Piece


def pack(lines: Sequence[bytes]) -> bytes:
    """The payload of one row."""
    return b"\n".join(lines)


def weight(payload: bytes) -> int:
    """What a row counts against a byte bound: its lines and one newline each, however the rows were joined."""
    return len(payload) + 1


def gather(rows: Iterable[tuple[int, bytes]], after: int, max_bytes: int) -> list[Piece]:
    """Events above `after` up to `max_bytes`, at least one; takes no more rows than it needs."""
    pieces: list[Piece] = []
    for first, payload in rows:
        skip = max(0, after + 1 - first)
        lines = payload.split(b"\n")[skip:]
        if skip or weight(payload) > max_bytes:
            fit, size = _fit(lines, max_bytes, at_least=0 if pieces else 1)
        else:
            fit, size = len(lines), weight(payload)
        if fit:
            pieces.append(Piece(first + skip, lines[:fit]))
            max_bytes -= size
        if fit < len(lines):
            break
    return pieces


def _fit(lines: Sequence[bytes], max_bytes: int, at_least: int) -> tuple[int, int]:
    """How many of `lines` fit, and their size."""
    sizes = [0, *accumulate(len(line) + 1 for line in lines)]
    fit = max(bisect_right(sizes, max_bytes) - 1, min(at_least, len(lines)))
    return fit, sizes[fit]
