"""The threads of one session: its own, and those of the subagents that it started.

In: which thread started which. Out: the lane of a thread, with what must be told before it speaks. Codex tells of a
new thread by the call that spawned it, by `subAgentActivity`, or only by a turn whose root is ours. A subagent may
outlive the turn: what it does then is a new invocation to the client, whose run has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gateway.events import Event, SubagentError, SubagentFinished, SubagentStarted
from gateway.wire.dialects.codex.errors import turn_fault
from gateway.wire.dialects.codex.items import Lane
from gateway.wire.dialects.codex.tool_calls import Item
from gateway.wire.dialects.codex.usage import Book
from gateway.wire.fields import non_empty, obj, text


@dataclass(slots=True)
class Child:
    thread_id: str
    parent: str | None
    """The subagent that started it, by its thread; None: the session itself."""
    name: str = "subagent"
    description: str | None = None
    tool_call_id: str | None = None
    lane: Lane | None = None
    """None: at rest, as far as the client knows."""
    book: Book = field(default_factory=lambda: Book({}))


class Family:
    def __init__(self) -> None:
        self.main = Lane("t0")
        self.turns: set[str] = set()
        """Ids of our own turns: a turn of another thread that has one of them as its root is a child's."""
        self._children: dict[str, Child] = {}
        self._count = 0
        self._key = "t0"

    def begin(self, key: str) -> None:
        self._key = key
        self.main.begin(key)

    def child(self, thread_id: Any) -> Child | None:
        return self._children.get(thread_id) if isinstance(thread_id, str) else None

    def lanes(self) -> list[Lane]:
        return [self.main, *(child.lane for child in self._children.values() if child.lane is not None)]

    def lane(self, child: Child) -> tuple[Lane, list[Event]]:
        if child.lane is not None:
            return child.lane, []
        found: list[Event] = []
        parent = self.child(child.parent)
        above = None
        if parent is not None and parent is not child:
            lane, found = self.lane(parent)
            above = lane.subagent
        self._count += 1
        name = f"{self._key}/{self._count}"
        child.lane = Lane(name, name)
        start = SubagentStarted(name, child.name, child.description, parent=above, tool_call_id=child.tool_call_id)
        return child.lane, [*found, start]

    def met(self, item: Item, owner: str | None, lane: Lane) -> None:
        """An item that may tell of a new thread. `owner`: the thread that it stands in, if that is a child's."""
        if item.get("type") == "subAgentActivity":
            self._adopt(non_empty(item.get("agentThreadId")), owner, name=non_empty(item.get("agentPath")))
        elif item.get("type") == "collabAgentToolCall" and item.get("tool") == "spawnAgent":
            told = item.get("receiverThreadIds")
            call = lane.call_id(item.get("id"))
            for thread_id in told if isinstance(told, list) else ():
                self._adopt(non_empty(thread_id), owner, description=text(item.get("prompt")), tool_call_id=call)

    def met_turn(self, thread_id: Any, turn: dict[str, Any]) -> None:
        """A turn began in a thread that nobody knows."""
        if non_empty(turn.get("rootTurnId")) in self.turns:
            self._adopt(non_empty(thread_id), None)

    def _adopt(self, thread_id: str | None, parent: str | None, name: str | None = None, **about: Any) -> None:
        if thread_id is not None and thread_id not in self._children and thread_id != parent:
            self._children[thread_id] = Child(thread_id, parent, name or "subagent", **about)

    def ended(self, child: Child, turn: dict[str, Any]) -> list[Event]:
        """A child's turn is over."""
        lane, found = self.lane(child)
        child.lane = None
        found += lane.close(cancelled=turn.get("status") == "interrupted")
        if turn.get("status") == "failed":
            words, code = turn_fault(obj(turn.get("error")))
            return [*found, SubagentError(str(lane.subagent), words, code)]
        return [*found, SubagentFinished(str(lane.subagent))]

    def rest(self, *, cancelled: bool) -> list[Event]:
        """The session's own turn is over: whoever goes on does so in another run."""
        found: list[Event] = []
        for child in self._children.values():
            if child.lane is not None:
                found += child.lane.close(cancelled=cancelled)
                found.append(SubagentFinished(str(child.lane.subagent), {"status": "running"}))
                child.lane = None
        return [*found, *self.main.close(cancelled=cancelled)]
