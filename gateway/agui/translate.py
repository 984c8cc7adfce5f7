"""The house's own events → AG-UI events, ids filled in. Order is `outbound`'s concern: it drops a close too many.

In: one event of `gateway.events`. Out: the AG-UI events it stands for. Remembers the open message of every lane.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_type_hints

from gateway import events as e
from gateway.agui.open_messages import OpenMessages
from gateway.agui.tool_results import result_metadata
from gateway.agui.validate import validate
from gateway.errors import AgentFault
from gateway.events import Wire
from gateway.turn import Notice


class Translator:
    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._count = 0
        self._lanes: dict[str | None, OpenMessages] = {}
        self.main = self._lane(None)
        self.calls: dict[str, str | None] = {}
        """Tool call → the subagent that made it."""

    def read(self, event: object) -> list[Wire]:
        """Raises `AgentFault` when the event holds what AG-UI has no place for."""
        kind = type(event)
        for name, hint in TEXTS[kind].items():
            if not isinstance(getattr(event, name), hint):
                found = type(getattr(event, name)).__name__
                raise AgentFault(f"the agent's {kind.__name__} has a {found} for `{name}`, which is a string")
        return [checked(wire) for wire in HANDLERS[kind](self, event)]

    def new_id(self) -> str:
        self._count += 1
        return f"{self._prefix}-{self._count}"

    def _lane(self, owner: str | None) -> OpenMessages:
        lane = self._lanes.get(owner)
        if lane is None:
            lane = self._lanes[owner] = OpenMessages(owner)
        return lane

    def _text(self, event: e.TextMessageContent) -> list[Wire]:
        lane, opened = self._lane(event.subagent), list[Wire]()
        if lane.text is None or event.message_id not in (None, lane.text):
            opened = lane.open_text(event.message_id or self.new_id(), event.role or "assistant")
        delta = {"type": "TEXT_MESSAGE_CONTENT", "messageId": lane.text, "delta": event.text}
        return [*opened, with_metadata(lane.tag(delta), event.metadata)]

    def _reasoning(self, event: e.ReasoningMessageContent) -> list[Wire]:
        lane, opened = self._lane(event.subagent), list[Wire]()
        if lane.reasoning is None or event.message_id not in (None, lane.reasoning):
            opened = lane.open_reasoning(event.message_id or self.new_id())
        delta = {"type": "REASONING_MESSAGE_CONTENT", "messageId": lane.reasoning, "delta": event.text}
        return [*opened, with_metadata(lane.tag(delta), event.metadata)]

    def _heard(self, event: e.UserMessageAccepted) -> list[Wire]:
        closed, lane = self.main.close(), OpenMessages(None)
        self.main.assistant = None  # what the agent says now answers the new message
        delta = {"type": "TEXT_MESSAGE_CONTENT", "messageId": event.message_id, "delta": event.text}
        return [*closed, *lane.open_text(event.message_id, "user"), delta, *lane.close()]

    def _text_end(self, event: e.TextMessageEnd) -> list[Wire]:
        lane = self._lane(event.subagent)
        return lane.close_text() if event.message_id in (None, lane.text) else []

    def _reasoning_end(self, event: e.ReasoningMessageEnd) -> list[Wire]:
        lane = self._lane(event.subagent)
        return lane.close_reasoning() if event.message_id in (None, lane.reasoning) else []

    def _encrypted(self, event: e.ReasoningEncryptedValue) -> list[Wire]:
        wire = {"subtype": event.subtype, "entityId": event.entity_id, "encryptedValue": event.value}
        return [self._lane(event.subagent).tag({"type": "REASONING_ENCRYPTED_VALUE", **wire})]

    def _tool_start(self, event: e.ToolCallStart) -> list[Wire]:
        lane = self._lane(event.subagent)
        self.calls[event.id] = event.subagent
        closed = lane.close()
        parent = event.message_id or lane.tool_parent(self.new_id)
        wire = {"toolCallId": event.id, "toolCallName": event.name, "parentMessageId": parent}
        return [*closed, with_metadata(lane.tag({"type": "TOOL_CALL_START", **wire}), event.metadata)]

    def _tool_args(self, event: e.ToolCallArgs) -> list[Wire]:
        return [self._of_call(event.id, {"type": "TOOL_CALL_ARGS", "toolCallId": event.id, "delta": event.delta})]

    def _tool_end(self, event: e.ToolCallEnd) -> list[Wire]:
        end = self._of_call(event.id, {"type": "TOOL_CALL_END", "toolCallId": event.id})
        return [with_metadata(end, event.metadata)]

    def _of_call(self, call: str, event: Wire) -> Wire:
        return self._lane(self.calls.get(call)).tag(event)

    def _tool_result(self, event: e.ToolCallResult) -> list[Wire]:
        # Who gives the result need not be who made the call: only the call's end is in its owner's name.
        lane = self._lane(self.calls.get(event.id) if event.subagent is None else event.subagent)
        closed = [*lane.close(), self._of_call(event.id, {"type": "TOOL_CALL_END", "toolCallId": event.id})]
        lane.assistant = None
        message_id = event.message_id or self.new_id()
        wire = {"messageId": message_id, "toolCallId": event.id, "content": event.content, "role": "tool"}
        return [*closed, with_metadata(lane.tag({"type": "TOOL_CALL_RESULT", **wire}), result_metadata(event))]

    def _state(self, event: e.StateSnapshot) -> list[Wire]:
        return [self._lane(event.subagent).tag({"type": "STATE_SNAPSHOT", "snapshot": event.snapshot})]

    def _state_patch(self, event: e.StateDelta) -> list[Wire]:
        return [self._lane(event.subagent).tag({"type": "STATE_DELTA", "delta": event.delta})]

    def _messages(self, event: e.MessagesSnapshot) -> list[Wire]:
        return [{"type": "MESSAGES_SNAPSHOT", "messages": event.messages}]

    def _activity(self, event: e.ActivitySnapshot) -> list[Wire]:
        wire: Wire = {"messageId": event.id, "activityType": event.type, "content": event.content}
        if not event.replace:
            wire["replace"] = False
        return [self._lane(event.subagent).tag({"type": "ACTIVITY_SNAPSHOT", **wire})]

    def _activity_patch(self, event: e.ActivityDelta) -> list[Wire]:
        wire = {"messageId": event.id, "activityType": event.type, "patch": event.patch}
        return [self._lane(event.subagent).tag({"type": "ACTIVITY_DELTA", **wire})]

    def _step_start(self, event: e.StepStarted) -> list[Wire]:
        return [self._lane(event.subagent).tag({"type": "STEP_STARTED", "stepName": event.name})]

    def _step_end(self, event: e.StepFinished) -> list[Wire]:
        return [self._lane(event.subagent).tag({"type": "STEP_FINISHED", "stepName": event.name})]

    def _subagent_start(self, event: e.SubagentStarted) -> list[Wire]:
        wire = {
            "type": "SUBAGENT_STARTED",
            "subagentRunId": event.id,
            "name": event.name,
            "description": event.description,
            "parentSubagentRunId": event.parent,
            "parentToolCallId": event.tool_call_id,
            "parentMessageId": event.message_id,
        }
        return [{key: value for key, value in wire.items() if value is not None}]

    def _subagent_end(self, event: e.SubagentFinished) -> list[Wire]:
        wire: Wire = {"type": "SUBAGENT_FINISHED", "subagentRunId": event.id}
        if event.result is not None:
            wire["result"] = event.result
        return [*self._lane(event.id).close(), wire]

    def _subagent_broke(self, event: e.SubagentError) -> list[Wire]:
        wire = {"type": "SUBAGENT_ERROR", "subagentRunId": event.id, "message": event.message}
        if event.code is not None:
            wire["code"] = event.code
        return [*self._lane(event.id).close(), wire]

    def _custom(self, event: e.Custom) -> list[Wire]:
        return [self._lane(event.subagent).tag({"type": "CUSTOM", "name": event.name, "value": event.value})]

    def _unread(self, event: e.Raw) -> list[Wire]:
        wire: Wire = {"type": "RAW", "event": event.event}
        if event.source is not None:
            wire["source"] = event.source
        return [wire]

    def _warned(self, event: e.Warning) -> list[Wire]:
        return [warning(event.code, event.message, event.detail)]


def checked(wire: Wire) -> Wire:
    """Texts were looked at before; whatever else there is goes through the official models."""
    plain = wire["type"] not in CHOOSY and all(type(value) is str for value in wire.values())
    return wire if plain else validate(wire)


def with_metadata(event: Wire, metadata: dict[str, Any] | None) -> Wire:
    if metadata is not None:
        event["metadata"] = metadata
    return event


def warning(code: str, message: str, detail: dict[str, Any] | None = None) -> Wire:
    """How the gateway tells a client of something it could not do, without failing the run."""
    return {"type": "CUSTOM", "name": "gateway.warning", "value": {"code": code, "message": message, **(detail or {})}}


def noticed(notice: Notice) -> Wire:
    """What was left out or changed on the way in, as the run's client is told of it."""
    if notice.code in NAMES_OF_THEIR_OWN:
        return {"type": "CUSTOM", "name": NAMES_OF_THEIR_OWN[notice.code], "value": dict(notice.detail)}
    return warning(notice.code, notice.message, {**notice.detail, "pointer": notice.pointer})


