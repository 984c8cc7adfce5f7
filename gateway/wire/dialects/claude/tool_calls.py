"""Tool calls of one conversation, and the ids that are given in it.

In: Claude's own ids. Out: AG-UI's, unique in the thread: they begin with the turn's key. A call is kept until the turn
after its result, so that nothing is told of it twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.events import Event, ToolCallArgs, ToolCallEnd, ToolCallResult, ToolCallStart
from gateway.wire.dialects.claude.content import Parts
from gateway.wire.fields import json_text


@dataclass(slots=True)
class Call:
    id: str
    name: str
    subagent: str | None
    ended: bool = False
    """Its arguments are complete."""
    answered: bool = False

    def start(self) -> ToolCallStart:
        return ToolCallStart(self.id, self.name, subagent=self.subagent)

    def end(self) -> list[Event]:
        if self.ended:
            return []
        self.ended = True
        return [ToolCallEnd(self.id)]

    def answer(self, content: str | Parts, metadata: dict[str, Any] | None = None) -> list[Event]:
        if self.answered:
            return []
        self.ended = self.answered = True
        return [ToolCallResult(self.id, content, subagent=self.subagent, metadata=metadata)]


class Calls:
    def __init__(self) -> None:
        self._key = ""
        self._given: set[str] = set()
        self._known: dict[str, Call] = {}
        self.names: dict[str, str] = {}
        """Claude's names of the client's own tools → theirs."""

    def begin(self, key: str) -> None:
        """A new turn."""
        self._key = key
        self._given.clear()
        self._known = {name: call for name, call in self._known.items() if not call.answered}

    def find(self, claudes: str | None) -> Call | None:
        return self._known.get(claudes or "")

    def new(self, claudes: str, name: str | None, subagent: str | None) -> Call | None:
        """None: it is known."""
        if claudes in self._known:
            return None
        call = self._known[claudes] = Call(self.fresh(claudes), self.names.get(name or "", name or "tool"), subagent)
        return call

    def whole(self, claudes: str, name: str | None, arguments: Any, subagent: str | None) -> list[Event]:
        """A call with all its arguments; nothing if it is known."""
        call = self.new(claudes, name, subagent)
        if call is None:
            return []
        return [call.start(), ToolCallArgs(call.id, json_text(arguments)), *call.end()]

    def fresh(self, place: str) -> str:
        """An id that this turn has not given before."""
        name, again = f"{self._key}:{place}", 1
        while name in self._given:
            again += 1
            name = f"{self._key}:{place}.{again}"
        self._given.add(name)
        return name
