"""AG-UI events as server-sent events.

In: consecutive events, each already one line of JSON, and the number of the first. Out: their frames as one piece of
bytes. The `id:` line is for those who come back with `Last-Event-ID`; AG-UI's client ignores it. Line ends are LF only:
that client finds no boundary in CRLF and delivers nothing.
"""

from __future__ import annotations

CONTENT_TYPE = "text/event-stream"
KEEP_ALIVE = b": keep-alive\n\n"

_FRAME = b"id: %d\ndata: %b\n\n"


def frames(first: int, lines: list[bytes]) -> bytes:
    """`lines[0]` has the number `first`, and so on."""
    count = len(lines)
    if count < 8:
        return b"".join([_FRAME % numbered for numbered in enumerate(lines, first)])
    # One formatting of the whole batch: 0.12 µs an event at 64, where a frame at a time takes 0.20.
    fields: list[int | bytes] = [0] * (2 * count)
    fields[::2] = range(first, first + count)
    fields[1::2] = lines
    return _FRAME * count % tuple(fields)
