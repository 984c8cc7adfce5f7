"""An event made by an agent → the AG-UI event as its JSON object, or `AgentFault` saying what is wrong, and where.

In: an official `ag_ui.core` event, or a dict in AG-UI's JSON shape. Out: a new dict with camelCase keys and no null in
an optional position. Looks at one event at a time: what may follow what is `order`'s concern.

As strict as the JavaScript client: the official models in strict mode, so nothing is coerced, and the one `role` that
they would fill in is asked for. As lenient as it, too: a top-level key that AG-UI does not describe is left out, and
so is a message, content part, patch operation or outcome of a kind that AG-UI 1.0 does not know. Nulls that the
client would trip over are left out, as the official encoders do.
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

_DELTAS = {
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
        return _plain_object(event) or _checked(*_of_object(event))
    if isinstance(event, (dict, Mapping)):
        return _plain_dict(event) or _checked(*_of_dict(event))
    raise AgentFault(f"{type(event).__name__} is not an AG-UI event", pointer="")


# -- deltas: nearly all events of a run, so they take a short way


def _plain_object(event: BaseEvent) -> Wire | None:
    known = _DELTA_OBJECTS.get(type(event))
    if known is None or event.timestamp is not None or event.raw_event is not None or event.metadata is not None:
        return None
    (kind, name), given = known, vars(event)
    wire = {"type": kind, _DELTAS[kind]: given.get(name), "delta": given.get("delta")}
    if given.get("subagent_run_id") is not None:
        wire["subagentRunId"] = given["subagent_run_id"]
    return wire if set(map(type, wire.values())) == _TEXT_ONLY else None


def _plain_dict(event: Mapping[str, Any]) -> Wire | None:
    kind = event.get("type")
    key = _DELTAS.get(kind) if type(kind) is str else None
    if key is None or key not in event or "delta" not in event or len(event) - ("subagentRunId" in event) != 3:
        return None
    wire = dict(event)
    return wire if set(map(type, wire.values())) == _TEXT_ONLY else None


# -- all others: the official models


def _of_object(event: BaseEvent) -> tuple[str, Wire]:
    kind = str(getattr(event.type, "value", event.type))
    fields = _fields(kind)
    return kind, {fields[name]: value for name, value in vars(event).items() if name in fields}


def _of_dict(event: Mapping[str, Any]) -> tuple[str, Wire]:
    kind = event.get("type")
    if not isinstance(kind, str):
        raise AgentFault("an AG-UI event has a type, which is a string", pointer="/type")
    kind = str(getattr(kind, "value", kind))
    given = {alias: event[alias] for alias in _fields(kind).values() if alias in event}
    if kind == "REASONING_MESSAGE_START" and "role" not in given:
        raise _fault(kind, ["role"], "Field required")
    return kind, given


def _fields(kind: str) -> dict[str, str]:
    try:
        return _FIELDS[kind]
    except KeyError:
        raise _fault(kind, ["type"], "AG-UI 1.0 has no such event") from None


def _checked(kind: str, given: Wire) -> Wire:
    try:
        try:
            return _dumped(_MODELS[kind], given)
        except ValidationError as exc:
            errors = exc.errors(include_url=False, include_input=False)
            seen: Wire = to_jsonable_python(given, by_alias=True)
    except ValueError as exc:
        # Open data is whatever the agent put there: only when it is written does it show that it is not JSON.
        raise _fault(kind, [], str(exc)) from None
    if _left_out(seen, errors):
        return _checked(kind, seen)
    raise _worst(kind, seen, errors)


def _dumped(model: type[BaseEvent], given: Wire) -> Wire:
    checked: BaseEvent = model.__pydantic_validator__.validate_python(given, strict=True)
    return checked.model_dump(by_alias=True, mode="json", warnings="error")


def _left_out(seen: Wire, errors: list[ErrorDetails]) -> bool:
    """Takes out the members of a kind that is newer than we are. False if there are none."""
    strange = ((error, _path(seen, error)) for error in errors if error["type"] == "union_tag_invalid")
    newer = [path for error, path in strange if isinstance(_tag(_at(seen, path), error), str)]
    for path in reversed(newer):  # backwards, so that indices stay true while items go
        while len(path) > 1 and not isinstance(path[-1], int):
            path.pop()  # a content part goes with its source
        del _at(seen, path[:-1])[path[-1]]
    return bool(newer)


def _tag(member: Any, error: ErrorDetails) -> Any:
    return member.get(error["ctx"]["discriminator"].strip("'"))


def _worst(kind: str, seen: Wire, errors: list[ErrorDetails]) -> AgentFault:
    """The deepest one: of a union's branches the one that came furthest is the one that was meant."""
    path, error = max(((_path(seen, error), error) for error in errors), key=lambda found: len(found[0]))
    return _fault(kind, path, error["msg"])


def _path(seen: Any, error: ErrorDetails) -> _Path:
    """Where it is in the document. pydantic's own path also names the branches of unions, which are no keys."""
    path: _Path = []
    for token in error["loc"]:
        is_key = isinstance(seen, dict) and token in seen
        is_item = isinstance(seen, list) and isinstance(token, int)
        if is_key or is_item:
            path.append(token)
            seen = seen[token]
    return [*path, error["loc"][-1]] if error["type"] == "missing" else path


def _at(seen: Any, path: _Path) -> Any:
    for token in path:
        seen = seen[token]
    return seen


def _fault(kind: str, path: _Path, why: str) -> AgentFault:
    where = pointer(path)
    return AgentFault(f"{kind}{where and f' at {where}'}: {why}", event=kind, pointer=where)
