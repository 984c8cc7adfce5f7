"""Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), reading side.

In: bytes as they arrive, cut anywhere. Out: the data of each event. An event over the limit is lost, but not the
stream.
"""

from __future__ import annotations

import re

from gateway.wire.lines import START_BYTES, TooLong

_ONE_LINE = re.compile(rb"\ndata: ([^\n]+)(?=\n\n)")


class Events:
    """Reads only `data`: the agents that use SSE put everything there."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        events: list[bytes | TooLong] = []
        self._buffer += data
        if b"\n" not in data and len(self._buffer) <= self._limit:
            return events  # no line is complete; a long one comes in many pieces, and is read when it is whole
        if not self._data and len(self._buffer) <= self._limit:
            self._read_plain_events(events)
        *lines, rest = bytes(self._buffer).split(b"\n")
        self._buffer = bytearray(rest)
        if len(rest) > self._limit:  # its event is lost; the rest of the line is no field
            events.append(TooLong(len(rest), rest[:START_BYTES]))
            self._buffer.clear()
        for raw in lines:
            line = raw.removesuffix(b"\r")
            if not line:
                events += self._end_event()
            elif line.startswith(b"data:"):
                self._size += len(line)
                self._data.append(line[5:].removeprefix(b" ") if self._size <= self._limit else b"")
        return events

    def _read_plain_events(self, events: list[bytes | TooLong]) -> None:
        """Most events are one line of data and a blank line. If all events in the buffer are, they are read at once;
        otherwise none is, and `feed` reads them line by line."""
        end = self._buffer.rfind(b"\n\n") + 1
        whole = b"\n%b\n" % bytes(self._buffer[:end])
        lines = _ONE_LINE.findall(whole) if end and b"\r" not in whole else []
        # There are as many as lines of data, so each line is an event of its own, and none is missing.
        if lines and len(lines) == whole.count(b"\ndata:"):
            events += lines
            del self._buffer[: end + 1]

    def _end_event(self) -> list[bytes | TooLong]:
        data = b"\n".join(self._data)
        size = self._size
        self._data = []
        self._size = 0
        if size > self._limit:
            return [TooLong(size, data[:START_BYTES])]
        return [data] if data else []
