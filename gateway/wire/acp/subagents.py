"""The agent and its subagents: the session itself, and the child sessions that work for it.

In: `subagent_update` on the parent's session, or a vendor's mark on the subagent's updates (`vendor_fields`). Out: the
start and end of subagents, and for each session an `AgentTurn` that reads its updates under its own ids. One invocation
of a subagent lasts from running to idle, within one turn; a marked one, until the call that started it has its result.
A child session that goes on after that is a new invocation, because AG-UI never starts an id twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gateway.events import Custom, Event, SubagentError, SubagentFinished, SubagentStarted
from gateway.wire.acp.client_tools import ClientToolCalls
from gateway.wire.acp.messages import Messages
from gateway.wire.acp.terminals import Terminals
from gateway.wire.acp.tool_calls import AcpToolCall, ToolCalls
from gateway.wire.acp.vendor_fields import SubagentMark
from gateway.wire.activities import Plans
from gateway.wire.fields import non_empty, obj, present, text

CALL_PREFIX = "call:"
"""Begins the key of a subagent that has no session, followed by the agent's id of the call that started it."""


class AgentTurn:
    """One turn of the agent, or one invocation of a subagent. `prefix` starts all its ids."""

    def __init__(
        self,
        prefix: str,
        client_tools: ClientToolCalls,
        *,
        session_id: str | None = None,
        before: AgentTurn | None = None,
    ) -> None:
        """`session_id`: of a child session; then the prefix is the subagent's id, too. `before`: its turn before."""
        subagent = prefix if session_id is not None else None
        self.session_id = session_id
        self.subagent = subagent
        self.messages = Messages(prefix, subagent)
        self.terminals = Terminals(prefix, subagent)
        self.tools = ToolCalls(prefix, subagent, self.terminals, client_tools)
        self.plans = Plans(prefix, subagent)
        self.has_acted = False
        """It did something beside its messages."""
        self._tools_before = before.tools if before is not None else None

    def tools_for(self, update: dict[str, Any]) -> ToolCalls:
        """A late change of a call from the turn before belongs there, and creates nothing in this one."""
        agent_id = update.get("toolCallId")
        before = self._tools_before
        if update.get("sessionUpdate") != "tool_call_update" or before is None:
            return self.tools
        is_late = self.tools.get(agent_id) is None and before.get(agent_id) is not None
        return before if is_late else self.tools


@dataclass(slots=True)
class ChildSession:
    """A child session, as its parent describes it."""

    session_id: str
    parent: str | None
    """The child session that owns it; None: the session itself."""
    title: str | None = None
    description: str | None = None
    state: str | None = None
    turn: AgentTurn | None = None
    """None: the client has seen no start of it, or its end."""
    last_turn: AgentTurn | None = field(default=None, repr=False)
    tool_call_id: str | None = None
    """AG-UI's id of the call that started it, where the agent tells."""

    def rest(self) -> None:
        self.last_turn = self.turn or self.last_turn
        self.turn = None


