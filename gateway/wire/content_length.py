"""Bytes in any cut → messages behind a `Content-Length` header, as language servers frame them. And back.

A message past the limit is given up, not the stream. What is no header is skipped line by line: programs print.
"""

from __future__ import annotations

HEADER_LIMIT = 16 * 1024
"""Longer than any header: what goes on for so long without an end is noise."""
NAME = b"content-length:"


def frame(message: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(message), message)


class Frames:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = bytearray()
        self._skip = 0
        """Bytes still to come of a message that is given up."""
        self.lost = 0
        """Messages given up so far."""

    def feed(self, data: bytes) -> list[bytes]:
        """Every message that is complete now."""
        self._held += data
        found: list[bytes] = []
        while (message := self._next()) is not None:
            if message:
                found.append(message)
        return found

    def _next(self) -> bytes | None:
        """The next message; empty for something that was skipped; None: more bytes are needed."""
        held = self._held
        if self._skip:
            gone = min(self._skip, len(held))
            del held[:gone]
            self._skip -= gone
            return None if self._skip else b""
        end = held.find(b"\r\n\r\n")
        size = _length(bytes(held[:end])) if end >= 0 else None
        if size is None:
            return self._noise(end)
        if size > self._limit:
            self.lost += 1
            self._skip = end + 4 + size
            return b""
        if len(held) < end + 4 + size:
            return None
        message = bytes(held[end + 4 : end + 4 + size])
        del held[: end + 4 + size]
        return message

    def _noise(self, end: int) -> bytes | None:
        """A line that begins no header goes; so does a header without its length."""
        held = self._held
        line = held.find(b"\n")
        if end >= 0 and NAME not in bytes(held[:end]).lower():
            del held[: end + 4]
            return b""
        if line >= 0 and not _may_begin(bytes(held[: line + 1])):
            del held[: line + 1]
            return b""
        if len(held) > HEADER_LIMIT:
            held.clear()
        return None


def _may_begin(line: bytes) -> bool:
    """A header's line is `Name: value`; only these two names are known."""
    return line.lower().startswith((NAME, b"content-type:"))


def _length(header: bytes) -> int | None:
    for line in header.split(b"\r\n"):
        name, _, value = line.rpartition(b":")
        if name.strip().lower() == NAME[:-1] and value.strip().isdigit():
            return int(value)
    return None
