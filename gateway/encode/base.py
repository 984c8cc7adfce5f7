"""What a wire format is: its media type, the capability that announces it, and the function that encodes events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.events import Wire


@dataclass(frozen=True, slots=True)
class Encoder:
    """One wire format over HTTP."""

    name: str
    content_type: str
    """The media type: of the response, and in the client's `Accept` header."""
    capability: str
    """Dotted path of the flag in an agent's capabilities that says that the gateway serves this format."""
    keep_alive: bytes | None
    """What may be sent while nothing happens; None if the format has no such thing."""
    encode: Callable[[int, list[bytes], list[Wire] | None], bytes]
    """Number of the first event, the consecutive events as lines of JSON, the same events as objects if these are at
    hand → the bytes to send."""
