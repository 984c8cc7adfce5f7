"""The tool calls of a conversation, as far as they were told: what a question about one is shown with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson


@dataclass(slots=True)
class Call:
    name: str
    text: str = ""
    """Its arguments, as JSON text."""

    @property
    def arguments(self) -> Any:
        """None: not JSON, or not all of it is here yet."""
        try:
            return orjson.loads(self.text)
        except ValueError:
            return None


class Calls:
    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}

    def feed(self, event: dict[str, Any]) -> None:
        match event:
            case {"type": "TOOL_CALL_START", "toolCallId": str(call), "toolCallName": str(name)}:
                self._calls[call] = Call(name)
            case {"type": "TOOL_CALL_ARGS", "toolCallId": str(call), "delta": str(delta)} if call in self._calls:
                self._calls[call].text += delta

    def get(self, call_id: str | None) -> Call | None:
        return self._calls.get(call_id or "")


def shortened(text: str, most: int) -> str:
    """On one line, and no longer than this."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: max(0, most - 1)]}…"


def arguments_shown(call: Call, most: int) -> str:
    """`path=notes.txt, depth=2`"""
    match call.arguments:
        case dict() as given:
            return shortened(", ".join(f"{name}={_value(value)}" for name, value in given.items()), most)
        case _:
            return shortened(call.text, most)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
