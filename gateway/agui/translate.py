"""One event of `gateway.events` → the AG-UI events that it stands for, with ids filled in.

In: an event of an agent. Out: AG-UI events. It remembers the open messages of the agent and of each subagent. Never:
the rules of order; `outbound` drops an end that is too many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_type_hints

from gateway import events
from gateway.agui.open_messages import OpenMessages
from gateway.agui.tool_results import result_metadata
from gateway.agui.validate import validate
from gateway.errors import AgentFault
from gateway.events import Wire
from gateway.turn import Notice


class Translator:
    """The events of one run."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._count = 0
        self._messages_by_owner: dict[str | None, OpenMessages] = {}
        self.main = self._open_messages(None)
        self.calls: dict[str, str | None] = {}
        """Tool call id → the subagent that made the call."""

    def read(self, event: object) -> list[Wire]:
        """Raises `AgentFault` for a value that AG-UI does not allow there."""
        kind = type(event)
        for name, hint in TEXT_FIELDS[kind].items():
            if not isinstance(getattr(event, name), hint):
                type_name = type(getattr(event, name)).__name__
                raise AgentFault(f"the agent's {kind.__name__} has a {type_name} for `{name}`, which is a string")
        return [check_event(wire) for wire in HANDLERS[kind](self, event)]

    def new_id(self) -> str:
        self._count += 1
        return f"{self._prefix}-{self._count}"

    def _open_messages(self, owner: str | None) -> OpenMessages:
        messages = self._messages_by_owner.get(owner)
        if messages is None:
            messages = self._messages_by_owner[owner] = OpenMessages(owner)
        return messages

    def _text(self, event: events.TextMessageContent) -> list[Wire]:
        messages = self._open_messages(event.subagent)
        starts: list[Wire] = []
        if messages.text is None or event.message_id not in (None, messages.text):
            starts = messages.open_text(event.message_id or self.new_id(), event.role or "assistant")
        delta = {"type": "TEXT_MESSAGE_CONTENT", "messageId": messages.text, "delta": event.text}
        return [*starts, with_metadata(messages.tag(delta), event.metadata)]

    def _reasoning(self, event: events.ReasoningMessageContent) -> list[Wire]:
        messages = self._open_messages(event.subagent)
        starts: list[Wire] = []
        if messages.reasoning is None or event.message_id not in (None, messages.reasoning):
            starts = messages.open_reasoning(event.message_id or self.new_id())
        delta = {"type": "REASONING_MESSAGE_CONTENT", "messageId": messages.reasoning, "delta": event.text}
        return [*starts, with_metadata(messages.tag(delta), event.metadata)]

    def _user_message(self, event: events.UserMessageAccepted) -> list[Wire]:
        ends = self.main.close()
        messages = OpenMessages(None)
        self.main.assistant = None  # The agent's next message answers the new user message.
        delta = {"type": "TEXT_MESSAGE_CONTENT", "messageId": event.message_id, "delta": event.text}
        return [*ends, *messages.open_text(event.message_id, "user"), delta, *messages.close()]

    def _text_end(self, event: events.TextMessageEnd) -> list[Wire]:
        messages = self._open_messages(event.subagent)
        return messages.close_text() if event.message_id in (None, messages.text) else []

    def _reasoning_end(self, event: events.ReasoningMessageEnd) -> list[Wire]:
        messages = self._open_messages(event.subagent)
        return messages.close_reasoning() if event.message_id in (None, messages.reasoning) else []

    def _encrypted(self, event: events.ReasoningEncryptedValue) -> list[Wire]:
        wire = {"subtype": event.subtype, "entityId": event.entity_id, "encryptedValue": event.value}
        return [self._open_messages(event.subagent).tag({"type": "REASONING_ENCRYPTED_VALUE", **wire})]

    def _tool_start(self, event: events.ToolCallStart) -> list[Wire]:
        messages = self._open_messages(event.subagent)
        self.calls[event.id] = event.subagent
        ends = messages.close()
        parent = event.message_id or messages.tool_parent(self.new_id)
        wire = {"toolCallId": event.id, "toolCallName": event.name, "parentMessageId": parent}
        return [*ends, with_metadata(messages.tag({"type": "TOOL_CALL_START", **wire}), event.metadata)]

    def _tool_args(self, event: events.ToolCallArgs) -> list[Wire]:
        return [
            self._tag_call_event(event.id, {"type": "TOOL_CALL_ARGS", "toolCallId": event.id, "delta": event.delta})
        ]

    def _tool_end(self, event: events.ToolCallEnd) -> list[Wire]:
        end = self._tag_call_event(event.id, {"type": "TOOL_CALL_END", "toolCallId": event.id})
        return [with_metadata(end, event.metadata)]

    def _tag_call_event(self, call: str, event: Wire) -> Wire:
        return self._open_messages(self.calls.get(call)).tag(event)

    def _tool_result(self, event: events.ToolCallResult) -> list[Wire]:
        # A result may come from another subagent than the call. The call's end is in its owner's name.
        messages = self._open_messages(self.calls.get(event.id) if event.subagent is None else event.subagent)
        ends = [*messages.close(), self._tag_call_event(event.id, {"type": "TOOL_CALL_END", "toolCallId": event.id})]
        messages.assistant = None
        message_id = event.message_id or self.new_id()
        wire = {"messageId": message_id, "toolCallId": event.id, "content": event.content, "role": "tool"}
        return [*ends, with_metadata(messages.tag({"type": "TOOL_CALL_RESULT", **wire}), result_metadata(event))]

    def _state(self, event: events.StateSnapshot) -> list[Wire]:
        return [self._open_messages(event.subagent).tag({"type": "STATE_SNAPSHOT", "snapshot": event.snapshot})]

    def _state_patch(self, event: events.StateDelta) -> list[Wire]:
        return [self._open_messages(event.subagent).tag({"type": "STATE_DELTA", "delta": event.delta})]

    def _messages(self, event: events.MessagesSnapshot) -> list[Wire]:
        return [{"type": "MESSAGES_SNAPSHOT", "messages": event.messages}]

    def _activity(self, event: events.ActivitySnapshot) -> list[Wire]:
        wire: Wire = {"messageId": event.id, "activityType": event.type, "content": event.content}
        if not event.replace:
            wire["replace"] = False
        return [self._open_messages(event.subagent).tag({"type": "ACTIVITY_SNAPSHOT", **wire})]

    def _activity_patch(self, event: events.ActivityDelta) -> list[Wire]:
        wire = {"messageId": event.id, "activityType": event.type, "patch": event.patch}
        return [self._open_messages(event.subagent).tag({"type": "ACTIVITY_DELTA", **wire})]

    def _step_start(self, event: events.StepStarted) -> list[Wire]:
        return [self._open_messages(event.subagent).tag({"type": "STEP_STARTED", "stepName": event.name})]

    def _step_end(self, event: events.StepFinished) -> list[Wire]:
        return [self._open_messages(event.subagent).tag({"type": "STEP_FINISHED", "stepName": event.name})]

    def _subagent_start(self, event: events.SubagentStarted) -> list[Wire]:
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

    def _subagent_end(self, event: events.SubagentFinished) -> list[Wire]:
        wire: Wire = {"type": "SUBAGENT_FINISHED", "subagentRunId": event.id}
        if event.result is not None:
            wire["result"] = event.result
        return [*self._open_messages(event.id).close(), wire]

    def _subagent_error(self, event: events.SubagentError) -> list[Wire]:
        wire = {"type": "SUBAGENT_ERROR", "subagentRunId": event.id, "message": event.message}
        if event.code is not None:
            wire["code"] = event.code
        return [*self._open_messages(event.id).close(), wire]

    def _custom(self, event: events.Custom) -> list[Wire]:
        return [self._open_messages(event.subagent).tag({"type": "CUSTOM", "name": event.name, "value": event.value})]

    def _raw(self, event: events.Raw) -> list[Wire]:
        wire: Wire = {"type": "RAW", "event": event.event}
        if event.source is not None:
            wire["source"] = event.source
        return [wire]

    def _warning(self, event: events.Warning) -> list[Wire]:
        return [warning_event(event.code, event.message, event.detail)]


