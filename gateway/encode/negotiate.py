"""`Accept` → the encoder a stream is written with. `ENCODERS`, at the end, is the list of wire formats over HTTP.

Protobuf is answered only to a client that names its type with q > 0. AG-UI's draft would also give it for `*/*`, but
any AG-UI client must be ready for SSE, and curl and plain HTTP libraries, which send `*/*`, can read nothing else. So
SSE is the answer in every other case: no header, another type, `text/event-stream;q=0`, nonsense. Relative q values are
ignored, as in AG-UI. A q that is not a number from 0 to 1 is no wish we can rely on: it counts as 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from gateway import jsonio
from gateway.encode import sse
from gateway.encode.protobuf import encoder
from gateway.events import Wire

# A quoted string never gives back what it took (`*+`) and need not be closed: a hostile header is read in one pass.
_QUOTED = r'"(?:[^"\\]|\\.)*+"?'
_MEMBER = re.compile(rf'(?:[^,"]|{_QUOTED})++')
"""One media range with its parameters; a comma inside quotes does not end it."""
_PARAMETER = re.compile(rf';\s*+([^\s;="]++)\s*+=\s*+({_QUOTED}|[^\s;]*)')
_Q = re.compile(r"0(?:\.[0-9]*)?|1(?:\.0*)?")


@dataclass(frozen=True, slots=True)
class Encoder:
    """One wire format. `encode` takes consecutive events, the first with the number `first`, as lines of JSON and, if
    they are at hand, as objects; it gives the bytes to send."""

    name: str
    content_type: str
    keep_alive: bytes | None
    """What may be sent while nothing happens; None: the format has no such thing."""
    encode: Callable[[int, list[bytes], list[Wire] | None], bytes]
    capability: str
    """The leaf of the snapshot that announces the format."""


def negotiate(accept: str | None) -> Encoder:
    """The encoder for a request with this `Accept` header."""
    return ENCODERS["protobuf" if names(accept, encoder.CONTENT_TYPE) else "sse"]


def names(accept: str | None, media_type: str) -> bool:
    """Whether the header names this very type, and does not refuse it."""
    return any(_wanted(member, media_type) for member in _MEMBER.findall(accept or ""))


def _wanted(member: str, wanted: str) -> bool:
    media_type, semicolon, parameters = member.partition(";")
    if media_type.strip().lower() != wanted:
        return False
    for name, value in _PARAMETER.findall(semicolon + parameters):
        if name.lower() == "q":
            return _Q.fullmatch(value) is not None and float(value) > 0
    return True


def _sse(first: int, lines: list[bytes], events: list[Wire] | None) -> bytes:
    return sse.frames(first, lines)


def _protobuf(first: int, lines: list[bytes], events: list[Wire] | None) -> bytes:
    return encoder.frames(_objects(lines) if events is None else events)


def _objects(lines: list[bytes]) -> list[Wire]:
    """Each line was written here, so that all of them make a list."""
    try:
        events: list[Wire] = orjson.loads(b"[%b]" % b",".join(lines))
    except orjson.JSONDecodeError:  # half a pair, or a number beyond 64 bits
        return [jsonio.loads(line) for line in lines]
    return events


ENCODERS: dict[str, Encoder] = {
    "sse": Encoder("sse", sse.CONTENT_TYPE, sse.KEEP_ALIVE, _sse, "transport.streaming"),
    "protobuf": Encoder("protobuf", encoder.CONTENT_TYPE, None, _protobuf, "transport.httpBinary"),
}
