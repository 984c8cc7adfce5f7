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
        self._held = bytearray()
        self._lost: TooLong | None = None

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """Every line that is complete now, without its end. Blank lines are left out."""
        first, *whole = data.split(b"\n")
        self._keep(first)
        if not whole:
            return []
        tail = whole.pop()
        found = self.eof()
        if len(data) <= self._limit:  # then none that came whole is past it
            found += [line for raw in whole if (line := raw.rstrip(b"\r")).strip()]
        else:
            for line in whole:
                self._keep(line)
                found += self.eof()
        self._keep(tail)
        return found

    def eof(self) -> list[bytes | TooLong]:
        """What was left without its end."""
        line = self._lost or bytes(self._held).rstrip(b"\r")
        self._lost = None
        self._held.clear()
        return [line] if isinstance(line, TooLong) or line.strip() else []

    def _keep(self, part: bytes) -> None:
        if self._lost is None and len(self._held) + len(part) <= self._limit:
            self._held += part
            return
        lost = self._lost or TooLong(len(self._held), bytes(self._held[:SHOWN]))
        self._lost = TooLong(lost.size + len(part), (lost.start + part[:SHOWN])[:SHOWN])
        self._held.clear()