class Subagents:
    """The turns of the session itself and of its child sessions."""

    def __init__(self) -> None:
        self.turn_key = "t0"
        self.client_tools = ClientToolCalls()
        self.main = AgentTurn(self.turn_key, self.client_tools)
        self._children: dict[str, ChildSession] = {}
        self._count = 0

    @property
    def is_empty(self) -> bool:
        """There was never a child session: every update is the session's own."""
        return not self._children

    def begin_turn(self, turn_key: str) -> None:
        """A new turn, with new ids for the agent and its subagents."""
        self.turn_key = turn_key
        self.client_tools.begin_turn()
        self.main = AgentTurn(turn_key, self.client_tools, before=self.main)
        for child in self._children.values():
            child.rest()
        self._children = {key: child for key, child in self._children.items() if not key.startswith(CALL_PREFIX)}

    def owns(self, session_id: str) -> bool:
        return session_id in self._children

    def turns(self) -> list[AgentTurn]:
        """All that are under way, the agent's own first."""
        return [self.main, *(child.turn for child in self._children.values() if child.turn is not None)]

    def find(self, session_id: str | None) -> tuple[AgentTurn, list[Event]]:
        """The turn of a session, and the events that start it. A session that is no child is the session itself."""
        child = self._children.get(session_id or "")
        if child is None:
            return self.main, []
        if child.turn is not None:
            return child.turn, []
        return self._start(child)

    def find_marked(self, mark: SubagentMark) -> tuple[AgentTurn, list[Event]]:
        """The turn of a subagent that has no session of its own, and the events that start it. Its calls may start
        others: the call is looked for in all turns."""
        key = CALL_PREFIX + mark.parent_call
        if key not in self._children:
            owner, call = next(self._find_call(mark.parent_call), (None, None))
            parent = None if owner is None else owner.session_id
            call_id = None if call is None else call.id
            self._children[key] = ChildSession(key, parent, title=mark.name, tool_call_id=call_id)
        return self.find(key)

    def end_marked(self, agent_call_id: Any) -> list[Event]:
        """The call with this id has its result: the subagent that it started is done."""
        child = self._children.get(f"{CALL_PREFIX}{agent_call_id}")
        return [] if child is None or child.turn is None else self._end(child, child.turn, {})

    def find_owner(self, agent_call_id: Any) -> AgentTurn | None:
        """The turn that has this call. None: the call is new."""
        return next((turn for turn, _ in self._find_call(agent_call_id)), None)

    def _find_call(self, agent_call_id: Any) -> Iterator[tuple[AgentTurn, AcpToolCall]]:
        for turn in self.turns():
            if (call := turn.tools.get(agent_call_id)) is not None:
                yield turn, call

    def subagent_of(self, session_id: str | None) -> str | None:
        """The subagent that an event of this session belongs to, at work or not."""
        child = self._children.get(session_id or "")
        turn = None if child is None else child.turn or child.last_turn
        return None if turn is None else turn.subagent

    def update(self, update: dict[str, Any], owner: AgentTurn) -> list[Event] | None:
        """`subagent_update` in the session of `owner`. None: it names no session."""
        session_id = non_empty(update.get("sessionId"))
        if session_id is None:
            return None
        child = self._children.get(session_id)
        if child is None:
            child = self._children[session_id] = ChildSession(session_id, owner.session_id)
        before = (child.title, child.description)
        child.title = text(update.get("title")) if "title" in update else child.title
        child.description = text(update.get("description")) if "description" in update else child.description
        events = self._change_state(child, obj(update.get("state")))
        if not events and (child.title, child.description) != before:
            events = [self._describe(child)]
        return events

    def update_state(self, session_id: str, update: dict[str, Any]) -> list[Event]:
        """`state_update` in the child's own session: it means the same as its parent's `subagent_update`."""
        return self._change_state(self._children[session_id], update)

    def _change_state(self, child: ChildSession, state: dict[str, Any]) -> list[Event]:
        child.state = non_empty(state.get("state")) or child.state
        match state.get("state"):
            case "running" if child.turn is None:
                return self._start(child)[1]
            case "idle" if child.turn is not None:
                return self._end(child, child.turn, state)
            case _:
                return []

    def _start(self, child: ChildSession) -> tuple[AgentTurn, list[Event]]:
        owner = self._children.get(child.parent or "")
        events: list[Event] = []
        parent = None
        if owner is not None:
            owner_turn, events = self.find(owner.session_id)
            parent = owner_turn.subagent
        self._count += 1
        subagent = f"{self.turn_key}/{self._count}"
        turn = AgentTurn(subagent, self.client_tools, session_id=child.session_id, before=child.last_turn)
        child.turn = turn
        name = child.title or child.description or "subagent"
        started = SubagentStarted(subagent, name, child.description, parent=parent, tool_call_id=child.tool_call_id)
        return turn, [*events, started]

    def _end(self, child: ChildSession, turn: AgentTurn, state: dict[str, Any]) -> list[Event]:
        is_failed = state.get("stopReason") == "error" or isinstance(state.get("error"), dict)
        events = turn.tools.close(cancelled=state.get("stopReason") == "cancelled")
        child.rest()
        if is_failed:
            message = text(obj(state.get("error")).get("message")) or "the subagent failed"
            return [*events, SubagentError(str(turn.subagent), message)]
        return [*events, SubagentFinished(str(turn.subagent))]

    def _describe(self, child: ChildSession) -> Custom:
        fields = {"sessionId": child.session_id, "title": child.title, "description": child.description}
        return Custom("acp.subagent", present(fields | {"state": child.state}), self.subagent_of(child.session_id))
