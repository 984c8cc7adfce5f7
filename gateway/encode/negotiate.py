"""`Accept` header → the encoder of a stream. `ENCODERS`, at the end, lists the wire formats over HTTP.

The first format, SSE, is the default; any other is served only to a client that names its media type with q > 0.
AG-UI's draft would also send protobuf for `*/*`. But every AG-UI client must read SSE, and curl and plain HTTP
libraries, which send `*/*`, can read nothing else. So the default is the answer in every other case: no header, another
type, `text/event-stream;q=0`, a header that cannot be parsed. Relative q values are ignored, as in AG-UI. A q that is
not a number from 0 to 1 counts as 0.
"""

from __future__ import annotations

import re

from gateway.encode import sse
from gateway.encode.base import Encoder
from gateway.encode.protobuf import encoder as protobuf

# A quoted string never gives back what it matched (`*+`) and need not be closed: a hostile header is read in one pass.
_QUOTED = r'"(?:[^"\\]|\\.)*+"?'
_MEMBER = re.compile(rf'(?:[^,"]|{_QUOTED})++')
"""One media range with its parameters; a comma inside quotes does not end it."""
_PARAMETER = re.compile(rf';\s*+([^\s;="]++)\s*+=\s*+({_QUOTED}|[^\s;]*)')
_Q = re.compile(r"0(?:\.[0-9]*)?|1(?:\.0*)?")


def default_encoder() -> Encoder:
    """The format that every client reads: the first in `ENCODERS`."""
    return next(iter(ENCODERS.values()))


def negotiate(accept: str | None) -> Encoder:
    """The encoder for a request with this `Accept` header."""
    default = default_encoder()
    others = (encoder for encoder in ENCODERS.values() if encoder is not default)
    return next((encoder for encoder in others if accepts(accept, encoder.content_type)), default)


def transport_flags() -> dict[str, bool]:
    """The capabilities that announce the formats of this gateway, by dotted path."""
    return {encoder.capability: True for encoder in ENCODERS.values()}


def accepts(accept: str | None, media_type: str) -> bool:
    """Whether the header names exactly this media type, and does not refuse it by q=0."""
    return any(_accepts(member, media_type) for member in _MEMBER.findall(accept or ""))


def _accepts(member: str, media_type: str) -> bool:
    name, semicolon, parameters = member.partition(";")
    if name.strip().lower() != media_type:
        return False
    for key, value in _PARAMETER.findall(semicolon + parameters):
        if key.lower() == "q":
            return _Q.fullmatch(value) is not None and float(value) > 0
    return True


ENCODERS: dict[str, Encoder] = {encoder.name: encoder for encoder in (sse.ENCODER, protobuf.ENCODER)}
"""Name → format. The first is the default; among the others the first that the client names is used."""