NAMES_OF_THEIR_OWN = {"STREAM_FALLBACK": "stream_fallback"}
"""Notices that other programs know as an event: this one is agent-mux's."""


HANDLERS: dict[type, Callable[[Translator, Any], list[Wire]]] = {
    e.TextMessageContent: Translator._text,
    e.TextMessageEnd: Translator._text_end,
    e.UserMessageAccepted: Translator._heard,
    e.ReasoningMessageContent: Translator._reasoning,
    e.ReasoningMessageEnd: Translator._reasoning_end,
    e.ReasoningEncryptedValue: Translator._encrypted,
    e.ToolCallStart: Translator._tool_start,
    e.ToolCallArgs: Translator._tool_args,
    e.ToolCallEnd: Translator._tool_end,
    e.ToolCallResult: Translator._tool_result,
    e.StateSnapshot: Translator._state,
    e.StateDelta: Translator._state_patch,
    e.MessagesSnapshot: Translator._messages,
    e.ActivitySnapshot: Translator._activity,
    e.ActivityDelta: Translator._activity_patch,
    e.StepStarted: Translator._step_start,
    e.StepFinished: Translator._step_end,
    e.SubagentStarted: Translator._subagent_start,
    e.SubagentFinished: Translator._subagent_end,
    e.SubagentError: Translator._subagent_broke,
    e.Custom: Translator._custom,
    e.Raw: Translator._unread,
    e.Warning: Translator._warned,
}

TEXTS = {
    kind: {name: hint for name, hint in get_type_hints(kind).items() if hint in (str, str | None)} for kind in HANDLERS
}
"""Event → its fields that are text. Authors' code is not type-checked, and ids are looked up before they are sent."""

CHOOSY = frozenset(("TEXT_MESSAGE_START", "REASONING_ENCRYPTED_VALUE"))
"""Events with a text that may not be just any."""
