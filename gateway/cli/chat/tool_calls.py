"""The tool calls of a conversation, collected from its events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson


@dataclass(slots=True)
class ToolCall:
    """One call and its arguments so far."""

    name: str
    text: str = ""
    """The arguments as JSON text."""

    @property
    def arguments(self) -> Any:
        """None: not JSON, or incomplete."""
        try:
            return orjson.loads(self.text)
        except ValueError:
            return None


class ToolCalls:
    """All calls of a conversation by id."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCall] = {}

    def feed(self, event: dict[str, Any]) -> None:
        match event:
            case {"type": "TOOL_CALL_START", "toolCallId": str(call), "toolCallName": str(name)}:
                self._calls[call] = ToolCall(name)
            case {"type": "TOOL_CALL_ARGS", "toolCallId": str(call), "delta": str(delta)} if call in self._calls:
                self._calls[call].text += delta

    def get(self, call_id: str | None) -> ToolCall | None:
        return self._calls.get(call_id or "")


def truncate(text: str, max_chars: int) -> str:
    """On one line, at most `max_chars` long."""
    line = " ".join(text.split())
    return line if len(line) <= max_chars else f"{line[: max(0, max_chars - 1)]}…"


def format_arguments(call: ToolCall, max_chars: int) -> str:
    """`path=notes.txt, depth=2`"""
    match call.arguments:
        case dict() as arguments:
            return truncate(", ".join(f"{name}={_format(value)}" for name, value in arguments.items()), max_chars)
        case _:
            return truncate(call.text, max_chars)


def _format(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
