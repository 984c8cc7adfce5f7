"""How large one event may be. Clients refuse more than 10 MiB on both wire formats, and with it the whole run."""

from __future__ import annotations

from typing import Any

from gateway.errors import EventTooLarge
from gateway.events import Wire
from gateway.jsonio import dumps

DELTA_CHARS = 1_000_000
"""A longer delta is sent as several events: at most six bytes a character (an escaped one), so well inside."""
PROTOBUF_GROWTH = 6
"""A list of small numbers is two bytes each in JSON and eleven in protobuf; nothing grows more."""


def check_size(event: Wire, limit: int) -> None:
    """Raises `EventTooLarge`, or `AgentFault` when the event is not JSON at all."""
    size = len(dumps(event))
    if size * PROTOBUF_GROWTH > limit:
        size = max(size, protobuf_bound(event))
    if size > limit:
        raise EventTooLarge(
            f"the agent sent a {event['type']} event of {size} bytes; one event may have {limit} (max_event_bytes). "
            "Send large data in pieces or behind a URL."
        )


def protobuf_bound(value: Any) -> int:
    """At least as many bytes as the value takes in protobuf, without encoding it."""
    if isinstance(value, str):
        return 12 + (len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass")))
    if isinstance(value, dict):
        return 16 + sum(protobuf_bound(key) + protobuf_bound(item) + 12 for key, item in value.items())
    if isinstance(value, list):
        return 16 + sum(protobuf_bound(item) for item in value)
    return 12
