"""Which message an event without an id belongs to. A lane is the agent itself or one of its subagents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.events import Wire


@dataclass(slots=True)
class OpenMessages:
    """What is under way in one lane."""

    owner: str | None
    text: str | None = None
    """The open text message."""
    reasoning: str | None = None
    """The open reasoning message; its span has the same id."""
    assistant: str | None = None
    """The assistant message that tool calls join, until one is answered: so parallel calls stand in one message."""

    def tag(self, event: Wire) -> Wire:
        if self.owner is not None:
            event["subagentRunId"] = self.owner
        return event

    def close_text(self) -> list[Wire]:
        if self.text is None:
            return []
        message_id, self.text = self.text, None
        return [self.tag({"type": "TEXT_MESSAGE_END", "messageId": message_id})]

    def close_reasoning(self) -> list[Wire]:
        if self.reasoning is None:
            return []
        message_id, self.reasoning = self.reasoning, None
        return [
            self.tag({"type": "REASONING_MESSAGE_END", "messageId": message_id}),
            self.tag({"type": "REASONING_END", "messageId": message_id}),
        ]

    def open_text(self, message_id: str, role: str) -> list[Wire]:
        closed = self.close_reasoning() + self.close_text()
        self.text = message_id
        if role == "assistant":
            self.assistant = message_id
        return [*closed, self.tag({"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": role})]

    def open_reasoning(self, message_id: str) -> list[Wire]:
        closed = self.close_text() + self.close_reasoning()
        self.reasoning = message_id
        start = {"type": "REASONING_MESSAGE_START", "messageId": message_id, "role": "reasoning"}
        return [*closed, self.tag({"type": "REASONING_START", "messageId": message_id}), self.tag(start)]

    def close(self) -> list[Wire]:
        return self.close_text() + self.close_reasoning()

    def tool_parent(self, new_id: Callable[[], str]) -> str:
        if self.assistant is None:
            self.assistant = new_id()
        return self.assistant
