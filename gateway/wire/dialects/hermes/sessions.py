"""How a session of Hermes is opened, comes back, is copied and goes.

Hermes has two ids for a session: a live one, which stands in every event and dies with the process, and the stored one
by which it comes back. A copy is named by its live id only; asking for its title tells the other.
"""

from __future__ import annotations

from typing import Any

from gateway.events import Event, Warning
from gateway.wire.dialects.base import SessionStart
from gateway.wire.dialects.hermes.errors import is_lost, rpc_fault
from gateway.wire.dialects.hermes.rpc_calls import Calls, Then
from gateway.wire.dialects.hermes.session_state import facts_of
from gateway.wire.dialects.hermes.usage import Totals
from gateway.wire.fields import non_empty, obj

COLUMNS = 100
NOTHING_TO_COPY = 4008
NOBODY = b"\0"
"""Stands in no message."""


class Sessions(Calls):
    def __init__(self) -> None:
        super().__init__()
        self.totals = Totals()
        self.live = ""
        self.mark = NOBODY
        """The live id, as it stands in every message about this session."""
        self.open = False
        """Hermes is at work on a turn: ours, or one of its own."""

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self.is_ready = self.open = False
        self.live, self.mark = "", NOBODY
        if begin.session_id is None:
            self._create()
        else:
            self.call("session.resume", {"session_id": begin.session_id, "cols": COLUMNS}, self._resumed)

    def _create(self) -> None:
        self.call("session.create", {"cwd": self.session_start.cwd, "cols": COLUMNS}, self._created)

    def _created(self, result: Any, error: Any) -> list[Event]:
        told = obj(result)
        live, stored = non_empty(told.get("session_id")), non_empty(told.get("stored_session_id"))
        if live is None or stored is None:
            return self._fail("session.create", error)
        self._goes_by(live, stored)
        self.session_layer |= facts_of(obj(told.get("info")))
        self.is_ready = True
        return []

    def _resumed(self, result: Any, error: Any) -> list[Event]:
        told = obj(result)
        live = non_empty(told.get("session_id"))
        stored = non_empty(told.get("session_key")) or non_empty(told.get("resumed")) or self.session_start.session_id
        if live is None or stored is None:
            return self._not_there(error)
        if self.session_start.fork:
            self._copy(live, self._copied)
            return []
        info = obj(told.get("info"))
        self._goes_by(live, stored, info.get("usage"))
        self.session_layer |= facts_of(info)
        self.open = told.get("running") is True
        self._move(info.get("cwd"))
        return []

    def _not_there(self, error: Any) -> list[Event]:
        if not is_lost(error):
            return self._fail("session.resume", error)
        self.has_lost_history = True
        self._create()
        return []

    def _copied(self, result: Any, error: Any) -> list[Event]:
        if obj(error).get("code") == NOTHING_TO_COPY:
            self._create()
            return []
        live, stored = non_empty(obj(result).get("live")), non_empty(obj(result).get("session_key"))
        if live is None or stored is None:
            return self._fail("session.branch", error)
        self._goes_by(live, stored)
        self._move(None)
        return []

    def _copy(self, live: str, then: Then) -> None:
        """`then` gets both ids of the copy: `live` and `session_key`."""

        def branched(result: Any, error: Any) -> list[Event]:
            copy = non_empty(obj(result).get("session_id"))
            if copy is None:
                return then(None, error or {})

            def named(result: Any, error: Any) -> list[Event]:
                return then({**obj(result), "live": copy}, error)

            self.call("session.title", {"session_id": copy}, named)
            return []

        self.call("session.branch", {"session_id": live}, branched)

    def _goes_by(self, live: str, stored: str, usage: Any = None) -> None:
        self.live, self.session_id, self.mark = live, stored, f'"{live}"'.encode()
        self.totals.start(usage)

    def _move(self, there: Any) -> None:
        """A session comes back in the directory that it was left in."""

        def moved(result: Any, error: Any) -> list[Event]:
            self.is_ready = True
            if error is None:
                return []
            words = non_empty(obj(error).get("message")) or "no reason given"
            return [Warning("CWD", f"the session stays in the directory that it was in: {words}")]

        if there == self.session_start.cwd:
            self.is_ready = True
        else:
            self.call("session.cwd.set", {"session_id": self.live, "cwd": self.session_start.cwd}, moved)

    def _fail(self, method: str, error: Any) -> list[Event]:
        self.failure = rpc_fault(error, method)
        return []

    # -- as actions

    def fork(self, ticket: str) -> None:
        self._copy(
            self.live, self.replying(ticket, "session.branch", lambda told: non_empty(obj(told).get("session_key")))
        )

    def delete(self, ticket: str) -> None:
        """A live session cannot be deleted, so it is closed first."""

        def closed(result: Any, error: Any) -> list[Event]:
            self.is_ready = False
            then = self.replying(ticket, "session.delete", lambda _: None)
            self.call("session.delete", {"session_id": self.session_id}, then)
            return []

        self.call("session.close", {"session_id": self.live}, closed)
