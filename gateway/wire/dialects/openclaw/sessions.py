"""Connect to OpenClaw's gateway; open, resume, copy and delete sessions.

In: `SessionStart` and responses. Out: requests, and the session's key for the dialect. The first request of a
connection must be `connect`. Sessions share the connection: each session that does not know of an accepted `connect`
sends one, under the same id. All but the first get the error `TOO_LATE`, which means that the connection is open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.errors import AgentFault
from gateway.events import Event
from gateway.wire.dialects.base import SessionStart
from gateway.wire.dialects.openclaw.errors import error_message, to_fault
from gateway.wire.fields import non_empty, obj, present

ResponseReader = Callable[[dict[str, Any], Any], list[Event]]
"""Reads a response: (payload, error); the error is None where the request succeeded."""
Call = Callable[[str, dict[str, Any], ResponseReader], None]
"""Sends a request: (method, params, reader of the response)."""

CONNECT_ID = "connect"
PROTOCOL_VERSION = 4
SCOPES = ("operator.read", "operator.write", "operator.approvals", "operator.questions", "operator.admin")
"""`operator.admin` is for a directory of the session's own: without it only the agent's workspace is allowed."""
CAPABILITIES = ("tool-events", "exec-approvals", "approvals")
"""Without `tool-events` OpenClaw reports no tool calls, and no error."""
TOO_LATE = "only valid as the first request"
PERMISSION_MODES = ("read-only", "guarded", "workspace", "full")
"""Which tool calls of a session need approval; in `guarded` commands do."""


def connect_request(token: str | None) -> dict[str, Any]:
    params = {
        "minProtocol": PROTOCOL_VERSION,
        "maxProtocol": PROTOCOL_VERSION,
        "client": {"id": "gateway-client", "version": "1", "platform": "any", "mode": "backend"},
        "role": "operator",
        "scopes": SCOPES,
        "caps": CAPABILITIES,
        "auth": present({"token": token}),
    }
    return {"type": "req", "id": CONNECT_ID, "method": "connect", "params": params}


def connect_fault(response: dict[str, Any]) -> AgentFault | None:
    """Why OpenClaw refused the connection; None: it is open."""
    message = error_message(response.get("error"))
    if response.get("ok") is True or TOO_LATE in message:
        return None
    return AgentFault(f"OpenClaw's gateway did not accept the connection: {message}")


class SessionRequests:
    """The requests that open a session.

    `on_open` is called with the session's key, and with its entry if it is new; `on_lost` when the session to resume is
    gone; `on_failure` when no session can be opened.
    """

    def __init__(
        self,
        call: Call,
        on_open: Callable[[str, dict[str, Any] | None], None],
        on_lost: Callable[[], None],
        on_failure: Callable[[AgentFault], None],
    ) -> None:
        self._call = call
        self._on_open = on_open
        self._on_lost = on_lost
        self._on_failure = on_failure
        self._start = SessionStart("")

    def open_session(self, start: SessionStart) -> None:
        self._start = start
        if start.session_id is None:
            self._create({"cwd": start.cwd})
        elif start.fork:
            self._create({"fork": True, "parentSessionKey": start.session_id})
        else:
            self._call("sessions.resolve", {"key": start.session_id, "allowMissing": True}, self._read_resolved)

    def copy_session(self, key: str | None, reader: ResponseReader) -> None:
        self._call("sessions.create", {"fork": True, "parentSessionKey": key}, reader)

    def delete_session(self, key: str | None, reader: ResponseReader) -> None:
        self._call("sessions.delete", {"key": key, "deleteTranscript": True}, reader)

    def _create(self, params: dict[str, Any]) -> None:
        mode = self._start.params.get("mode")
        agent = non_empty(self._start.params.get("agent"))
        options = present({"agentId": agent, "permissionMode": mode if mode in PERMISSION_MODES else None})
        self._call("sessions.create", {**params, **options}, self._read_created)

    def _read_created(self, payload: dict[str, Any], error: Any) -> list[Event]:
        key = non_empty(payload.get("key"))
        if error is not None or key is None:
            self._on_failure(to_fault(error, "sessions.create"))
        else:
            self._on_open(key, obj(payload.get("entry")))
        return []

    def _read_resolved(self, payload: dict[str, Any], error: Any) -> list[Event]:
        key = non_empty(payload.get("key"))
        if error is not None:
            self._on_failure(to_fault(error, "sessions.resolve"))
        elif payload.get("ok") is not True or key is None:
            self._on_lost()
            self._create({"cwd": self._start.cwd})
        else:
            self._on_open(key, None)
        return []
