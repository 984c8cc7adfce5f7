"""Events of `opencode serve` → events of the turn.

In: `{"id": "evt_…", "type", "properties"}` for all sessions of a directory; events of other threads' sessions are
skipped. Out: events of the turn, and its end. A turn ends when its session is idle and its last message is complete.
After an error or an abort the first `session.idle` comes too early; the results of running tools and a second
`session.idle` follow. A `session.idle` before the first sign of the turn still belongs to the previous turn.

The server writes an event when it sends it, not when the change happens: under load the first event of a message may
show the message complete.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gateway.capability_paths import MODEL, TITLE
from gateway.events import Custom, Event
from gateway.wire.dialects.base import Dialect
from gateway.wire.dialects.opencode.permissions import PendingPermissions
from gateway.wire.dialects.opencode.steering import SteeringQueue
from gateway.wire.dialects.opencode.subagents import TurnSession, TurnSessions
from gateway.wire.fields import count, items, non_empty, obj, present, text

IGNORED_EVENTS = {
    "server": "about the event stream itself",
    "plugin": "what the server has loaded",
    "catalog": "what the server has loaded",
    "integration": "what the server has loaded",
    "reference": "what the server has loaded",
    "models-dev": "what the server has loaded",
    "installation": "about the program itself",
    "global": "about the program itself",
    "file": "names no session; the tool that changed the file reports it",
    "vcs": "names no session",
    "project": "names no session",
    "lsp": "names no session",
    "mcp": "names no session; the answer to `POST /mcp` reports the outcome",
    "pty": "interactive terminals",
    "tui": "the terminal interface",
    "workspace": "an experiment",
    "worktree": "an experiment",
    "command": "the prompt was a command; its messages follow",
}
"""Events that produce nothing, by the first word of their type, and why."""


class Abort(Protocol):
    def __call__(self, *, again: bool = False) -> None: ...


class ServerEvents:
    """`abort` stops the agent; `finish` ends the turn if nothing keeps it open; `set_mode` is called with the mode that
    the server reports."""

    def __init__(
        self,
        dialect: Dialect,
        sessions: TurnSessions,
        permissions: PendingPermissions,
        steering: SteeringQueue,
        *,
        abort: Abort,
        finish: Callable[[], list[Event]],
        set_mode: Callable[[str | None], None],
    ) -> None:
        self._dialect = dialect
        self._sessions = sessions
        self.permissions = permissions
        self._steering = steering
        self._abort = abort
        self._finish = finish
        self._set_mode = set_mode
        self.has_started = False
        """The server has reported something of this turn."""
        self.structured_output: Any = None
        self._diff: Any = []
        self._reported: tuple[str | None, str | None] = (None, None)
        """Mode and model, as the server reported them last."""

    def start_turn(self) -> None:
        self.has_started = False
        self.structured_output = None

    def read(self, kind: str, event: dict[str, Any]) -> list[Event] | None:
        """None: the event is unknown."""
        properties = event.get("properties")
        if kind == "message.part.delta":  # most events
            return self._read_delta(obj(properties))
        if kind.partition(".")[0] in IGNORED_EVENTS:
            return []
        if not isinstance(properties, dict):
            return None
        if (read_session := SESSION_READERS.get(kind)) is not None:
            return read_session(self, properties)
        read_turn = TURN_READERS.get(kind)
        if read_turn is None or (kind == "session.error" and "sessionID" not in properties):
            return None
        session = self._sessions.find(properties.get("sessionID"))
        # None: a session of another thread, or the rest of a turn that is over.
        return [] if session is None else read_turn(self, session, properties)

    def read_session_info(self, info: dict[str, Any]) -> None:
        """The session as the server describes it."""
        model = obj(info.get("model"))
        provider = non_empty(model.get("providerID"))
        name = non_empty(model.get("id"))
        model_id = f"{provider}/{name}" if provider and name else None
        self._dialect.session_layer |= present({TITLE: text(info.get("title"))})
        # The server repeats what the last prompt named: only a change is news, or it would undo what was set since.
        reported = (non_empty(info.get("agent")), model_id)
        if reported != self._reported:
            self._reported = reported
            self._dialect.session_layer |= present({MODEL: model_id})
            self._set_mode(reported[0])
        if version := non_empty(info.get("version")):
            self._dialect.handshake_layer["identity.version"] = version

    # -- events of the session, also between turns

    def _read_created(self, properties: dict[str, Any]) -> list[Event]:
        info = obj(properties.get("info"))
        if (session_id := non_empty(info.get("id"))) is not None:
            self._sessions.register_child(session_id, info)
        return []

    def _read_updated(self, properties: dict[str, Any]) -> list[Event]:
        if self._is_main(properties):
            self.read_session_info(obj(properties.get("info")))
        return []

    def _read_diff(self, properties: dict[str, Any]) -> list[Event]:
        diff = properties.get("diff")
        if not self._is_main(properties) or diff == self._diff:
            return []
        self._diff = diff
        return [Custom("opencode.diff", {"files": items(diff)})]

    def _is_main(self, properties: dict[str, Any]) -> bool:
        session_id = self._dialect.session_id
        return session_id is not None and properties.get("sessionID") == session_id

    # -- events of a turn

    def _read_delta(self, properties: dict[str, Any]) -> list[Event] | None:
        session = self._sessions.find(properties.get("sessionID"))
        if session is None or not session.has_message(properties.get("messageID")):
            return []
        delta = properties.get("delta")
        part_id = properties.get("partID")
        if properties.get("field") != "text" or not isinstance(delta, str) or not isinstance(part_id, str):
            return None
        event = session.parts.append_text(part_id, delta)
        return None if event is None else [*session.start(), event]

    def _read_status(self, session: TurnSession, properties: dict[str, Any]) -> list[Event] | None:
        match obj(properties.get("status")):
            case {"type": "busy"}:
                self._record_start(session)
                return []
            case {"type": "retry"} as status:
                attempt = count(status.get("attempt")) or 0
                if attempt <= session.retries:
                    return []
                session.retries = attempt
                reason = text(status.get("message")) or "the model failed"
                return [self._dialect.make_warning("RETRY", f"attempt {attempt} failed: {reason}", attempt=attempt)]
            case {"type": "idle"}:
                return []  # `session.idle` follows
            case _:
                return None

    def _record_start(self, session: TurnSession) -> None:
        if session.is_main:
            self.has_started = True
            if self._dialect.is_cancelled:
                self._abort()

    def _read_message(self, session: TurnSession, properties: dict[str, Any]) -> list[Event] | None:
        info = obj(properties.get("info"))
        message_id = non_empty(info.get("id"))
        if message_id is None:
            return None
        if info.get("role") != "assistant" or self._sessions.is_past_message(message_id):
            return []
        self._record_start(session)
        accepted = self._steering.accept_up_to(non_empty(info.get("parentID"))) if session.is_main else []
        if accepted and self._dialect.is_cancelled:  # the agent continued with them in spite of the abort
            self._abort(again=True)
        session.record_message(message_id, is_complete=obj(info.get("time")).get("completed") is not None)
        session.parts.set_model(message_id, non_empty(info.get("providerID")), non_empty(info.get("modelID")))
        session.record_error(info.get("error"))
        if session.is_main and info.get("structured") is not None:
            self.structured_output = info.get("structured")
        return [*accepted, *self._finish_idle(session)]

    def _read_part(self, session: TurnSession, properties: dict[str, Any]) -> list[Event] | None:
        part = obj(properties.get("part"))
        if not session.has_message(part.get("messageID")):
            return self._steering.read_user_part(part) if session.is_main else []
        events = session.parts.read_part(part)
        if events is None:
            return None
        events = [*session.start(), *events]
        if part.get("type") == "tool":
            events += self._link_child(session, part)
            self.permissions.release()
        return [*events, *self._finish_idle(session)]

    def _link_child(self, session: TurnSession, part: dict[str, Any]) -> list[Event]:
        """The tool call that started a subagent names the subagent's session."""
        tool = session.parts.find_tool(part.get("messageID"), part.get("callID"))
        child_id = non_empty(obj(obj(part.get("state")).get("metadata")).get("sessionId"))
        if tool is None or tool.child_session_id is not None or child_id in (None, session.session_id):
            return []
        tool.child_session_id = child_id
        child = self._sessions.find(child_id)
        return [] if child is None else child.start(tool.id)

    def _read_replied(self, session: TurnSession, properties: dict[str, Any]) -> list[Event]:
        self.permissions.remove(properties.get("requestID"))
        return []

    def _read_todos(self, session: TurnSession, properties: dict[str, Any]) -> list[Event]:
        return [*session.start(), *session.plans.show_entries(properties.get("todos"))]

    def _read_compacted(self, session: TurnSession, properties: dict[str, Any]) -> list[Event]:
        return [*session.start(), Custom("opencode.compacted", {}, subagent=session.subagent)]

    def _read_removed(self, session: TurnSession, properties: dict[str, Any]) -> list[Event]:
        """A message or a part was removed from the conversation. AG-UI has no event for that."""
        ids = {key: non_empty(properties.get(key)) for key in ("messageID", "partID") if key in properties}
        return [Custom("opencode.removed", ids, subagent=session.subagent)]

    def _read_error(self, session: TurnSession, properties: dict[str, Any]) -> list[Event]:
        if self.has_started:
            session.record_error(properties.get("error"))
        return []

    def _read_idle(self, session: TurnSession, properties: dict[str, Any]) -> list[Event]:
        if not self.has_started:
            return []
        if session.is_working and not session.is_idle:
            session.is_idle = True
            return []
        return self._end(session)

    def _finish_idle(self, session: TurnSession) -> list[Event]:
        """The end of a session whose `session.idle` came before its last message was complete."""
        return self._end(session) if session.is_idle and not session.is_working else []

    def _end(self, session: TurnSession) -> list[Event]:
        return self._finish() if session.is_main else session.finish()


SESSION_READERS: dict[str, Callable[[ServerEvents, dict[str, Any]], list[Event]]] = {
    "session.created": ServerEvents._read_created,
    "session.updated": ServerEvents._read_updated,
    "session.diff": ServerEvents._read_diff,
}
TURN_READERS: dict[str, Callable[[ServerEvents, TurnSession, dict[str, Any]], list[Event] | None]] = {
    "session.status": ServerEvents._read_status,
    "session.idle": ServerEvents._read_idle,
    "session.error": ServerEvents._read_error,
    "session.compacted": ServerEvents._read_compacted,
    "session.deleted": lambda events, session, properties: [],  # the answer to the next prompt reports it
    "message.updated": ServerEvents._read_message,
    "message.removed": ServerEvents._read_removed,
    "message.part.updated": ServerEvents._read_part,
    "message.part.removed": ServerEvents._read_removed,
    "permission.asked": lambda events, session, request: events.permissions.add(session, request, is_permission=True),
    "permission.replied": ServerEvents._read_replied,
    "question.asked": lambda events, session, request: events.permissions.add(session, request, is_permission=False),
    "question.replied": ServerEvents._read_replied,
    "question.rejected": ServerEvents._read_replied,
    "todo.updated": ServerEvents._read_todos,
}
