"""`Content-Length` framing, as language servers use it: bytes → messages, and a message → bytes.

In: bytes as they arrive. Out: whole messages, the same however the bytes are cut. A message over the limit is lost, but
not the stream. Lines that are no header are skipped, because programs print to the same stream.
"""

from __future__ import annotations

MAX_LINE_BYTES = 16 * 1024
"""Longer than any line of a header. A longer line is noise."""
MAX_LENGTH_DIGITS = 15
"""More digits are no length: Python refuses to convert thousands of them."""
LENGTH_FIELD = b"content-length:"
TYPE_FIELD = b"content-type:"


def frame(message: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(message), message)


class Frames:
    """Reads a header line by line, then its message. A line that is no header field ends the header before it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._length: int | None = None
        """From the header that is being read."""
        self._is_in_message = False
        """The header is complete; the next `_length` bytes are the message."""
        self._is_lost = False
        """That message is over the limit."""
        self._is_in_long_line = False
        """The rest of a line that is too long is being skipped."""
        self.lost_count = 0
        """Messages over the limit so far."""

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are complete now."""
        self._buffer += data
        messages: list[bytes] = []
        while self._read_message(messages) if self._is_in_message else self._read_line():
            pass
        return messages

    def _read_message(self, messages: list[bytes]) -> bool:
        """False: more bytes are needed. The bytes of a lost message are dropped as they come."""
        assert self._length is not None
        if not self._is_lost and len(self._buffer) < self._length:
            return False
        message = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        self._length -= len(message)
        if self._length:
            return False
        if message and not self._is_lost:
            messages.append(message)
        self._length = None
        self._is_in_message = False
        return True

    def _read_line(self) -> bool:
        """False: more bytes are needed."""
        end = self._buffer.find(b"\n")
        if end < 0:
            if len(self._buffer) > MAX_LINE_BYTES:
                self._is_in_long_line = True
                self._buffer.clear()
            return False
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        is_noise = self._is_in_long_line or len(line) > MAX_LINE_BYTES
        self._is_in_long_line = False
        self._take_line(b"?" if is_noise else line.removesuffix(b"\r").strip().lower())
        return True

    def _take_line(self, line: bytes) -> None:
        if not line:
            self._is_in_message = self._length is not None
            self._is_lost = self._length is not None and self._length > self._limit
            self.lost_count += self._is_lost
        elif line.startswith(LENGTH_FIELD):
            self._length = _parse_length(line.removeprefix(LENGTH_FIELD).strip())
        elif not line.startswith(TYPE_FIELD):
            self._length = None


def _parse_length(digits: bytes) -> int | None:
    return int(digits) if digits.isdigit() and len(digits) <= MAX_LENGTH_DIGITS else None
