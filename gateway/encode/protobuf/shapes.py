"""Events whose JSON has another shape than their protobuf message: both directions, side by side.

In and out: JSON objects. `FLATTEN` turns an object into one with the message's own keys, `RESTORE` turns it back. A
message that is named in neither has the same keys in both. Never: bytes. What AG-UI's client drops with a warning is
left out: a content part or a source of an unknown type, a field that the message's role does not have. What fails the
run in AG-UI's client raises `Unfit`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from gateway.encode.protobuf.tables import ENUMS, MESSAGES
from gateway.jsonio import Unfit

Object: TypeAlias = dict[str, Any]

_COMMON = ("id", "role", "subagentRunId", "metadata")
_ROLES: dict[str, tuple[str, ...]] = {
    "developer": ("content", "name", "encryptedValue"),
    "system": ("content", "name", "encryptedValue"),
    "user": ("content", "name", "encryptedValue"),
    "assistant": ("content", "toolCalls", "name", "encryptedValue"),
    "tool": ("content", "toolCallId", "error", "encryptedValue"),
    "activity": ("content", "activityType"),
    "reasoning": ("content", "encryptedValue"),
}
"""A message's fields by its role, beside the common ones."""

_REQUIRED: dict[str, tuple[str, ...]] = {
    "developer": ("content",),
    "system": ("content",),
    "tool": ("toolCallId",),
    "activity": ("activityType",),
    "reasoning": ("content",),
}
"""Fields that JSON requires of a role. The .proto cannot require them: one message serves all roles."""

_TAKES_PARTS = ("user", "tool")

_OUTCOME_LISTS = {"success": "pendingToolCallIds", "interrupt": "interrupts", "suspended": "interruptIds"}
"""The list that belongs to an outcome of this type."""

_PARTS = {field.key for field in MESSAGES["InputContent"]}
_SOURCES = {field.key for field in MESSAGES["InputContentSource"]}
_OPERATIONS = {name.lower(): name for name in ENUMS["JsonPatchOperationType"]}


# ---- JSON → message


def _flatten_union(value: Object) -> Object:
    return {_type_of(value, "this"): value}


def _flatten_outcome(event: Object) -> Object:
    flat = {**event, "outcome": "", **dict.fromkeys(_OUTCOME_LISTS.values())}
    if (outcome := event.get("outcome")) is None:
        return flat
    flat["outcome"] = kind = _type_of(outcome, "`outcome`")
    if kind == "interrupt" and not outcome.get("interrupts"):
        raise Unfit("an interrupt outcome must list its interrupts")
    if key := _OUTCOME_LISTS.get(kind):
        flat[key] = outcome.get(key)
    return flat


def _flatten_content(value: Object) -> Object:
    match value.get("content"):
        case str():
            return {**value, "contentParts": None}
        case list() as parts:
            return {**value, "content": None, "contentParts": [part for part in parts if _is_known(part)]}
        case _:
            raise Unfit("`content` must be a string or a list of parts")


def _is_known(part: Any) -> bool:
    kind = _type_of(part, "a content part")
    return kind == "text" or (kind in _PARTS and _type_of(part.get("source"), "a part's `source`") in _SOURCES)


def _flatten_message(message: Object) -> Object:
    role = message.get("role")
    if not isinstance(role, str):
        raise Unfit("a message must have a role")
    flat = {key: message[key] for key in (*_COMMON, *_ROLES.get(role, ())) if key in message}
    for key in _REQUIRED.get(role, ()):
        if flat.get(key) is None:
            raise Unfit(f"a message of the role {role} must have `{key}`")
    if role == "activity":
        return flat | {"content": None, "activityContent": _check_object(flat.get("content"))}
    return _flatten_content(flat) if role in _TAKES_PARTS else flat


def _flatten_operation(operation: Object) -> Object:
    op = operation.get("op")
    if isinstance(op, str) and op in _OPERATIONS:
        return {**operation, "op": _OPERATIONS[op]}
    raise Unfit(f"{op!r} is not an operation of JSON Patch")


def _type_of(value: Any, what: str) -> str:
    if isinstance(value, dict) and isinstance(kind := value.get("type"), str):
        return kind
    raise Unfit(f"{what} must be an object with a type")


def _check_object(content: Any) -> Object:
    if isinstance(content, dict):
        return content
    raise Unfit("an activity's `content` must be an object")


FLATTEN: dict[str, Callable[[Object], Object]] = {
    "RunFinishedEvent": _flatten_outcome,
    "SubagentFinishedEvent": _flatten_outcome,
    "ToolCallResultEvent": _flatten_content,
    "Message": _flatten_message,
    "InputContent": _flatten_union,
    "InputContentSource": _flatten_union,
    "JsonPatchOperation": _flatten_operation,
}


# ---- message → JSON


def _restore_union(value: Object) -> Object | None:
    """None if this version does not know the arm."""
    for kind, inner in value.items():
        return {"type": kind, **inner}
    return None


def _restore_part(value: Object) -> Object | None:
    part = _restore_union(value)
    return None if part is not None and part.get("source", part) is None else part


def _restore_outcome(event: Object) -> Object:
    kind = event.pop("outcome")
    lists = {key: event.pop(key) for key in _OUTCOME_LISTS.values() if key in event}
    if not kind and lists:
        raise Unfit(f"it has `{next(iter(lists))}` but no outcome")
    key = _OUTCOME_LISTS.get(kind)
    return {**event, "outcome": {"type": kind} | ({key: lists[key]} if key in lists else {})} if kind else event


def _restore_content(value: Object) -> Object:
    if "contentParts" not in value:
        return value if "content" in value else {**value, "content": []}
    if "content" in value:
        raise Unfit("it has `content` and `content_parts` together")
    value["content"] = [part for part in value.pop("contentParts") if part is not None]
    return value


def _restore_message(value: Object) -> Object:
    role = value["role"]
    carriers = {"activityContent"} if role == "activity" else {"content"}
    if role in _TAKES_PARTS:
        carriers.add("contentParts")
    strays = {"content", "contentParts", "activityContent"} & value.keys() - carriers
    if strays and role in _ROLES:
        raise Unfit(f"a message of the role {role} has {', '.join(sorted(strays))}")
    if "activityContent" in value:
        value["content"] = value.pop("activityContent")
    return _restore_content(value) if role in _TAKES_PARTS or "contentParts" in value else value


def _restore_operation(value: Object) -> Object:
    value["op"] = value["op"].lower()
    return value


def merge_base_event(value: Object, arm: str) -> Object:
    """The event with the fields of its `base_event`. `arm` is the type by the envelope."""
    base = value.pop("baseEvent", None)
    if base is None:
        raise Unfit("base_event is missing")
    if base["type"] != arm:
        raise Unfit(f"its base_event says {base['type']}")
    return {**base, **value}


RESTORE: dict[str, Callable[[Object], Object | None]] = {
    "RunFinishedEvent": _restore_outcome,
    "SubagentFinishedEvent": _restore_outcome,
    "ToolCallResultEvent": _restore_content,
    "Message": _restore_message,
    "InputContent": _restore_part,
    "InputContentSource": _restore_union,
    "JsonPatchOperation": _restore_operation,
}
