"""An event that an agent emits, checked by the official AG-UI models.

In: an official `ag_ui.core` event, or a dict in AG-UI's JSON form. Out: a new dict with camelCase keys and no null in
an optional position, or `AgentFault` with the problem and its JSON pointer. Never: the order of events; that is
`ordering`.

As strict as the JavaScript client: the models run in strict mode, so nothing is coerced, and the one `role` that they
would fill in is required. As lenient as that client, too: a top-level key that AG-UI does not describe is left out, and
so is a message, content part, patch operation or outcome of a kind that AG-UI 1.0 does not know. Nulls that the client
does not accept are left out, as by the official encoders.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, get_args

from ag_ui.core import BaseEvent, Event, ReasoningMessageContentEvent, TextMessageContentEvent, ToolCallArgsEvent
from pydantic import ValidationError
from pydantic_core import ErrorDetails, to_jsonable_python

from gateway.errors import AgentFault
from gateway.events import Wire
from gateway.json_patch import pointer

_Path: TypeAlias = list[str | int]

_MODELS: dict[str, type[BaseEvent]] = {
    model.model_fields["type"].default.value: model for model in get_args(get_args(Event)[0])
}
_FIELDS: dict[str, dict[str, str]] = {
    kind: {name: field.alias or name for name, field in model.model_fields.items() if name != "type"}
    for kind, model in _MODELS.items()
}
"""Type → attribute name → JSON name."""

EVENT_TYPES = frozenset(_MODELS)
"""The 31 events of AG-UI 1.0."""

_DELTA_IDS = {
    "TEXT_MESSAGE_CONTENT": "messageId",
    "REASONING_MESSAGE_CONTENT": "messageId",
    "TOOL_CALL_ARGS": "toolCallId",
}
_DELTA_OBJECTS: dict[type[BaseEvent], tuple[str, str]] = {
    TextMessageContentEvent: ("TEXT_MESSAGE_CONTENT", "message_id"),
    ReasoningMessageContentEvent: ("REASONING_MESSAGE_CONTENT", "message_id"),
    ToolCallArgsEvent: ("TOOL_CALL_ARGS", "tool_call_id"),
}
_TEXT_ONLY = {str}


def validate(event: object) -> Wire:
    """The event as it may go on the wire."""
    if isinstance(event, BaseEvent):
        return _read_plain_object(event) or _check(*_read_object(event))
    if isinstance(event, (dict, Mapping)):
        return _read_plain_dict(event) or _check(*_read_dict(event))
    raise AgentFault(f"{type(event).__name__} is not an AG-UI event", pointer="")


# -- deltas: nearly all events of a run, so they have a fast path


def _read_plain_object(event: BaseEvent) -> Wire | None:
    delta_fields = _DELTA_OBJECTS.get(type(event))
    if delta_fields is None or event.timestamp is not None or event.raw_event is not None or event.metadata is not None:
        return None
    (kind, name), fields = delta_fields, vars(event)
    wire = {"type": kind, _DELTA_IDS[kind]: fields.get(name), "delta": fields.get("delta")}
    if fields.get("subagent_run_id") is not None:
        wire["subagentRunId"] = fields["subagent_run_id"]
    return wire if set(map(type, wire.values())) == _TEXT_ONLY else None


def _read_plain_dict(event: Mapping[str, Any]) -> Wire | None:
    kind = event.get("type")
    key = _DELTA_IDS.get(kind) if type(kind) is str else None
    if key is None or key not in event or "delta" not in event or len(event) - ("subagentRunId" in event) != 3:
        return None
    wire = dict(event)
    return wire if set(map(type, wire.values())) == _TEXT_ONLY else None


# -- all others: the official models


def _read_object(event: BaseEvent) -> tuple[str, Wire]:
    kind = str(getattr(event.type, "value", event.type))
    fields = _fields_of(kind)
    return kind, {fields[name]: value for name, value in vars(event).items() if name in fields}


def _read_dict(event: Mapping[str, Any]) -> tuple[str, Wire]:
    kind = event.get("type")
    if not isinstance(kind, str):
        raise AgentFault("an AG-UI event has a type, which is a string", pointer="/type")
    kind = str(getattr(kind, "value", kind))
    fields = {alias: event[alias] for alias in _fields_of(kind).values() if alias in event}
    if kind == "REASONING_MESSAGE_START" and "role" not in fields:
        raise _fault(kind, ["role"], "Field required")
    return kind, fields


def _fields_of(kind: str) -> dict[str, str]:
    try:
        return _FIELDS[kind]
    except KeyError:
        raise _fault(kind, ["type"], "AG-UI 1.0 has no such event") from None


def _check(kind: str, fields: Wire) -> Wire:
    try:
        try:
            return _validate_and_dump(_MODELS[kind], fields)
        except ValidationError as exc:
            errors = exc.errors(include_url=False, include_input=False)
            document: Wire = to_jsonable_python(fields, by_alias=True)
    except ValueError as exc:
        # Open fields may hold any object of the agent. Whether that is JSON shows only when it is dumped.
        raise _fault(kind, [], str(exc)) from None
    if _remove_newer(document, errors):
        return _check(kind, document)
    raise _deepest_fault(kind, document, errors)


def _validate_and_dump(model: type[BaseEvent], fields: Wire) -> Wire:
    checked: BaseEvent = model.__pydantic_validator__.validate_python(fields, strict=True)
    return checked.model_dump(by_alias=True, mode="json", warnings="error")


def _remove_newer(document: Wire, errors: list[ErrorDetails]) -> bool:
    """Removes the members of a kind that this version does not know. False if there are none."""
    unknown = ((error, _path(document, error)) for error in errors if error["type"] == "union_tag_invalid")
    newer = [path for error, path in unknown if isinstance(_tag_of(_value_at(document, path), error), str)]
    for path in reversed(newer):  # Backwards, so that the indices of the others stay valid.
        while len(path) > 1 and not isinstance(path[-1], int):
            path.pop()  # A content part is removed with its source.
        del _value_at(document, path[:-1])[path[-1]]
    return bool(newer)


def _tag_of(member: Any, error: ErrorDetails) -> Any:
    return member.get(error["ctx"]["discriminator"].strip("'"))


def _deepest_fault(kind: str, document: Wire, errors: list[ErrorDetails]) -> AgentFault:
    """The deepest error: of a union's branches the agent most likely meant the one that matched furthest."""
    path, error = max(((_path(document, error), error) for error in errors), key=lambda found: len(found[0]))
    return _fault(kind, path, error["msg"])


def _path(document: Any, error: ErrorDetails) -> _Path:
    """The error's path in the document. pydantic's own path also names the branches of unions, which are no keys."""
    path: _Path = []
    for token in error["loc"]:
        is_key = isinstance(document, dict) and token in document
        is_item = isinstance(document, list) and isinstance(token, int)
        if is_key or is_item:
            path.append(token)
            document = document[token]
    return [*path, error["loc"][-1]] if error["type"] == "missing" else path


def _value_at(document: Any, path: _Path) -> Any:
    for token in path:
        document = document[token]
    return document


def _fault(kind: str, path: _Path, reason: str) -> AgentFault:
    json_pointer = pointer(path)
    return AgentFault(f"{kind}{json_pointer and f' at {json_pointer}'}: {reason}", event=kind, pointer=json_pointer)
