"""Deltas joined and cut. Neither changes what a client holds in the end, only how many events carry it there.

In: AG-UI events. Out: AG-UI events. Nothing that is given is changed; what needs no change is handed on as the same
object. Nothing is held back between two calls.
"""

from __future__ import annotations

from gateway.events import Wire

DELTA_IDS = {
    "TEXT_MESSAGE_CONTENT": "messageId",
    "REASONING_MESSAGE_CONTENT": "messageId",
    "TOOL_CALL_ARGS": "toolCallId",
}
"""The delta events, and the key that says whose text it is."""
PLAIN = frozenset(("type", "messageId", "toolCallId", "delta", "subagentRunId"))
"""All that a delta event needs; any other key says something more."""


def merge(events: list[Wire]) -> list[Wire]:
    """Neighbours that add to one thing become one event, if they say nothing else."""
    out: list[Wire] = []
    first: Wire = {}  # the event that those after it may join, and what they must be like
    kind, key, thing, tag, size = "", "", None, None, 0
    deltas: list[str] = []
    for event in events:
        # A delta with three keys, or four of which one is the tag, has no other: so counting is enough.
        if (
            event["type"] == kind
            and len(event) == size
            and event[key] == thing
            and (tag is None or event.get("subagentRunId") == tag)
        ):
            deltas.append(event["delta"])
            continue
        if len(deltas) > 1:
            out[-1] = {**first, "delta": "".join(deltas)}
        out.append(event)
        first, kind = event, event["type"]
        key, tag, size = DELTA_IDS.get(kind, ""), event.get("subagentRunId"), len(event)
        if key and size == (3 if tag is None else 4):
            thing, deltas = event[key], [event["delta"]]
        else:
            kind, deltas = "", []  # nothing joins this one
    if len(deltas) > 1:
        out[-1] = {**first, "delta": "".join(deltas)}
    return out


def split(event: Wire, limit: int) -> list[Wire]:
    """A delta of more than `limit` characters as several. The first keeps whatever else the event says."""
    if event["type"] not in DELTA_IDS or len(event["delta"]) <= limit:
        return [event]
    if limit < 1:
        raise ValueError("a piece has at least one character")
    first, *others = _pieces(event["delta"], limit)
    plain = {key: value for key, value in event.items() if key in PLAIN}
    return [{**event, "delta": first}, *({**plain, "delta": piece} for piece in others)]


def _pieces(text: str, limit: int) -> list[str]:
    pieces, start = [], 0
    while start < len(text):
        end = start + limit
        if _inside_pair(text, end):
            end += 1 if limit == 1 else -1
        pieces.append(text[start:end])
        start = end
    return pieces


def _inside_pair(text: str, at: int) -> bool:
    """Two halves of a surrogate pair are two characters to Python when the agent's JSON spelt them apart."""
    return at < len(text) and "\ud800" <= text[at - 1] <= "\udbff" and "\udc00" <= text[at] <= "\udfff"
