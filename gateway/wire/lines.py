"""Line framing.

In: bytes as they arrive, cut anywhere. Out: whole lines. A line over the limit is lost, but not the stream.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TooLong:
    """In the place of a line that is longer than the limit."""

    size: int
    """The bytes that were read of it."""
    start: bytes
    """Its first bytes, to find the cause."""


START_BYTES = 200
"""Bytes of a line that `TooLong` keeps."""


class Lines:
    """Lines end in LF; a CR before it belongs to the end. Memory is bounded by the limit and one read."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._too_long: TooLong | None = None

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """The lines that are complete now, without their ends. Blank lines are left out."""
        first, *whole = data.split(b"\n")
        self._keep(first)
        if not whole:
            return []
        tail = whole.pop()
        lines = self.eof()
        if len(data) <= self._limit:  # then no line that came whole is over it
            lines += [line for raw in whole if (line := raw.rstrip(b"\r")).strip()]
        else:
            for line in whole:
                self._keep(line)
                lines += self.eof()
        self._keep(tail)
        return lines

    def eof(self) -> list[bytes | TooLong]:
        """The last line, if the stream ended without a line end."""
        line = self._too_long or bytes(self._buffer).rstrip(b"\r")
        self._too_long = None
        self._buffer.clear()
        return [line] if isinstance(line, TooLong) or line.strip() else []

    def _keep(self, part: bytes) -> None:
        if self._too_long is None and len(self._buffer) + len(part) <= self._limit:
            self._buffer += part
            return
        too_long = self._too_long or TooLong(len(self._buffer), bytes(self._buffer[:START_BYTES]))
        self._too_long = TooLong(too_long.size + len(part), (too_long.start + part[:START_BYTES])[:START_BYTES])
        self._buffer.clear()
