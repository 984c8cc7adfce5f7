"""Whether a stream is one that every client accepts."""

from __future__ import annotations

from typing import Any

from gateway.agui.chunks import Chunks
from gateway.agui.ordering import Order

TERMINAL = ("RUN_FINISHED", "RUN_ERROR")


def well_ordered(events: list[dict[str, Any]]) -> bool:
    """One run, from its start to its one end, by the rules of the official client. Raises at what breaks them."""
    order, chunks = Order(), Chunks()
    for event in events:
        for expanded in chunks.feed(event):
            order.accept(expanded)
    ends = [event["type"] for event in events if event["type"] in TERMINAL]
    return len(ends) == 1 and events[-1]["type"] in TERMINAL and events[0]["type"] == "RUN_STARTED"
