"""`Content-Length` framing, as language servers use it: bytes → messages, and a message → bytes.

In: bytes as they arrive, cut anywhere. Out: whole messages. A message over the limit is lost, but not the stream. Lines
that are no header are skipped, because programs print to the same stream.
"""

from __future__ import annotations

MAX_HEADER_BYTES = 16 * 1024
"""Longer than any header. So many bytes without a header's end are skipped."""
LENGTH_FIELD = b"content-length:"


def frame(message: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(message), message)


class Frames:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._skipped_bytes = 0
        """Bytes still to come of a message that is lost."""
        self.lost_count = 0
        """Messages over the limit so far."""

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are complete now."""
        self._buffer += data
        messages: list[bytes] = []
        while (message := self._next()) is not None:
            if message:
                messages.append(message)
        return messages

    def _next(self) -> bytes | None:
        """The next message. Empty: something was skipped. None: more bytes are needed."""
        buffer = self._buffer
        if self._skipped_bytes:
            skipped = min(self._skipped_bytes, len(buffer))
            del buffer[:skipped]
            self._skipped_bytes -= skipped
            return None if self._skipped_bytes else b""
        end = buffer.find(b"\r\n\r\n")
        size = _content_length(bytes(buffer[:end])) if end >= 0 else None
        if size is None:
            return self._skip_noise(end)
        if size > self._limit:
            self.lost_count += 1
            self._skipped_bytes = end + 4 + size
            return b""
        if len(buffer) < end + 4 + size:
            return None
        message = bytes(buffer[end + 4 : end + 4 + size])
        del buffer[: end + 4 + size]
        return message

    def _skip_noise(self, end: int) -> bytes | None:
        """Skip a line that begins no header, and a header without a length."""
        buffer = self._buffer
        line = buffer.find(b"\n")
        if end >= 0 and LENGTH_FIELD not in bytes(buffer[:end]).lower():
            del buffer[: end + 4]
            return b""
        if line >= 0 and not _can_begin_header(bytes(buffer[: line + 1])):
            del buffer[: line + 1]
            return b""
        if len(buffer) > MAX_HEADER_BYTES:
            buffer.clear()
        return None


def _can_begin_header(line: bytes) -> bool:
    """Only these two fields are known."""
    return line.lower().startswith((LENGTH_FIELD, b"content-type:"))


def _content_length(header: bytes) -> int | None:
    for line in header.split(b"\r\n"):
        name, _, value = line.rpartition(b":")
        if name.strip().lower() == LENGTH_FIELD[:-1] and value.strip().isdigit():
            return int(value)
    return None
