"""Deltas merged, split, and kept well-formed. None of it changes the text that a client ends up with.

In: AG-UI events. Out: AG-UI events. `merge` and `split` change how many events carry a text, and keep nothing between
two calls. `SurrogatePairs` delays half a surrogate pair until the other half has come. Never: changes of the events
that are passed in; an event that needs no change is returned as the same object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway.events import Wire

DELTA_IDS = {
    "TEXT_MESSAGE_CONTENT": "messageId",
    "REASONING_MESSAGE_CONTENT": "messageId",
    "TOOL_CALL_ARGS": "toolCallId",
}
"""Delta event → its field with the id of the message or tool call that the text belongs to."""
PLAIN_KEYS = frozenset(("type", "messageId", "toolCallId", "delta", "subagentRunId"))
"""The keys of a delta event without extras."""
END_EVENTS = {
    "TEXT_MESSAGE_END": "TEXT_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END": "REASONING_MESSAGE_CONTENT",
    "TOOL_CALL_END": "TOOL_CALL_ARGS",
}
"""End event → the delta event of the same message or tool call."""
SURROGATE = re.compile("[\ud800-\udfff]")


def merge(events: list[Wire]) -> list[Wire]:
    """Adjacent deltas of one message or tool call become one event, if they carry nothing else."""
    out: list[Wire] = []
    # The first event of the current group, and what an event must have to join it.
    first: Wire = {}
    kind = ""
    key = ""
    entity_id = None
    tag = None
    size = 0
    deltas: list[str] = []
    for event in events:
        # A delta with three keys, or four of which one is the tag, has no others: so counting is enough.
        if (
            event["type"] == kind
            and len(event) == size
            and event[key] == entity_id
            and (tag is None or event.get("subagentRunId") == tag)
        ):
            deltas.append(event["delta"])
            continue
        if len(deltas) > 1:
            out[-1] = {**first, "delta": "".join(deltas)}
        out.append(event)
        first = event
        kind = event["type"]
        key = DELTA_IDS.get(kind, "")
        tag = event.get("subagentRunId")
        size = len(event)
        if key and size == (3 if tag is None else 4):
            entity_id = event[key]
            deltas = [event["delta"]]
        else:
            kind = ""  # No event joins this one.
            deltas = []
    if len(deltas) > 1:
        out[-1] = {**first, "delta": "".join(deltas)}
    return out


def split(event: Wire, max_chars: int) -> list[Wire]:
    """A delta of more than `max_chars` characters as several events. The first keeps the event's other fields."""
    if event["type"] not in DELTA_IDS or len(event["delta"]) <= max_chars:
        return [event]
    if max_chars < 1:
        raise ValueError("a piece has at least one character")
    first, *others = _cut(event["delta"], max_chars)
    plain = {key: value for key, value in event.items() if key in PLAIN_KEYS}
    return [{**event, "delta": first}, *({**plain, "delta": piece} for piece in others)]


def _cut(text: str, max_chars: int) -> list[str]:
    pieces = []
    start = 0
    while start < len(text):
        end = start + max_chars
        if _is_inside_pair(text, end):
            end += 1 if max_chars == 1 else -1
        pieces.append(text[start:end])
        start = end
    return pieces


def _is_inside_pair(text: str, index: int) -> bool:
    """The halves of a surrogate pair are two characters to Python if the agent's JSON escaped each of them."""
    return index < len(text) and "\ud800" <= text[index - 1] <= "\udbff" and "\udc00" <= text[index] <= "\udfff"


class SurrogatePairs:
    """Joins surrogate pairs that an agent cut between two deltas.

    An agent written in JavaScript may split its text between two UTF-16 units. JSON can escape half a pair, UTF-8 and
    protobuf cannot hold it. So the first half waits for the next delta of its message, or for the message's end.
    """

    def __init__(self) -> None:
        self._halves: dict[tuple[str, str], Wire] = {}
        """Delta event and id → an event with the half that waits."""

    @property
    def has_half(self) -> bool:
        return bool(self._halves)

    def feed(self, events: list[Wire]) -> list[Wire]:
        return [joined for event in events for joined in self._feed_one(event)]

    def flush(self) -> list[Wire]:
        """The halves whose other half never came."""
        halves = list(self._halves.values())
        self._halves = {}
        return halves

    def _feed_one(self, event: Wire) -> Iterator[Wire]:
        kind = event["type"]
        if kind in DELTA_IDS:
            delta = event["delta"]
            if self._halves or (not delta.isascii() and SURROGATE.search(delta)):
                event = self._join(event, (kind, event[DELTA_IDS[kind]]))
            if event["delta"] or not delta or not event.keys() <= PLAIN_KEYS:
                yield event
            return
        if self._halves and kind in END_EVENTS:
            half = self._halves.pop((END_EVENTS[kind], event[DELTA_IDS[END_EVENTS[kind]]]), None)
            if half is not None:
                yield half
        yield event

    def _join(self, event: Wire, key: tuple[str, str]) -> Wire:
        half = self._halves.pop(key, None)
        text: str = (half["delta"] if half else "") + event["delta"]
        # Two adjacent halves stay two characters in Python until they pass through UTF-16.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        if text and "\ud800" <= text[-1] <= "\udbff":
            # The event's other fields are sent now, so the delayed half goes without them.
            plain = {name: event[name] for name in event if name in PLAIN_KEYS}
            self._halves[key] = {**plain, "delta": text[-1]}
            text = text[:-1]
        return {**event, "delta": text}
