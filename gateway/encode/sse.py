"""AG-UI events as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

In: consecutive events, each already one line of JSON, and the number of the first. Out: their frames as one piece of
bytes. The `id:` line serves clients that reconnect with `Last-Event-ID`; AG-UI's client ignores it. Line ends are LF
only: AG-UI's client finds no boundary in CRLF and delivers nothing.
"""

from __future__ import annotations

from gateway.encode.base import Encoder
from gateway.events import Wire

CONTENT_TYPE = "text/event-stream"
KEEP_ALIVE = b": keep-alive\n\n"

MIN_JOINED_BATCH = 8
"""From this size on one formatting of the whole batch is faster: 0.12 µs an event at 64, 0.20 µs frame by frame."""

_FRAME = b"id: %d\ndata: %b\n\n"


def encode_frames(first: int, lines: list[bytes]) -> bytes:
    """`lines[0]` has the number `first`, and so on."""
    count = len(lines)
    if count < MIN_JOINED_BATCH:
        return b"".join([_FRAME % numbered for numbered in enumerate(lines, first)])
    fields: list[int | bytes] = [0] * (2 * count)
    fields[::2] = range(first, first + count)
    fields[1::2] = lines
    return _FRAME * count % tuple(fields)


def _encode(first: int, lines: list[bytes], events: list[Wire] | None) -> bytes:
    return encode_frames(first, lines)


ENCODER = Encoder("sse", CONTENT_TYPE, "transport.streaming", KEEP_ALIVE, _encode)
