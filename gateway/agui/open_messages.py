"""The open text and reasoning message of the agent, or of one subagent. Events that name no message belong to them.

In: what the agent does next. Out: the AG-UI events that close and open messages around it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.events import Wire


@dataclass(slots=True)
class OpenMessages:
    """Of the agent itself, or of one of its subagents."""

    owner: str | None
    """The subagent; None is the agent itself."""
    text: str | None = None
    """Id of the open text message."""
    reasoning: str | None = None
    """Id of the open reasoning message; its span has the same id."""
    assistant: str | None = None
    """Id of the assistant message that tool calls are put into, until one has its result: so parallel calls are in one
    message."""

    def tag(self, event: Wire) -> Wire:
        if self.owner is not None:
            event["subagentRunId"] = self.owner
        return event

    def close_text(self) -> list[Wire]:
        if self.text is None:
            return []
        message_id = self.text
        self.text = None
        return [self.tag({"type": "TEXT_MESSAGE_END", "messageId": message_id})]

    def close_reasoning(self) -> list[Wire]:
        if self.reasoning is None:
            return []
        message_id = self.reasoning
        self.reasoning = None
        return [
            self.tag({"type": "REASONING_MESSAGE_END", "messageId": message_id}),
            self.tag({"type": "REASONING_END", "messageId": message_id}),
        ]

    def open_text(self, message_id: str, role: str) -> list[Wire]:
        ends = self.close_reasoning() + self.close_text()
        self.text = message_id
        if role == "assistant":
            self.assistant = message_id
        return [*ends, self.tag({"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": role})]

    def open_reasoning(self, message_id: str) -> list[Wire]:
        ends = self.close_text() + self.close_reasoning()
        self.reasoning = message_id
        start = {"type": "REASONING_MESSAGE_START", "messageId": message_id, "role": "reasoning"}
        return [*ends, self.tag({"type": "REASONING_START", "messageId": message_id}), self.tag(start)]

    def close(self) -> list[Wire]:
        return self.close_text() + self.close_reasoning()

    def tool_parent(self, new_id: Callable[[], str]) -> str:
        if self.assistant is None:
            self.assistant = new_id()
        return self.assistant
