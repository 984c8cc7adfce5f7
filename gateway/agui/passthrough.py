"""AG-UI events that an agent makes itself: checked, chunks expanded, put into an order that clients accept.

What breaks the order and can be mended is mended (a missing start); a start or end that changes nothing is left out;
everything else travels on inside a RAW event, so that nothing an agent said is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from gateway.agui.chunks import Chunks
from gateway.agui.ordering import Order, OutOfOrder
from gateway.agui.validate import EVENT_TYPES, validate
from gateway.events import EncodedText, Wire

OUT_OF_ORDER = "agent:out-of-order"
UNKNOWN = "agent:unknown-event"

STARTS: dict[str, dict[str, Any]] = {
    "TEXT_MESSAGE_CONTENT": {"type": "TEXT_MESSAGE_START", "role": "assistant"},
    "REASONING_MESSAGE_CONTENT": {"type": "REASONING_MESSAGE_START", "role": "reasoning"},
}
"""Content without a start gets this one. A tool call has a name, which cannot be made up."""

BARE: dict[str, frozenset[str]] = {
    kind: frozenset(("type", "subagentRunId", *keys))
    for kind, keys in {
        "TEXT_MESSAGE_START": ("messageId", "role"),
        "TEXT_MESSAGE_END": ("messageId",),
        "TOOL_CALL_START": ("toolCallId", "toolCallName", "parentMessageId"),
        "TOOL_CALL_END": ("toolCallId",),
        "REASONING_START": ("messageId",),
        "REASONING_END": ("messageId",),
        "REASONING_MESSAGE_START": ("messageId", "role"),
        "REASONING_MESSAGE_END": ("messageId",),
        "STEP_STARTED": ("stepName",),
        "STEP_FINISHED": ("stepName",),
    }.items()
}
"""A start of what is open or an end of what is not, with no more than these keys, may tell a client nothing new."""

IDS = {
    "TEXT_MESSAGE_START": "messageId",
    "REASONING_START": "messageId",
    "REASONING_MESSAGE_START": "messageId",
    "TOOL_CALL_START": "toolCallId",
}
"""Starts that say more than that something starts: only if it was all said before is nothing lost with them."""

DEFAULTS = {"role": "assistant"}


class Passthrough:
    def __init__(self, order: Order) -> None:
        self._order = order
        self._chunks = Chunks()
        self._begun: dict[tuple[str, str], Wire] = {}
        """(type, id) → the start that was sent last."""

    def read(self, item: Any) -> list[Wire]:
        """An official event object or its JSON, as events without chunks. Raises `AgentFault` for a malformed one."""
        if isinstance(item, Mapping):
            kind = item.get("type")
            if not isinstance(kind, str) or kind not in EVENT_TYPES:
                return [{"type": "RAW", "event": dict(item), "source": UNKNOWN}]
        event = validate(item)
        try:
            return self._chunks.feed(event)
        except OutOfOrder:
            return [raw(event)]

    def passing(self, ended: bool) -> Mapping[str, None]:
        """The open messages that a content event may go on with, whatever its text: no rule can be broken by it and no
        chunk is under way that it would end. It holds until the next event of any other kind."""
        return {} if ended or self._chunks.under_way else self._order.streaming_texts

    def put_in_order(self, event: Wire) -> list[Wire]:
        try:
            self._order.take(event)
        except OutOfOrder:
            return self._mend(event)
        self._note(event)
        return [event]

    def _mend(self, event: Wire) -> list[Wire]:
        kind = event["type"]
        if start := STARTS.get(kind):
            opening = start | {key: event[key] for key in ("messageId", "subagentRunId") if key in event}
            try:
                self._order.take(opening)
                self._order.take(event)
            except OutOfOrder:
                return [raw(event)]
            self._note(opening)
            return [opening, event]
        return [] if self._says_nothing(event) else [raw(event)]

    def _note(self, event: Wire) -> None:
        if (key := IDS.get(event["type"])) is not None:
            self._begun[event["type"], event[key]] = event

    def _says_nothing(self, event: Wire) -> bool:
        kind = event["type"]
        if kind not in BARE or not event.keys() <= BARE[kind]:
            return False
        if kind not in IDS:
            return True
        known = DEFAULTS | self._begun.get((kind, event[IDS[kind]]), {})
        return all(known.get(key) == value for key, value in event.items())


def unfolded(written: EncodedText) -> list[Wire]:
    """Its events, as if each had come by itself."""
    events: list[Wire] = orjson.loads(b"[%b]" % b",".join(written.lines))
    return events


def raw(event: Wire) -> Wire:
    return {"type": "RAW", "event": event, "source": OUT_OF_ORDER}
