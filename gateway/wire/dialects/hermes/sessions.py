"""Open, resume, copy and delete Hermes sessions.

In: `SessionStart` and responses. Out: requests, and `OpenSession` for the dialect. Hermes has two ids for a session: a
live id, which stands in every event and ends with the process, and a stored id, by which the session is resumed. The
response to a copy has the live id only; the response to `session.title` has the stored one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gateway.errors import AgentFault
from gateway.events import Event, Warning
from gateway.wire.dialects.base import SessionStart
from gateway.wire.dialects.hermes.errors import error_message, is_session_lost, to_fault
from gateway.wire.fields import non_empty, obj

ResponseReader = Callable[[Any, Any], list[Event]]
"""Reads a response: (result, error), one of them None."""
Call = Callable[[str, dict[str, Any], ResponseReader], None]
"""Sends a request: (method, params, reader of the response)."""

TERMINAL_COLUMNS = 100
NOTHING_TO_COPY = 4008
"""Error code of `session.branch` for a session without messages."""


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that Hermes has opened."""

    live_id: str
    stored_id: str
    info: dict[str, Any] = field(default_factory=dict)
    """The fields of `session.info`."""
    usage: Any = None
    """The token totals that a resumed session starts with."""
    is_running: bool = False
    """Hermes is at work on a turn of its own in this session."""
    is_replacement: bool = False
    """A new session instead of the one to resume, which Hermes no longer has."""


class SessionRequests:
    """The requests that open a session.

    `on_open` is called when the ids are known, `on_ready` when the session takes a prompt, `on_failure` when it never
    will.
    """

    def __init__(
        self,
        call: Call,
        on_open: Callable[[OpenSession], None],
        on_ready: Callable[[], None],
        on_failure: Callable[[AgentFault], None],
    ) -> None:
        self._call = call
        self._on_open = on_open
        self._on_ready = on_ready
        self._on_failure = on_failure
        self._start = SessionStart("")
        self._is_replacement = False

    def open_session(self, start: SessionStart) -> None:
        self._start = start
        self._is_replacement = False
        if start.session_id is None:
            self._create()
        else:
            self._call("session.resume", {"session_id": start.session_id, "cols": TERMINAL_COLUMNS}, self._read_resumed)

    def copy_session(self, live_id: str, reader: ResponseReader) -> None:
        """`reader` gets both ids of the copy, as `live` and `session_key`."""

        def read_branch(result: Any, error: Any) -> list[Event]:
            copy_id = non_empty(obj(result).get("session_id"))
            if copy_id is None:
                return reader(None, error or {})

            def read_title(result: Any, error: Any) -> list[Event]:
                return reader({**obj(result), "live": copy_id}, error)

            self._call("session.title", {"session_id": copy_id}, read_title)
            return []

        self._call("session.branch", {"session_id": live_id}, read_branch)

    def delete_session(self, live_id: str, stored_id: str | None, reader: ResponseReader) -> None:
        """A live session cannot be deleted, so it is closed first."""

        def read_close(result: Any, error: Any) -> list[Event]:
            self._call("session.delete", {"session_id": stored_id}, reader)
            return []

        self._call("session.close", {"session_id": live_id}, read_close)

    def _create(self) -> None:
        self._call("session.create", {"cwd": self._start.cwd, "cols": TERMINAL_COLUMNS}, self._read_created)

    def _read_created(self, result: Any, error: Any) -> list[Event]:
        created = obj(result)
        live_id = non_empty(created.get("session_id"))
        stored_id = non_empty(created.get("stored_session_id"))
        if live_id is None or stored_id is None:
            return self._fail("session.create", error)
        info = obj(created.get("info"))
        self._on_open(OpenSession(live_id, stored_id, info, is_replacement=self._is_replacement))
        self._on_ready()
        return []

    def _read_resumed(self, result: Any, error: Any) -> list[Event]:
        resumed = obj(result)
        live_id = non_empty(resumed.get("session_id"))
        stored_id = non_empty(resumed.get("session_key")) or non_empty(resumed.get("resumed")) or self._start.session_id
        if live_id is None or stored_id is None:
            return self._replace(error)
        if self._start.fork:
            self.copy_session(live_id, self._read_copied)
            return []
        info = obj(resumed.get("info"))
        is_running = resumed.get("running") is True
        self._on_open(OpenSession(live_id, stored_id, info, info.get("usage"), is_running))
        self._set_directory(live_id, info.get("cwd"))
        return []

    def _replace(self, error: Any) -> list[Event]:
        if not is_session_lost(error):
            return self._fail("session.resume", error)
        self._is_replacement = True
        self._create()
        return []

    def _read_copied(self, result: Any, error: Any) -> list[Event]:
        if obj(error).get("code") == NOTHING_TO_COPY:
            self._create()
            return []
        live_id = non_empty(obj(result).get("live"))
        stored_id = non_empty(obj(result).get("session_key"))
        if live_id is None or stored_id is None:
            return self._fail("session.branch", error)
        self._on_open(OpenSession(live_id, stored_id))
        self._set_directory(live_id, None)
        return []

    def _set_directory(self, live_id: str, current: Any) -> None:
        """A session is resumed in the directory that it was left in."""

        def read_set(result: Any, error: Any) -> list[Event]:
            self._on_ready()
            if error is None:
                return []
            return [Warning("CWD", f"the session stays in the directory that it was in: {error_message(error)}")]

        if current == self._start.cwd:
            self._on_ready()
        else:
            self._call("session.cwd.set", {"session_id": live_id, "cwd": self._start.cwd}, read_set)

    def _fail(self, method: str, error: Any) -> list[Event]:
        self._on_failure(to_fault(error, method))
        return []
