"""What an agent sends again when a session is loaded → the conversation as AG-UI messages.

In: the events that the same updates would be in a live turn, and the user's content parts. Out: messages. Never: an
event of the replay, as if it happened now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.events import (
    Event,
    ReasoningMessageContent,
    TextMessageContent,
    ToolCallArgs,
    ToolCallResult,
    ToolCallStart,
)
from gateway.wire.acp.content import Part

Message = dict[str, Any]


class Replay:
    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._by_id: dict[str, Message] = {}
        self._calls: dict[str, dict[str, Any]] = {}
        self._caller: Message | None = None
        self._open: dict[tuple[str, str | None], Message] = {}
        """(role, subagent) → the message that a delta without an id continues."""

    def add_user_part(self, message_id: str, part: Part) -> None:
        """One more part of a user message. Text alone is a plain string, as clients write it."""
        self._caller = None
        message = self._message(message_id, "user")
        content = message.setdefault("content", "")
        if isinstance(content, str) and part["type"] == "text":
            message["content"] = content + part["text"]
            return
        before = [{"type": "text", "text": content}] if content and isinstance(content, str) else list(content)
        message["content"] = [*before, part]

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            match event:
                case TextMessageContent():
                    self._add_delta(event.message_id, event.role or "assistant", event.text, event.subagent)
                case ReasoningMessageContent():
                    self._add_delta(event.message_id, "reasoning", event.text, event.subagent)
                case ToolCallStart():
                    self._add_call(event)
                case ToolCallArgs():
                    self._calls[event.id]["function"]["arguments"] += event.delta
                case ToolCallResult():
                    self._add_result(event)
                case _:
                    pass  # the session's state is kept elsewhere; the other events are not part of a conversation

    def _add_delta(self, message_id: str | None, role: str, delta: str, subagent: str | None) -> None:
        if message_id is not None:
            self._open[role, subagent] = self._message(message_id, role, subagent)
        message = self._open[role, subagent]
        message["content"] = message.get("content", "") + delta
        self._caller = message if role == "assistant" else None

    def _add_call(self, event: ToolCallStart) -> None:
        call = {"id": event.id, "type": "function", "function": {"name": event.name, "arguments": ""}}
        if event.metadata is not None:
            call["metadata"] = event.metadata
        if self._caller is None:
            self._caller = self._message(f"{event.id}:call", "assistant", event.subagent)
        self._caller.setdefault("toolCalls", []).append(call)
        self._calls[event.id] = call

    def _add_result(self, event: ToolCallResult) -> None:
        message = self._message(f"{event.id}:result", "tool", event.subagent)
        message |= {"toolCallId": event.id, "content": event.content}
        if event.metadata is not None:
            message["metadata"] = event.metadata
        self._caller = None

    def _message(self, message_id: str, role: str, subagent: str | None = None) -> Message:
        if message_id not in self._by_id:
            message: Message = {"id": message_id, "role": role}
            if subagent is not None:
                message["subagentRunId"] = subagent
            self._by_id[message_id] = message
            self.messages.append(message)
        return self._by_id[message_id]
