"""Deltas cut inside a surrogate pair: the first half waits for the second, so that every event is well-formed Unicode.

An agent written in JavaScript may split its text between two UTF-16 units. Half a pair can be escaped in JSON but not
written in UTF-8 or protobuf, so it is held back until the message's next delta, or its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway.agui.deltas import DELTA_IDS, PLAIN
from gateway.events import Wire

ENDS = {
    "TEXT_MESSAGE_END": "TEXT_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END": "REASONING_MESSAGE_CONTENT",
    "TOOL_CALL_END": "TOOL_CALL_ARGS",
}
SURROGATE = re.compile("[\ud800-\udfff]")


class SurrogatePairs:
    def __init__(self) -> None:
        self._held: dict[tuple[str, str], Wire] = {}

    @property
    def holding(self) -> bool:
        return bool(self._held)

    def feed(self, events: list[Wire]) -> list[Wire]:
        return [whole for event in events for whole in self._one(event)]

    def flush(self) -> list[Wire]:
        """The halves that never met their other one, as they are."""
        held, self._held = list(self._held.values()), {}
        return held

    def _one(self, event: Wire) -> Iterator[Wire]:
        kind = event["type"]
        if kind in DELTA_IDS:
            delta = event["delta"]
            if self._held or (not delta.isascii() and SURROGATE.search(delta)):
                event = self._join(event, (kind, event[DELTA_IDS[kind]]))
            if event["delta"] or not delta or not event.keys() <= PLAIN:
                yield event
            return
        if self._held and kind in ENDS:
            half = self._held.pop((ENDS[kind], event[DELTA_IDS[ENDS[kind]]]), None)
            if half is not None:
                yield half
        yield event

    def _join(self, event: Wire, key: tuple[str, str]) -> Wire:
        half = self._held.pop(key, None)
        text: str = (half["delta"] if half else "") + event["delta"]
        # Two halves side by side are two characters to Python until they pass through UTF-16.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        if text and "\ud800" <= text[-1] <= "\udbff":
            # What else the event says goes out with it now, and need not be said twice.
            self._held[key] = {**{name: event[name] for name in event if name in PLAIN}, "delta": text[-1]}
            text = text[:-1]
        return {**event, "delta": text}
