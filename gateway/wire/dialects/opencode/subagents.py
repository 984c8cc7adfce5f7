"""The sessions of one turn: the agent's own, and those that its subagents have.

In: which session began which, and what is known of their messages. Out: the parts of each, told apart by `subagent`.
A subagent's session may be taken up again; for a client that is another subagent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gateway.events import Event, SubagentError, SubagentFinished, SubagentStarted
from gateway.wire.activities import Plans
from gateway.wire.dialects.opencode.errors import ABORTED, broke
from gateway.wire.dialects.opencode.parts import Parts
from gateway.wire.fields import non_empty, obj, text


@dataclass(frozen=True, slots=True)
class Child:
    """A session that another one began."""

    parent: str
    name: str
    description: str | None

    @classmethod
    def of(cls, info: dict[str, Any]) -> Child | None:
        """None: it is nobody's child."""
        parent, agent = non_empty(info.get("parentID")), non_empty(info.get("agent"))
        title = (text(info.get("title")) or "").removesuffix(f" (@{agent} subagent)")
        return None if parent is None else cls(parent, agent or "subagent", title or None)


@dataclass(slots=True)
class Lane:
    session_id: str
    parts: Parts
    plans: Plans
    child: Child | None = None
    parent: str | None = None
    """The subagent that this one's was begun by."""
    begun: bool = False
    ended: bool = False
    assistants: set[str] = field(default_factory=set)
    """Messages of this turn that are the agent's."""
    unfinished: set[str] = field(default_factory=set)
    """…and are not complete."""
    idle: bool = False
    error: Any = None
    aborted: bool = False
    retries: int = 0

    @property
    def subagent(self) -> str | None:
        return self.parts.subagent

    @property
    def working(self) -> bool:
        """More of the turn is to come. After a failure or an abort that is also what became of its calls."""
        return bool(self.unfinished) or ((self.aborted or self.error is not None) and self.parts.working)

    def wrote(self, message_id: Any) -> bool:
        """In this turn. What is not the agent's is the user's, or from an earlier turn."""
        return isinstance(message_id, str) and message_id in self.assistants

    def writes(self, message_id: str, *, done: bool) -> None:
        self.assistants.add(message_id)
        if done:
            self.unfinished.discard(message_id)
        else:
            self.unfinished.add(message_id)

    def begin(self, tool_call_id: str | None = None) -> list[Event]:
        """Once, before anything else of a subagent."""
        if self.child is None or self.begun or self.subagent is None:
            return []
        self.begun = True
        name, description = self.child.name, self.child.description
        return [SubagentStarted(self.subagent, name, description, self.parent, tool_call_id)]

    def end(self) -> list[Event]:
        if not self.begun or self.ended or self.subagent is None:
            return []
        self.ended = True
        if self.error is None:
            return [SubagentFinished(self.subagent)]
        why = broke(self.error)
        return [SubagentError(self.subagent, why.message, why.code)]

    def failed(self, error: Any) -> None:
        """The first cause counts: what comes after it says the same with fewer words, or with a stack."""
        if obj(error).get("name") == ABORTED:
            self.aborted = True
        elif self.error is None and isinstance(error, dict):
            self.error = error


class Lanes:
    def __init__(self) -> None:
        self._children: dict[str, Child] = {}
        """Of all turns: a subagent can be taken up again."""
        self._lanes: dict[str, Lane] = {}
        self._own: Callable[[str], str] = str
        self._root = ""
        self._times: dict[str, int] = {}
        self._past: set[str] = set()

    def begin_turn(self, session_id: str, own: Callable[[str], str]) -> None:
        self._own, self._root, self._times = own, session_id, {}
        self._lanes = {session_id: Lane(session_id, Parts(own), Plans(own("0"), None))}

    def end_turn(self) -> None:
        if self._lanes:
            self._past = {message_id for lane in self._lanes.values() for message_id in lane.assistants}
        self._lanes = {}

    def past(self, message_id: str) -> bool:
        """A message of the turn before."""
        return message_id in self._past

    def born(self, session_id: str, info: dict[str, Any]) -> None:
        child = Child.of(info)
        if child is not None and (child.parent in self._children or child.parent == self._root):
            self._children[session_id] = child

    def of(self, session_id: Any) -> Lane | None:
        """None: not of this turn."""
        lane = self._lanes.get(session_id) if isinstance(session_id, str) else None
        if lane is not None and not lane.ended:
            return lane
        return self._taken_up(session_id) if isinstance(session_id, str) and self._lanes else None

    def all(self) -> list[Lane]:
        return list(self._lanes.values())

    @property
    def root(self) -> Lane | None:
        return self._lanes.get(self._root)

    def _taken_up(self, session_id: str) -> Lane | None:
        child = self._children.get(session_id)
        if child is None:
            return None
        times = self._times[session_id] = self._times.get(session_id, 0) + 1
        subagent = self._own(session_id if times == 1 else f"{session_id}:{times}")
        parent = self._lanes.get(child.parent)
        lane = Lane(session_id, Parts(self._own, subagent), Plans(subagent, subagent), child)
        lane.parent = parent.subagent if parent is not None else None
        self._lanes[session_id] = lane
        return lane
