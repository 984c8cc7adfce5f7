"""Bytes in any cut → the data of server-sent events, one message each. An event past the limit is given up."""

from __future__ import annotations

from gateway.wire.lines import TooLong


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

    def _event(self) -> list[bytes | TooLong]:
        data, size = b"\n".join(self._data), self._size
        self._data, self._size = [], 0
        if size > self._limit:
            return [TooLong(size, data[:200])]
        return [data] if data else []
