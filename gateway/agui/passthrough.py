"""AG-UI events that an agent emits itself: validated, chunks expanded, put into an order that clients accept.

In: an official event object, or its JSON. Out: the events to send. A missing start is added. A start or end that
changes nothing is left out. Any other event that breaks a rule of `ordering` is sent inside a RAW event, so that
nothing is lost.
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
"""Content event → the start that is added if it is missing. A tool call's start cannot be added: it needs a name."""

BARE_KEYS: dict[str, frozenset[str]] = {
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
"""Start and end events → their keys. A repeated one with no other keys may be left out."""

START_IDS = {
    "TEXT_MESSAGE_START": "messageId",
    "REASONING_START": "messageId",
    "REASONING_MESSAGE_START": "messageId",
    "TOOL_CALL_START": "toolCallId",
}
"""Start events with further fields: a repeated one may be left out only if the earlier start had the same fields."""

START_DEFAULTS = {"role": "assistant"}


class Passthrough:
    """The events of one run."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._chunks = Chunks()
        self._starts: dict[tuple[str, str], Wire] = {}
        """(type, id) → the latest start event."""

    def read(self, item: Any) -> list[Wire]:
        """The event without chunks. Raises `AgentFault` for a malformed one."""
        if isinstance(item, Mapping):
            kind = item.get("type")
            if not isinstance(kind, str) or kind not in EVENT_TYPES:
                return [{"type": "RAW", "event": dict(item), "source": UNKNOWN}]
        event = validate(item)
        try:
            return self._chunks.feed(event)
        except OutOfOrder:
            return [to_raw(event)]

    def unchecked_messages(self, ended: bool) -> Mapping[str, None]:
        """The open text messages whose content events need no check: they can break no rule, and no chunk stream is
        open that they would close. Valid until the next event of another kind."""
        return {} if ended or self._chunks.has_open_stream else self._order.open_text_ids

    def put_in_order(self, event: Wire) -> list[Wire]:
        try:
            self._order.accept(event)
        except OutOfOrder:
            return self._repair(event)
        self._record_start(event)
        return [event]

    def _repair(self, event: Wire) -> list[Wire]:
        kind = event["type"]
        if defaults := STARTS.get(kind):
            start = defaults | {key: event[key] for key in ("messageId", "subagentRunId") if key in event}
            try:
                self._order.accept(start)
                self._order.accept(event)
            except OutOfOrder:
                return [to_raw(event)]
            self._record_start(start)
            return [start, event]
        return [] if self._is_redundant(event) else [to_raw(event)]

    def _record_start(self, event: Wire) -> None:
        if (key := START_IDS.get(event["type"])) is not None:
            self._starts[event["type"], event[key]] = event

    def _is_redundant(self, event: Wire) -> bool:
        kind = event["type"]
        if kind not in BARE_KEYS or not event.keys() <= BARE_KEYS[kind]:
            return False
        if kind not in START_IDS:
            return True
        known = START_DEFAULTS | self._starts.get((kind, event[START_IDS[kind]]), {})
        return all(known.get(key) == value for key, value in event.items())


def decode_lines(text: EncodedText) -> list[Wire]:
    """The events of lines that were encoded already."""
    events: list[Wire] = orjson.loads(b"[%b]" % b",".join(text.lines))
    return events


def to_raw(event: Wire) -> Wire:
    return {"type": "RAW", "event": event, "source": OUT_OF_ORDER}