def check_event(wire: Wire) -> Wire:
    """The event, checked by the official models unless it has plain strings only, which were checked before."""
    is_plain = wire["type"] not in RESTRICTED_EVENTS and all(type(value) is str for value in wire.values())
    return wire if is_plain else validate(wire)


def with_metadata(event: Wire, metadata: dict[str, Any] | None) -> Wire:
    if metadata is not None:
        event["metadata"] = metadata
    return event


def warning_event(code: str, message: str, detail: dict[str, Any] | None = None) -> Wire:
    """A warning of the gateway to the client, which does not fail the run."""
    return {"type": "CUSTOM", "name": "gateway.warning", "value": {"code": code, "message": message, **(detail or {})}}


def notice_event(notice: Notice) -> Wire:
    """The event by which the client learns what was left out of its input, or changed."""
    if notice.code in CUSTOM_EVENT_NAMES:
        return {"type": "CUSTOM", "name": CUSTOM_EVENT_NAMES[notice.code], "value": dict(notice.detail)}
    return warning_event(notice.code, notice.message, {**notice.detail, "pointer": notice.pointer})


CUSTOM_EVENT_NAMES = {"STREAM_FALLBACK": "stream_fallback"}
"""Notice code → name of a custom event that other programs know. `stream_fallback` is agent-mux's."""


HANDLERS: dict[type, Callable[[Translator, Any], list[Wire]]] = {
    events.TextMessageContent: Translator._text,
    events.TextMessageEnd: Translator._text_end,
    events.UserMessageAccepted: Translator._user_message,
    events.ReasoningMessageContent: Translator._reasoning,
    events.ReasoningMessageEnd: Translator._reasoning_end,
    events.ReasoningEncryptedValue: Translator._encrypted,
    events.ToolCallStart: Translator._tool_start,
    events.ToolCallArgs: Translator._tool_args,
    events.ToolCallEnd: Translator._tool_end,
    events.ToolCallResult: Translator._tool_result,
    events.StateSnapshot: Translator._state,
    events.StateDelta: Translator._state_patch,
    events.MessagesSnapshot: Translator._messages,
    events.ActivitySnapshot: Translator._activity,
    events.ActivityDelta: Translator._activity_patch,
    events.StepStarted: Translator._step_start,
    events.StepFinished: Translator._step_end,
    events.SubagentStarted: Translator._subagent_start,
    events.SubagentFinished: Translator._subagent_end,
    events.SubagentError: Translator._subagent_error,
    events.Custom: Translator._custom,
    events.Raw: Translator._raw,
    events.Warning: Translator._warning,
}

TEXT_FIELDS = {
    kind: {name: hint for name, hint in get_type_hints(kind).items() if hint in (str, str | None)} for kind in HANDLERS
}
"""Event → its fields that are strings. They are checked here: agent authors' code may not be type-checked, and ids are
used before the official models see them."""

RESTRICTED_EVENTS = frozenset(("TEXT_MESSAGE_START", "REASONING_ENCRYPTED_VALUE"))
"""Events with a string that must be one of a few."""
