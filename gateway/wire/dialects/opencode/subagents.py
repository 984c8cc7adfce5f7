"""The opencode sessions of one turn: the main session, and the child sessions of subagents.

In: which session started which, and the state of their messages. Out: one `TurnSession` per session, with its parts
and plans. The agent may resume a subagent's session in a later turn; for the client that is another subagent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gateway.events import Event, SubagentError, SubagentFinished, SubagentStarted
from gateway.wire.activities import Plans
from gateway.wire.dialects.opencode.errors import ABORTED, to_turn_failed
from gateway.wire.dialects.opencode.parts import MessageParts
from gateway.wire.fields import non_empty, obj, text


@dataclass(frozen=True, slots=True)
class ChildSession:
    """What the server reports about a session that another session started."""

    parent_id: str
    name: str
    description: str | None

    @classmethod
    def from_info(cls, info: dict[str, Any]) -> ChildSession | None:
        """None: the session has no parent."""
        parent_id = non_empty(info.get("parentID"))
        agent = non_empty(info.get("agent"))
        title = (text(info.get("title")) or "").removesuffix(f" (@{agent} subagent)")
        return None if parent_id is None else cls(parent_id, agent or "subagent", title or None)


@dataclass(slots=True)
class TurnSession:
    """One session in one turn. `child` is None for the main session."""

    session_id: str
    parts: MessageParts
    plans: Plans
    child: ChildSession | None = None
    parent: str | None = None
    """The subagent that started this subagent."""
    is_started: bool = False
    is_finished: bool = False
    message_ids: set[str] = field(default_factory=set)
    """The agent's messages in this turn."""
    incomplete_ids: set[str] = field(default_factory=set)
    """Those of them that are not complete."""
    is_idle: bool = False
    error: dict[str, Any] | None = None
    is_aborted: bool = False
    retries: int = 0

    @property
    def is_main(self) -> bool:
        return self.child is None

    @property
    def subagent(self) -> str | None:
        return self.parts.subagent

    @property
    def is_working(self) -> bool:
        """More events of the turn follow. After a failure or an abort these are the results of running tools."""
        has_stopped = self.is_aborted or self.error is not None
        return bool(self.incomplete_ids) or (has_stopped and self.parts.has_open_tool_calls)

    def has_message(self, message_id: Any) -> bool:
        """Whether the agent wrote this message in this turn. Others are the user's, or from an earlier turn."""
        return isinstance(message_id, str) and message_id in self.message_ids

    def record_message(self, message_id: str, *, is_complete: bool) -> None:
        self.message_ids.add(message_id)
        if is_complete:
            self.incomplete_ids.discard(message_id)
        else:
            self.incomplete_ids.add(message_id)

    def start(self, tool_call_id: str | None = None) -> list[Event]:
        """The start of a subagent: once, before its first event."""
        if self.child is None or self.is_started or self.subagent is None:
            return []
        self.is_started = True
        return [SubagentStarted(self.subagent, self.child.name, self.child.description, self.parent, tool_call_id)]

    def finish(self) -> list[Event]:
        """The end of a subagent, once."""
        if not self.is_started or self.is_finished or self.subagent is None:
            return []
        self.is_finished = True
        if self.error is None:
            return [SubagentFinished(self.subagent)]
        failure = to_turn_failed(self.error)
        return [SubagentError(self.subagent, failure.message, failure.code)]

    def record_error(self, error: Any) -> None:
        """The first error counts: later ones repeat it with less detail, or with a stack trace."""
        if obj(error).get("name") == ABORTED:
            self.is_aborted = True
        elif self.error is None and isinstance(error, dict):
            self.error = error


class TurnSessions:
    """All sessions of the turn in progress; empty between turns."""

    def __init__(self, qualify_id: Callable[[str], str]) -> None:
        self._qualify_id = qualify_id
        self._children: dict[str, ChildSession] = {}
        """Of all turns: a later turn may resume a subagent."""
        self._sessions: dict[str, TurnSession] = {}
        self._main_id = ""
        self._starts: dict[str, int] = {}
        """How often the turn started a subagent in this session."""
        self._past_message_ids: set[str] = set()

    def start_turn(self, session_id: str) -> None:
        self._main_id = session_id
        self._starts = {}
        main = TurnSession(session_id, MessageParts(self._qualify_id), Plans(self._qualify_id("0"), None))
        self._sessions = {session_id: main}

    def end_turn(self) -> None:
        if self._sessions:
            self._past_message_ids = {name for session in self.all() for name in session.message_ids}
        self._sessions = {}

    def is_past_message(self, message_id: str) -> bool:
        """Whether the message belongs to the previous turn."""
        return message_id in self._past_message_ids

    def register_child(self, session_id: str, info: dict[str, Any]) -> None:
        child = ChildSession.from_info(info)
        if child is not None and (child.parent_id in self._children or child.parent_id == self._main_id):
            self._children[session_id] = child

    def find(self, session_id: Any) -> TurnSession | None:
        """None: the session has no part in this turn."""
        if not isinstance(session_id, str) or not self._sessions:
            return None
        session = self._sessions.get(session_id)
        return session if session is not None and not session.is_finished else self._start_child(session_id)

    def all(self) -> list[TurnSession]:
        return list(self._sessions.values())

    @property
    def main(self) -> TurnSession | None:
        return self._sessions.get(self._main_id)

    def _start_child(self, session_id: str) -> TurnSession | None:
        child = self._children.get(session_id)
        if child is None:
            return None
        starts = self._starts[session_id] = self._starts.get(session_id, 0) + 1
        subagent = self._qualify_id(session_id if starts == 1 else f"{session_id}:{starts}")
        parent = self._sessions.get(child.parent_id)
        session = TurnSession(
            session_id,
            MessageParts(self._qualify_id, subagent),
            Plans(subagent, subagent),
            child,
            parent.subagent if parent is not None else None,
        )
        self._sessions[session_id] = session
        return session
