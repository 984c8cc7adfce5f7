"""What `opencode serve` tells of its sessions → events.

In: `{"id": "evt_…", "type", "properties"}`, for all sessions of a directory: those of no session here are not read.
Out: events of the turn, and its end. A turn ends when its session is idle and its last message complete: after an
error or an abort the first `session.idle` comes too early, then what became of a running tool, then a second one. One
that comes before anything of the turn was seen is still the end of the turn before.

Events are written when they are sent, not when they happen: under load a message's first one may show it complete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gateway.capability_paths import MODE, MODEL, TITLE
from gateway.events import Custom, Event
from gateway.wire.dialects.base import parse_message
from gateway.wire.dialects.opencode.errors import CUT_SHORT, STOPS, broke
from gateway.wire.dialects.opencode.requests import session_path
from gateway.wire.dialects.opencode.steering import Steering
from gateway.wire.dialects.opencode.subagents import Lane
from gateway.wire.fields import count, items, non_empty, obj, text

NOISE = {
    "server": "the stream's own life",
    "plugin": "what the server has loaded",
    "catalog": "likewise",
    "integration": "likewise",
    "reference": "likewise",
    "models-dev": "likewise",
    "installation": "of the program itself",
    "global": "likewise",
    "file": "names no session; the tool that touched it says so",
    "vcs": "names no session",
    "project": "names no session",
    "lsp": "names no session",
    "mcp": "names no session; the answer to `POST /mcp` says what became of it",
    "pty": "terminals of people",
    "tui": "what people see in their terminal",
    "workspace": "of an experiment",
    "worktree": "likewise",
    "command": "the prompt was a command; its messages follow",
}
"""Events that are not told, by the first word of their type, and why."""


class Reading(Steering):
    has_unlisted_sessions = True

    def __init__(self) -> None:
        super().__init__()
        self._aborted = False
        self._structured: Any = None
        self._diff: Any = []

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        found: list[Event] = []
        for message in messages:
            told = parse_message(message)
            kind = told.get("type") if isinstance(told, dict) else None
            if kind == "message.part.delta":
                found += self._delta(told)
            elif isinstance(kind, str):
                found += self._event(kind, told)
            elif isinstance(told, dict) and isinstance(told.get("id"), str) and "status" in told:
                found += self.answered(told)
            else:
                found.append(self.to_raw(message.decode("utf-8", "replace") if told is None else told))
        return [*found, *self.ask()]

    def begin_reading(self) -> None:
        self.forget_turn()
        self.seen = self._aborted = False
        self._structured = None
        self.lanes.begin_turn(self.session_id or "", self.qualify_id)

    def abort(self) -> None:
        """Not before it works: an abort of nothing is done at once, and the prompt carried out after it."""
        if self.seen and not self._aborted:
            self._aborted = True
            self.call("POST", session_path(self.session_id or "", "/abort"), None, lambda answer: [])

    def know(self, info: dict[str, Any]) -> None:
        """The session as the server has it."""
        model = obj(info.get("model"))
        provider, name = non_empty(model.get("providerID")), non_empty(model.get("id"))
        used = f"{provider}/{name}" if provider and name else None
        told = {TITLE: text(info.get("title")), MODE: text(info.get("agent")), MODEL: used}
        self.session_layer |= {path: value for path, value in told.items() if value is not None}
        if version := non_empty(info.get("version")):
            self.handshake_layer["identity.version"] = version

    # -- one event

    def _delta(self, told: dict[str, Any]) -> list[Event]:
        properties = obj(told.get("properties"))
        lane = self.lanes.of(properties.get("sessionID"))
        if lane is None or not lane.wrote(properties.get("messageID")):
            return []
        words, part_id = properties.get("delta"), properties.get("partID")
        if properties.get("field") == "text" and isinstance(words, str) and isinstance(part_id, str):
            event = lane.parts.delta(part_id, words)
            if event is not None:
                return [event] if lane.child is None else [*lane.begin(), event]
        return [self.to_raw(told)]

    def _event(self, kind: str, told: dict[str, Any]) -> list[Event]:
        if kind.partition(".")[0] in NOISE:
            return []
        properties = told.get("properties")
        if not isinstance(properties, dict):
            return [self.to_raw(told)]
        if (of_session := SESSIONS.get(kind)) is not None:
            return of_session(self, properties)
        if (of_turn := TURNS.get(kind)) is None or (kind == "session.error" and "sessionID" not in properties):
            return [self.to_raw(told)]
        lane = self.lanes.of(properties.get("sessionID"))
        if lane is None:  # another's; or between turns, when all else is what is left of a turn that is over
            return []
        found = of_turn(self, lane, properties)
        return [self.to_raw(told)] if found is None else found

    # -- of the session, also between turns

    def _created(self, properties: dict[str, Any]) -> list[Event]:
        info = obj(properties.get("info"))
        if (session_id := non_empty(info.get("id"))) is not None:
            self.lanes.born(session_id, info)
        return []

    def _updated(self, properties: dict[str, Any]) -> list[Event]:
        if self.session_id is not None and properties.get("sessionID") == self.session_id:
            self.know(obj(properties.get("info")))
        return []

    def _differs(self, properties: dict[str, Any]) -> list[Event]:
        diff = properties.get("diff")
        if self.session_id is None or properties.get("sessionID") != self.session_id or diff == self._diff:
            return []
        self._diff = diff
        return [Custom("opencode.diff", {"files": items(diff)})]

    # -- of a turn

    def _status(self, lane: Lane, properties: dict[str, Any]) -> list[Event] | None:
        match obj(properties.get("status")):
            case {"type": "busy"}:
                self._works(lane)
                return []
            case {"type": "retry"} as status:
                attempt = count(status.get("attempt")) or 0
                if attempt <= lane.retries:
                    return []
                lane.retries = attempt
                why = text(status.get("message")) or "the model failed"
                return [self.make_warning("RETRY", f"attempt {attempt} failed: {why}", attempt=attempt)]
            case {"type": "idle"}:
                return []  # `session.idle` follows
            case _:
                return None

    def _works(self, lane: Lane) -> None:
        if lane.child is None:
            self.seen = True
            if self.is_cancelled:
                self.abort()

    def _message(self, lane: Lane, properties: dict[str, Any]) -> list[Event] | None:
        info = obj(properties.get("info"))
        message_id = non_empty(info.get("id"))
        if message_id is None:
            return None
        if info.get("role") != "assistant" or self.lanes.past(message_id):
            return []
        self._works(lane)
        heard = self.answers_to(non_empty(info.get("parentID"))) if lane.child is None else []
        if heard and self.is_cancelled:  # it went on with them all the same
            self._aborted = False
            self.abort()
        lane.writes(message_id, done=obj(info.get("time")).get("completed") is not None)
        lane.parts.message(message_id, non_empty(info.get("providerID")), non_empty(info.get("modelID")))
        lane.failed(info.get("error"))
        if lane.child is None and info.get("structured") is not None:
            self._structured = info["structured"]
        return [*heard, *self._rests(lane)] if lane.idle and not lane.working else heard

    def _part(self, lane: Lane, properties: dict[str, Any]) -> list[Event] | None:
        part = obj(properties.get("part"))
        if not lane.wrote(part.get("messageID")):
            return self.users_part(part) if lane.child is None else []
        told = lane.parts.part(part)
        if told is None:
            return None
        found = [*lane.begin(), *told]
        if part.get("type") == "tool":
            found += self._delegated(lane, part)
            self.ask_what_is_free()
        return [*found, *self._rests(lane)] if lane.idle and not lane.working else found

    def _delegated(self, lane: Lane, part: dict[str, Any]) -> list[Event]:
        """The call that a subagent works for names its session."""
        call = lane.parts.call(part.get("messageID"), part.get("callID"))
        below = non_empty(obj(obj(part.get("state")).get("metadata")).get("sessionId"))
        if call is None or call.child is not None or below in (None, lane.session_id):
            return []
        call.child = below
        known = self.lanes.of(below)
        return [] if known is None else known.begin(call.id)

    def _todo(self, lane: Lane, properties: dict[str, Any]) -> list[Event]:
        return [*lane.begin(), *lane.plans.show_entries(properties.get("todos"))]

    def _compacted(self, lane: Lane, properties: dict[str, Any]) -> list[Event]:
        return [*lane.begin(), Custom("opencode.compacted", {}, subagent=lane.subagent)]

    def _removed(self, lane: Lane, properties: dict[str, Any]) -> list[Event]:
        """Somebody took back what was said; AG-UI cannot."""
        told = {key: non_empty(properties.get(key)) for key in ("messageID", "partID") if key in properties}
        return [Custom("opencode.removed", told, subagent=lane.subagent)]

    def _failed(self, lane: Lane, properties: dict[str, Any]) -> list[Event]:
        if self.seen:
            lane.failed(properties.get("error"))
        return []

    def _idle(self, lane: Lane, properties: dict[str, Any]) -> list[Event]:
        if not self.seen:
            return []
        if lane.working and not lane.idle:
            lane.idle = True
            return []
        return self._rests(lane)

    def _rests(self, lane: Lane) -> list[Event]:
        return self._finish(lane) if lane.child is None else lane.end()

    def _concluded(self) -> list[Event]:
        return [] if self.lanes.root is None else self._finish(self.lanes.root)

    def _finish(self, lane: Lane) -> list[Event]:
        lane.idle = False
        if self.waits(stopped=self.is_cancelled or lane.aborted or lane.error is not None):
            return []
        cost = sum(each.parts.cost for each in self.lanes.all())
        found: list[Event] = [Custom("cost", {"usd": cost})] if cost else []
        if self.is_cancelled or lane.aborted:
            return self.over([*found, *self.end_turn("cancelled")])
        if lane.error is not None and obj(lane.error).get("name") != CUT_SHORT:
            return self.over([*found, broke(lane.error)])
        reason = "max_tokens" if lane.error is not None else STOPS.get(lane.parts.finish or "", "end_turn")
        return self.over([*found, *self.end_turn(reason, self._structured)])

    def over(self, last: list[Event]) -> list[Event]:
        self.is_busy = False
        self.forget_turn()
        return last


SESSIONS: dict[str, Callable[[Reading, dict[str, Any]], list[Event]]] = {
    "session.created": Reading._created,
    "session.updated": Reading._updated,
    "session.diff": Reading._differs,
}
TURNS: dict[str, Callable[[Reading, Lane, dict[str, Any]], list[Event] | None]] = {
    "session.status": Reading._status,
    "session.idle": Reading._idle,
    "session.error": Reading._failed,
    "session.compacted": Reading._compacted,
    "session.deleted": lambda reading, lane, properties: [],  # the next prompt says so
    "message.updated": Reading._message,
    "message.removed": Reading._removed,
    "message.part.updated": Reading._part,
    "message.part.removed": Reading._removed,
    "permission.asked": Reading.permission,
    "permission.replied": Reading.settled,
    "question.asked": Reading.question,
    "question.replied": Reading.settled,
    "question.rejected": Reading.settled,
    "todo.updated": Reading._todo,
}
