"""Chunk events → the start, content and end events that they stand for, as the 1.0 client expands them.

In: valid AG-UI events, one by one. Out: for each, the events to send instead: a chunk's expansion, or the event itself
after the ends of the chunk streams that it closes. A chunk that continues nothing, or contradicts the first chunk of
its stream, raises `BadChunk` and leaves no trace. The other rules of order are in `ordering`.

Each owner, which is a subagent or the parent agent (None), can have one stream open. The rules of chunks:
https://docs.ag-ui.com/concepts/events.

Divergence: a chunk's `timestamp` is kept in the events made of it, where the client drops it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.agui.attribution import Owner, tag_event
from gateway.agui.ordering import OutOfOrder
from gateway.events import Wire


class BadChunk(OutOfOrder):
    """A chunk that cannot be expanded."""

    def __init__(self, event: Wire, reason: str) -> None:
        super().__init__("chunks", event, reason)


@dataclass(frozen=True, slots=True)
class _ChunkKind:
    noun: str
    key: str
    start: str
    content: str
    end: str
    defaults: dict[str, Any]
    """Fields of the start event that the chunk may leave out."""
    fixed_fields: tuple[str, ...] = ()
    """Fields that the first chunk sets, and that no later chunk may change."""
    required: tuple[str, ...] = ()


_CHUNK_KINDS = {
    "TEXT_MESSAGE_CHUNK": _ChunkKind(
        "text message",
        "messageId",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        defaults={"role": "assistant"},
        fixed_fields=("role", "name"),
    ),
    "TOOL_CALL_CHUNK": _ChunkKind(
        "tool call",
        "toolCallId",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        defaults={},
        fixed_fields=("toolCallName", "parentMessageId"),
        required=("toolCallName",),
    ),
    "REASONING_MESSAGE_CHUNK": _ChunkKind(
        "reasoning message",
        "messageId",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        defaults={"role": "reasoning"},
    ),
}
_CLOSE_ALL = frozenset(("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"))
_CLOSE_OWN = frozenset(
    (*(name for kind in _CHUNK_KINDS.values() for name in (kind.start, kind.content, kind.end)), "TOOL_CALL_RESULT")
    + ("REASONING_START", "REASONING_END", "STATE_SNAPSHOT", "STATE_DELTA", "STEP_STARTED", "STEP_FINISHED", "CUSTOM")
    + ("SUBAGENT_FINISHED", "SUBAGENT_ERROR")
)
"""These close the stream of their own owner. Events in neither set close none: RAW, activities, encrypted values, a new
subagent."""


@dataclass(frozen=True, slots=True)
class _Stream:
    kind: _ChunkKind
    id: str
    opening: dict[str, Any]
    """The fields of its start event, beside type and id."""


class Chunks:
    """Expands the chunks of one event stream."""

    def __init__(self) -> None:
        self._streams: dict[Owner, _Stream] = {}

    @property
    def has_open_stream(self) -> bool:
        return bool(self._streams)

    def feed(self, event: Wire) -> list[Wire]:
        """The events to send instead of this one."""
        kind = _CHUNK_KINDS.get(event["type"])
        if kind is not None:
            return self._expand(kind, event)
        if not self._streams:
            return [event]
        return [*self._close_for(event), event]

    def _close_for(self, event: Wire) -> list[Wire]:
        if event["type"] in _CLOSE_ALL:
            return [end for owner in list(self._streams) for end in self._close(owner)]
        return self._close(event.get("subagentRunId")) if event["type"] in _CLOSE_OWN else []

    def _close(self, owner: Owner) -> list[Wire]:
        stream = self._streams.pop(owner, None)
        if stream is None:
            return []
        return [tag_event({"type": stream.kind.end, stream.kind.key: stream.id}, owner)]

    def _expand(self, kind: _ChunkKind, chunk: Wire) -> list[Wire]:
        owner = self._find_owner(kind, chunk)
        stream = self._streams.get(owner)
        key = chunk.get(kind.key)
        if stream is not None and stream.kind is kind and key in (None, stream.id):
            _check_repeats(stream, chunk)
            return _content_events(stream, chunk, owner, ("delta", "rawEvent", "metadata"))
        stream = _open_stream(kind, chunk)
        ends = self._close(owner)
        self._streams[owner] = stream
        start = tag_event({"type": kind.start, kind.key: stream.id, **stream.opening}, owner)
        return [*ends, _copy_fields(start, chunk, ("timestamp", "metadata")), *_content_events(stream, chunk, owner)]

    def _find_owner(self, kind: _ChunkKind, chunk: Wire) -> Owner:
        """The owner of the stream that a chunk continues, or opens."""
        key = chunk.get(kind.key)
        tag = chunk.get("subagentRunId")
        owners = [owner for owner, stream in self._streams.items() if stream.kind is kind and key in (None, stream.id)]
        if key is not None:
            if owners and tag is not None and tag != owners[0]:
                raise BadChunk(chunk, f"continues the {kind.noun} {key!r} for {tag!r}, but another owner opened it")
            return owners[0] if owners else tag
        if tag is not None or None in owners:
            return tag
        if len(owners) > 1:
            raise BadChunk(chunk, f"has neither {kind.key} nor subagentRunId, and {len(owners)} {kind.noun}s are open")
        return owners[0] if owners else None


def _open_stream(kind: _ChunkKind, chunk: Wire) -> _Stream:
    for field in (kind.key, *kind.required):
        if chunk.get(field) is None:
            raise BadChunk(chunk, f"begins a {kind.noun} without {field}")
    opening = {field: chunk[field] for field in kind.fixed_fields if chunk.get(field) is not None}
    return _Stream(kind, chunk[kind.key], {**kind.defaults, **opening})


def _check_repeats(stream: _Stream, chunk: Wire) -> None:
    for field in stream.kind.fixed_fields:
        if chunk.get(field) is not None and chunk[field] != stream.opening.get(field):
            first = repr(stream.opening[field]) if field in stream.opening else "nothing"
            entity = f"{stream.kind.noun} {stream.id!r}"
            raise BadChunk(chunk, f"says {field} {chunk[field]!r} of the {entity}; its first chunk said {first}")


def _content_events(
    stream: _Stream, chunk: Wire, owner: Owner, relevant: tuple[str, ...] = ("delta", "rawEvent")
) -> list[Wire]:
    """A content event, if the chunk has any of the relevant fields."""
    if all(chunk.get(field) is None for field in relevant):
        return []
    delta = chunk.get("delta")
    event = {"type": stream.kind.content, stream.kind.key: stream.id, "delta": "" if delta is None else delta}
    return [_copy_fields(tag_event(event, owner), chunk, ("timestamp", "metadata", "rawEvent"))]


def _copy_fields(event: Wire, chunk: Wire, fields: tuple[str, ...]) -> Wire:
    return event | {field: chunk[field] for field in fields if chunk.get(field) is not None}
