"""Chunk events → the start, content and end events that they stand for, as the 1.0 client expands them.

In: valid AG-UI events, one by one. Out: for each, the events to send in its place: a chunk's expansion, or the event
itself behind the ends of the chunk streams that it closes. A chunk that continues nothing, or contradicts what its
stream has said, is a `BadChunk` and leaves no trace. The other ordering rules are `order`'s.

One stream can be under way per lane; a lane is a `subagentRunId`, or the parent agent (None).

Divergence: a chunk's `timestamp` goes on to the events made of it. The client drops it; sent whole it is of use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.agui.attribution import Owner, tagged
from gateway.agui.ordering import OutOfOrder
from gateway.events import Wire


class BadChunk(OutOfOrder):
    """A chunk that cannot be expanded."""

    def __init__(self, event: Wire, why: str) -> None:
        super().__init__("chunks", event, why)


@dataclass(frozen=True, slots=True)
class _Kind:
    noun: str
    key: str
    start: str
    content: str
    end: str
    opener: dict[str, Any]
    """What a start says when the chunk is silent."""
    fields: tuple[str, ...] = ()
    """What the opener settles, and no later chunk may say otherwise."""
    required: tuple[str, ...] = ()


_KINDS = {
    "TEXT_MESSAGE_CHUNK": _Kind(
        "text message",
        "messageId",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        opener={"role": "assistant"},
        fields=("role", "name"),
    ),
    "TOOL_CALL_CHUNK": _Kind(
        "tool call",
        "toolCallId",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        opener={},
        fields=("toolCallName", "parentMessageId"),
        required=("toolCallName",),
    ),
    "REASONING_MESSAGE_CHUNK": _Kind(
        "reasoning message",
        "messageId",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        opener={"role": "reasoning"},
    ),
}
_CLOSE_ALL = frozenset(("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"))
_CLOSE_OWN = frozenset(
    (*(name for kind in _KINDS.values() for name in (kind.start, kind.content, kind.end)), "TOOL_CALL_RESULT")
    + ("REASONING_START", "REASONING_END", "STATE_SNAPSHOT", "STATE_DELTA", "STEP_STARTED", "STEP_FINISHED", "CUSTOM")
    + ("SUBAGENT_FINISHED", "SUBAGENT_ERROR")
)
"""These close their own lane. What is in neither set closes none: RAW, activities, encrypted values, a new subagent."""


@dataclass(frozen=True, slots=True)
class _Stream:
    kind: _Kind
    id: str
    said: dict[str, Any]


class Chunks:
    """Expands the chunks of one event stream."""

    def __init__(self) -> None:
        self._lanes: dict[Owner, _Stream] = {}

    @property
    def under_way(self) -> bool:
        return bool(self._lanes)

    def feed(self, event: Wire) -> list[Wire]:
        """The events to send in this one's place."""
        kind = _KINDS.get(event["type"])
        if kind is not None:
            return self._expand(kind, event)
        if not self._lanes:
            return [event]
        return [*self._close_for(event), event]

    def _close_for(self, event: Wire) -> list[Wire]:
        if event["type"] in _CLOSE_ALL:
            return [end for lane in list(self._lanes) for end in self._close(lane)]
        return self._close(event.get("subagentRunId")) if event["type"] in _CLOSE_OWN else []

    def _close(self, lane: Owner) -> list[Wire]:
        stream = self._lanes.pop(lane, None)
        if stream is None:
            return []
        return [tagged({"type": stream.kind.end, stream.kind.key: stream.id}, lane)]

    def _expand(self, kind: _Kind, chunk: Wire) -> list[Wire]:
        lane = self._lane(kind, chunk)
        stream = self._lanes.get(lane)
        key = chunk.get(kind.key)
        if stream is not None and stream.kind is kind and key in (None, stream.id):
            _check_repeats(stream, chunk)
            return _contents(stream, chunk, lane, ("delta", "rawEvent", "metadata"))
        stream = _opened(kind, chunk)
        ends = self._close(lane)
        self._lanes[lane] = stream
        start = tagged({"type": kind.start, kind.key: stream.id, **stream.said}, lane)
        return [*ends, _carrying(start, chunk, ("timestamp", "metadata")), *_contents(stream, chunk, lane)]

    def _lane(self, kind: _Kind, chunk: Wire) -> Owner:
        """The lane that a chunk continues, or opens."""
        key, tag = chunk.get(kind.key), chunk.get("subagentRunId")
        lanes = [lane for lane, stream in self._lanes.items() if stream.kind is kind and key in (None, stream.id)]
        if key is not None:
            if lanes and tag is not None and tag != lanes[0]:
                raise BadChunk(chunk, f"continues the {kind.noun} {key!r} for {tag!r}, but another owner opened it")
            return lanes[0] if lanes else tag
        if tag is not None or None in lanes:
            return tag
        if len(lanes) > 1:
            raise BadChunk(chunk, f"has neither {kind.key} nor subagentRunId, and {len(lanes)} {kind.noun}s are open")
        return lanes[0] if lanes else None


def _opened(kind: _Kind, chunk: Wire) -> _Stream:
    for field in (kind.key, *kind.required):
        if chunk.get(field) is None:
            raise BadChunk(chunk, f"begins a {kind.noun} without {field}")
    said = {field: chunk[field] for field in kind.fields if chunk.get(field) is not None}
    return _Stream(kind, chunk[kind.key], {**kind.opener, **said})


def _check_repeats(stream: _Stream, chunk: Wire) -> None:
    for field in stream.kind.fields:
        if chunk.get(field) is not None and chunk[field] != stream.said.get(field):
            said = repr(stream.said[field]) if field in stream.said else "nothing"
            why = f"says {field} {chunk[field]!r} of the {stream.kind.noun} {stream.id!r}; its first chunk said {said}"
            raise BadChunk(chunk, why)


def _contents(stream: _Stream, chunk: Wire, lane: Owner, worth: tuple[str, ...] = ("delta", "rawEvent")) -> list[Wire]:
    """A content event, if the chunk has anything that is worth one."""
    if all(chunk.get(field) is None for field in worth):
        return []
    delta = chunk.get("delta")
    event = {"type": stream.kind.content, stream.kind.key: stream.id, "delta": "" if delta is None else delta}
    return [_carrying(tagged(event, lane), chunk, ("timestamp", "metadata", "rawEvent"))]


def _carrying(event: Wire, chunk: Wire, fields: tuple[str, ...]) -> Wire:
    return event | {field: chunk[field] for field in fields if chunk.get(field) is not None}
