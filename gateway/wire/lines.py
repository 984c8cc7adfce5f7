"""Bytes in any cut → whole lines. A line past the limit is given up, not the stream."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TooLong:
    """Stands in the place of a line that was longer than the limit."""

    size: int
    """How many bytes it had, as far as it was seen."""
    start: bytes
    """Its first bytes, for whoever looks for the cause."""


SHOWN = 200


class Lines:
    """Lines end in LF; a CR before it belongs to the end. Memory is bounded by the limit and one read."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._lost: TooLong | None = None

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """Every line that is complete now, without its end. Empty lines are left out."""
        head, separator, rest = data.partition(b"\n")
        if not separator:
            self._keep(head)
            return []
        self._keep(head)
        found: list[bytes | TooLong] = [self._take()]
        *whole, tail = rest.split(b"\n")
        found += whole
        if tail:
            self._keep(tail)
        return [line for line in found if isinstance(line, TooLong) or line.strip()]

    def eof(self) -> list[bytes | TooLong]:
        """What was left without its end."""
        line = self._take()
        return [line] if isinstance(line, TooLong) or line.strip() else []

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._limit:
            self._parts.append(part)
            return
        start = self._lost.start if self._lost else b"".join(self._parts)[:SHOWN] or part[:SHOWN]
        self._lost = TooLong(self._size, start)
        self._parts.clear()

    def _take(self) -> bytes | TooLong:
        line = self._lost or b"".join(self._parts)
        self._parts, self._size, self._lost = [], 0, None
        return line
