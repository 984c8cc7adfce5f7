"""Tool calls of one conversation, and the ids that are given in it.

In: Claude's ids. Out: AG-UI's, unique in the thread: they begin with the turn's key. A call is kept until the turn
after its result, so that no event of it is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.events import Event, ToolCallArgs, ToolCallEnd, ToolCallResult, ToolCallStart
from gateway.wire.dialects.claude.content import Parts
from gateway.wire.fields import json_text


@dataclass(slots=True)
class ToolCall:
    id: str
    name: str
    subagent: str | None
    is_ended: bool = False
    """Its arguments are complete."""
    is_answered: bool = False

    def start(self) -> ToolCallStart:
        return ToolCallStart(self.id, self.name, subagent=self.subagent)

    def end(self) -> list[Event]:
        if self.is_ended:
            return []
        self.is_ended = True
        return [ToolCallEnd(self.id)]

    def answer(self, content: str | Parts, metadata: dict[str, Any] | None = None) -> list[Event]:
        if self.is_answered:
            return []
        self.is_ended = self.is_answered = True
        return [ToolCallResult(self.id, content, subagent=self.subagent, metadata=metadata)]


class ToolCalls:
    def __init__(self) -> None:
        self._id_prefix = ""
        self._used_ids: set[str] = set()
        self._by_id: dict[str, ToolCall] = {}
        self.client_names: dict[str, str] = {}
        """Claude's names of the client's tools → the client's names."""

    def start_turn(self, id_prefix: str) -> None:
        self._id_prefix = id_prefix
        self._used_ids.clear()
        self._by_id = {call_id: call for call_id, call in self._by_id.items() if not call.is_answered}

    def find(self, call_id: str | None) -> ToolCall | None:
        return self._by_id.get(call_id or "")

    def find_id(self, call_id: str | None) -> str | None:
        """AG-UI's id of a call."""
        call = self.find(call_id)
        return None if call is None else call.id

    def add(self, call_id: str, name: str | None, subagent: str | None) -> ToolCall | None:
        """None: the call is known."""
        if call_id in self._by_id:
            return None
        tool = self.client_names.get(name or "", name or "tool")
        call = self._by_id[call_id] = ToolCall(self.new_id(call_id), tool, subagent)
        return call

    def add_whole(self, call_id: str, name: str | None, arguments: Any, subagent: str | None) -> list[Event]:
        """A call with all its arguments; no events if it is known."""
        call = self.add(call_id, name, subagent)
        if call is None:
            return []
        return [call.start(), ToolCallArgs(call.id, json_text(arguments)), *call.end()]

    def new_id(self, name: str) -> str:
        """An id that was not used in this turn before."""
        new_id, number = f"{self._id_prefix}:{name}", 1
        while new_id in self._used_ids:
            number += 1
            new_id = f"{self._id_prefix}:{name}.{number}"
        self._used_ids.add(new_id)
        return new_id
