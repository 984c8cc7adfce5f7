"""Nulls that mean absence, taken out of an event.

In: one event as a JSON object. Out: the same object if nothing had to go, else a copy without the nulls that stand
where AG-UI describes an optional field, at any depth of what it describes: messages, parts, sources, tools, resume
entries, outcomes, usage, interrupts. Every other null stays: in required open values (`CUSTOM.value`, a patch's
`value`), inside open data (metadata, state), in required fields (an error, and not this module's to hide).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.events import Wire


@dataclass(frozen=True, slots=True)
class Shape:
    """An object as AG-UI describes it, as far as nulls are concerned."""

    optional: frozenset[str] = frozenset()
    inside: Mapping[str, Shape | Union] = field(default_factory=dict)
    """Fields that are described objects themselves, or lists of them."""


@dataclass(frozen=True, slots=True)
class Union:
    """One of several objects, told apart by one key. An unknown one is nobody's to change."""

    by: str
    shapes: Mapping[str, Shape]


def drop_nulls(event: Wire) -> Wire:
    """The event without the nulls that mean absence; the very object if there are none."""
    kind = event.get("type")
    shape = EVENTS.get(kind) if isinstance(kind, str) else None
    return event if shape is None else _drop_from_object(event, shape)


def _drop(value: Any, shape: Shape | Union) -> Any:
    if isinstance(value, list):
        items = [_drop(item, shape) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if not isinstance(value, dict):
        return value
    if isinstance(shape, Union):
        kind = value.get(shape.by)
        found = shape.shapes.get(kind) if isinstance(kind, str) else None
        return value if found is None else _drop_from_object(value, found)
    return _drop_from_object(value, shape)


def _drop_from_object(value: Wire, shape: Shape) -> Wire:
    changed = {}
    for key, inner in shape.inside.items():
        if (old := value.get(key)) is not None and (new := _drop(old, inner)) is not old:
            changed[key] = new
    # Most events have no null at all, and this is the quickest way to know.
    if None not in value.values():
        return {**value, **changed} if changed else value
    kept = {key: item for key, item in value.items() if item is not None or key not in shape.optional}
    return {**kept, **changed} if changed or len(kept) < len(value) else value


def _shape(optional: str = "", **inside: Shape | Union) -> Shape:
    return Shape(frozenset(optional.split()), inside)


_MEDIA = _shape(
    "id metadata",
    source=Union("type", {"data": _shape(), "url": _shape("mimeType"), "file": _shape("provider mimeType")}),
)
_PART = Union(
    "type",
    {"text": _shape("id metadata"), "image": _MEDIA, "audio": _MEDIA, "video": _MEDIA, "document": _MEDIA},
)
_NAMED = "name encryptedValue subagentRunId metadata"
_MESSAGE = Union(
    "role",
    {
        "developer": _shape(_NAMED),
        "system": _shape(_NAMED),
        "user": _shape(_NAMED, content=_PART),
        "assistant": _shape(f"{_NAMED} content toolCalls", toolCalls=_shape("encryptedValue metadata")),
        "tool": _shape("error encryptedValue subagentRunId metadata", content=_PART),
        "activity": _shape("subagentRunId metadata"),
        "reasoning": _shape("encryptedValue subagentRunId metadata"),
    },
)
_INPUT = _shape(
    "protocolVersion parentRunId state tools context forwardedProps resume",
    messages=_MESSAGE,
    tools=_shape("parameters metadata"),
    resume=_shape("payload metadata"),
)
_USAGE = _shape(
    "provider model inputTokens outputTokens totalTokens reasoningTokens cachedInputTokens cacheWriteInputTokens"
)
_INTERRUPT = _shape("message toolCallId responseSchema expiresAt metadata subagentRunId")
_RUN_OUTCOME = Union(
    "type",
    {"success": _shape("pendingToolCallIds"), "interrupt": _shape(interrupts=_INTERRUPT), "cancelled": _shape()},
)
_SUBAGENT_OUTCOME = Union("type", {"success": _shape(), "suspended": _shape("interruptIds")})

_BASE = "timestamp rawEvent metadata"
_TAGGED = f"{_BASE} subagentRunId"

EVENTS: dict[str, Shape] = {
    "RUN_STARTED": _shape(f"{_BASE} protocolVersion parentRunId input", input=_INPUT),
    "RUN_FINISHED": _shape(f"{_BASE} result outcome usage", outcome=_RUN_OUTCOME, usage=_USAGE),
    "RUN_ERROR": _shape(f"{_BASE} code usage", usage=_USAGE),
    "STEP_STARTED": _shape(_TAGGED),
    "STEP_FINISHED": _shape(_TAGGED),
    "TEXT_MESSAGE_START": _shape(f"{_TAGGED} role name"),
    "TEXT_MESSAGE_CONTENT": _shape(_TAGGED),
    "TEXT_MESSAGE_END": _shape(_TAGGED),
    "TEXT_MESSAGE_CHUNK": _shape(f"{_TAGGED} messageId role delta name"),
    "TOOL_CALL_START": _shape(f"{_TAGGED} parentMessageId"),
    "TOOL_CALL_ARGS": _shape(_TAGGED),
    "TOOL_CALL_END": _shape(_TAGGED),
    "TOOL_CALL_CHUNK": _shape(f"{_TAGGED} toolCallId toolCallName parentMessageId delta"),
    "TOOL_CALL_RESULT": _shape(f"{_TAGGED} role", content=_PART),
    "STATE_SNAPSHOT": _shape(_TAGGED),
    "STATE_DELTA": _shape(_TAGGED),
    "MESSAGES_SNAPSHOT": _shape(_BASE, messages=_MESSAGE),
    "ACTIVITY_SNAPSHOT": _shape(f"{_TAGGED} replace"),
    "ACTIVITY_DELTA": _shape(_TAGGED),
    "REASONING_START": _shape(_TAGGED),
    "REASONING_END": _shape(_TAGGED),
    "REASONING_MESSAGE_START": _shape(_TAGGED),
    "REASONING_MESSAGE_CONTENT": _shape(_TAGGED),
    "REASONING_MESSAGE_END": _shape(_TAGGED),
    "REASONING_MESSAGE_CHUNK": _shape(f"{_TAGGED} messageId delta"),
    "REASONING_ENCRYPTED_VALUE": _shape(_TAGGED),
    "SUBAGENT_STARTED": _shape(f"{_BASE} description parentSubagentRunId parentToolCallId parentMessageId"),
    "SUBAGENT_FINISHED": _shape(f"{_BASE} result outcome", outcome=_SUBAGENT_OUTCOME),
    "SUBAGENT_ERROR": _shape(f"{_BASE} code"),
    "RAW": _shape(f"{_TAGGED} source"),
    "CUSTOM": _shape(_TAGGED),
}
