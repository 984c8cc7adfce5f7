"""Who speaks: the session itself, or a child session that works for it.

In: `subagent_update` on the parent's session. Out: the start and end of subagents, and for each speaker a lane that
reads its updates under its own ids. One invocation lasts from running to idle, within one turn; a child that goes on
after that is a new invocation, for AG-UI never starts an id twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gateway.events import Custom, Event, SubagentError, SubagentFinished, SubagentStarted
from gateway.wire.acp.client_tools import ClientToolCalls
from gateway.wire.acp.messages import Messages
from gateway.wire.acp.terminals import Terminals
from gateway.wire.acp.tool_calls import ToolCalls
from gateway.wire.activities import Plans
from gateway.wire.fields import non_empty, obj, present, text


class Subagent:
    """One speaker in one turn. `prefix` starts all its ids."""

    def __init__(
        self, prefix: str, hosted: ClientToolCalls, *, session_id: str | None = None, before: Subagent | None = None
    ) -> None:
        """`session_id`: of a child; then the prefix is the subagent's id, too."""
        subagent = prefix if session_id is not None else None
        self.session_id, self.subagent = session_id, subagent
        self.messages = Messages(prefix, subagent)
        self.terminals = Terminals(prefix, subagent)
        self.tools = ToolCalls(prefix, subagent, self.terminals, hosted)
        self.plans = Plans(prefix, subagent)
        self.busy = False
        """Did it do anything but speak?"""
        self._tools_before = before.tools if before is not None else None

    def tools_of(self, update: dict[str, Any]) -> ToolCalls:
        """A change of a call from the turn before comes late; it creates nothing in this one."""
        acp_id, earlier = update.get("toolCallId"), self._tools_before
        late = update.get("sessionUpdate") == "tool_call_update" and earlier is not None
        if late and earlier is not None and self.tools.known(acp_id) is None and earlier.known(acp_id) is not None:
            return earlier
        return self.tools


@dataclass(slots=True)
class Child:
    """A child session, as its parent describes it."""

    session_id: str
    parent: str | None
    """The child session that owns it; None: the session itself."""
    title: str | None = None
    description: str | None = None
    state: str | None = None
    lane: Subagent | None = None
    """None: not at work, as far as the client knows."""
    last: Subagent | None = field(default=None, repr=False)


class Subagents:
    def __init__(self) -> None:
        self.turn_key = "t0"
        self.hosted = ClientToolCalls()
        self.main = Subagent(self.turn_key, self.hosted)
        self._children: dict[str, Child] = {}
        self._count = 0

    @property
    def alone(self) -> bool:
        """No child was ever heard of: whatever comes is the session's own."""
        return not self._children

    def begin(self, turn_key: str) -> None:
        """A new turn: everybody speaks under new ids."""
        self.turn_key = turn_key
        self.hosted.untold.clear()
        self.main = Subagent(turn_key, self.hosted, before=self.main)
        for child in self._children.values():
            self._rest(child)

    def owns(self, session_id: str) -> bool:
        return session_id in self._children

    def all(self) -> list[Subagent]:
        return [self.main, *(child.lane for child in self._children.values() if child.lane is not None)]

    def find(self, session_id: str | None) -> tuple[Subagent, list[Event]]:
        """The lane of a session, and what must be told before it speaks. Whoever is no child is the session itself."""
        child = self._children.get(session_id or "")
        if child is None:
            return self.main, []
        if child.lane is not None:
            return child.lane, []
        return self._start(child)

    def tag(self, session_id: str | None) -> str | None:
        """The subagent that a word of this session belongs to, at work or not."""
        child = self._children.get(session_id or "")
        lane = None if child is None else child.lane or child.last
        return None if lane is None else lane.subagent

    def update(self, update: dict[str, Any], owner: Subagent) -> list[Event] | None:
        """`subagent_update`, sent in the lane of `owner`. None: it names no session."""
        session_id = non_empty(update.get("sessionId"))
        if session_id is None:
            return None
        child = self._children.get(session_id)
        if child is None:
            child = self._children[session_id] = Child(session_id, owner.session_id)
        before = (child.title, child.description)
        child.title = text(update.get("title")) if "title" in update else child.title
        child.description = text(update.get("description")) if "description" in update else child.description
        found = self._moved(child, obj(update.get("state")))
        if not found and (child.title, child.description) != before:
            found = [self._described(child)]
        return found

    def state(self, session_id: str, update: dict[str, Any]) -> list[Event]:
        """`state_update` of a child, by itself: the same that its parent says of it."""
        return self._moved(self._children[session_id], update)

    def _moved(self, child: Child, state: dict[str, Any]) -> list[Event]:
        child.state = non_empty(state.get("state")) or child.state
        match state.get("state"):
            case "running" if child.lane is None:
                return self._start(child)[1]
            case "idle" if child.lane is not None:
                return self._end(child, child.lane, state)
            case _:
                return []

    def _start(self, child: Child) -> tuple[Subagent, list[Event]]:
        owner = self._children.get(child.parent or "")
        found: list[Event] = []
        above = None
        if owner is not None:
            lane, found = self.find(owner.session_id)
            above = lane.subagent
        self._count += 1
        subagent = f"{self.turn_key}/{self._count}"
        child.lane = Subagent(subagent, self.hosted, session_id=child.session_id, before=child.last)
        name = child.title or child.description or "subagent"
        return child.lane, [*found, SubagentStarted(subagent, name, child.description, parent=above)]

    def _end(self, child: Child, lane: Subagent, state: dict[str, Any]) -> list[Event]:
        failed = state.get("stopReason") == "error" or isinstance(state.get("error"), dict)
        found = lane.tools.close(cancelled=state.get("stopReason") == "cancelled")
        self._rest(child)
        if failed:
            words = text(obj(state.get("error")).get("message")) or "the subagent failed"
            return [*found, SubagentError(str(lane.subagent), words)]
        return [*found, SubagentFinished(str(lane.subagent))]

    def _rest(self, child: Child) -> None:
        child.lane, child.last = None, child.lane or child.last

    def _described(self, child: Child) -> Custom:
        about = {"sessionId": child.session_id, "title": child.title, "description": child.description}
        return Custom("acp.subagent", present(about | {"state": child.state}), self.tag(child.session_id))
