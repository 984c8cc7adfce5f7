"""The size of one event. Clients refuse more than 10 MiB in both wire formats, and fail the whole run with it.

In: an event. Out: nothing, or `EventTooLarge`.
"""

from __future__ import annotations

from typing import Any

from gateway.errors import EventTooLarge
from gateway.events import Wire
from gateway.jsonio import dumps

MAX_DELTA_CHARS = 1_000_000
"""A longer delta is sent as several events. A character takes six bytes at most, when it is escaped."""
MAX_PROTOBUF_GROWTH = 6
"""Protobuf size to JSON size at most: a small number in a list takes two bytes in JSON and eleven in protobuf."""


def check_size(event: Wire, limit: int) -> None:
    """Raises `EventTooLarge`, or `AgentFault` when the event is not JSON at all."""
    size = len(dumps(event))
    if size * MAX_PROTOBUF_GROWTH > limit:
        size = max(size, protobuf_bound(event))
    if size > limit:
        raise EventTooLarge(
            f"the agent sent a {event['type']} event of {size} bytes; one event may have {limit} (max_event_bytes). "
            "Send large data in pieces or behind a URL."
        )


def protobuf_bound(value: Any) -> int:
    """An upper bound of the bytes that the value takes in protobuf, found without encoding it."""
    if isinstance(value, str):
        return 12 + (len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass")))
    if isinstance(value, dict):
        return 16 + sum(protobuf_bound(key) + protobuf_bound(item) + 12 for key, item in value.items())
    if isinstance(value, list):
        return 16 + sum(protobuf_bound(item) for item in value)
    return 12
