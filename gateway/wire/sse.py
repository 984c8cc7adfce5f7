"""Bytes in any cut → the data of server-sent events, one message each. An event past the limit is given up."""

from __future__ import annotations

import re

from gateway.wire.lines import TooLong

_ONE_LINE = re.compile(rb"\ndata: ([^\n]+)(?=\n\n)")


class Events:
    """Only `data` is read: the agents that speak so put everything there."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = bytearray()
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        found: list[bytes | TooLong] = []
        self._held += data
        if b"\n" not in data and len(self._held) <= self._limit:
            return found  # no line is complete: a long one comes in many pieces, and is looked at when it is whole
        if not self._data and len(self._held) <= self._limit:
            self._take_plain(found)
        *lines, rest = bytes(self._held).split(b"\n")
        self._held = bytearray(rest)
        if len(rest) > self._limit:  # a line without an end: its event is lost, and the rest of the line reads as noise
            found.append(TooLong(len(rest), rest[:200]))
            self._held.clear()
        for raw in lines:
            line = raw.removesuffix(b"\r")
            if not line:
                found += self._event()
            elif line.startswith(b"data:"):
                self._size += len(line)
                self._data.append(line[5:].removeprefix(b" ") if self._size <= self._limit else b"")
        return found

    def _take_plain(self, found: list[bytes | TooLong]) -> None:
        """Most events are one line of data and a blank one. Where all that is here are so, they are taken at once; in
        any other case nothing is, and all goes the long way."""
        end = self._held.rfind(b"\n\n") + 1
        whole = b"\n%b\n" % bytes(self._held[:end])
        lines = _ONE_LINE.findall(whole) if end and b"\r" not in whole else []
        # As many as there are lines of data: so each is an event of its own, and none was missed.
        if lines and len(lines) == whole.count(b"\ndata:"):
            found += lines
            del self._held[: end + 1]

    def _event(self) -> list[bytes | TooLong]:
        data, size = b"\n".join(self._data), self._size
        self._data, self._size = [], 0
        if size > self._limit:
            return [TooLong(size, data[:200])]
        return [data] if data else []
