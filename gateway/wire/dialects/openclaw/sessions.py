"""How a session of OpenClaw's gateway is opened, comes back, is copied and goes.

The first request of a connection must be `connect`. Sessions share the connection: each that does not know of one that
was accepted sends it, under the same id, and all but the first are told that it came too late, which is as good.
"""

from __future__ import annotations

from typing import Any

from gateway.capability_paths import MODE, PERMISSION_MODE
from gateway.capability_paths import MODES as OFFERED
from gateway.errors import AgentFault
from gateway.events import Event
from gateway.wire.dialects.base import SessionStart
from gateway.wire.dialects.openclaw.errors import rpc_fault, words_of
from gateway.wire.dialects.openclaw.rpc_calls import Calls
from gateway.wire.fields import non_empty, obj, present

CONNECT = "connect"
PROTOCOL = 4
SCOPES = ("operator.read", "operator.write", "operator.approvals", "operator.questions", "operator.admin")
"""The last one for a session's own directory: without it only the agent's workspace is allowed."""
CAPS = ("tool-events", "exec-approvals", "approvals")
"""Without the first no call is ever told of, in silence."""
TOO_LATE = "only valid as the first request"
MODES = ("read-only", "guarded", "workspace", "full")
"""Who decides about a session's tools; in `guarded` commands are asked about."""
NOBODY = b"\0"
"""Stands in no message."""


class Sessions(Calls):
    def __init__(self) -> None:
        super().__init__()
        self.mark = NOBODY
        """The session's key, as it stands in every message about it."""
        self.permission: str | None = None

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self.is_ready, self.mark, self.permission = False, NOBODY, None
        if begin.params.get("connected") is not True:
            self._connect(non_empty(begin.params.get("token")))
        if begin.session_id is None:
            self._create({"cwd": begin.cwd})
        elif begin.fork:
            self._create({"fork": True, "parentSessionKey": begin.session_id})
        else:
            self.call("sessions.resolve", {"key": begin.session_id, "allowMissing": True}, self._resolved)

    def _connect(self, token: str | None) -> None:
        params = {
            "minProtocol": PROTOCOL,
            "maxProtocol": PROTOCOL,
            "client": {"id": "gateway-client", "version": "1", "platform": "any", "mode": "backend"},
            "role": "operator",
            "scopes": SCOPES,
            "caps": CAPS,
            "auth": present({"token": token}),
        }
        self.send({"type": "req", "id": CONNECT, "method": "connect", "params": params})

    def connected(self, answer: dict[str, Any]) -> None:
        """To whoever sent it."""
        words = words_of(answer.get("error"))
        if answer.get("ok") is not True and TOO_LATE not in words and not self.is_ready:
            self.failure = AgentFault(f"OpenClaw's gateway did not accept the connection: {words}")
        server = obj(obj(answer.get("payload")).get("server"))
        if (version := non_empty(server.get("version"))) is not None:
            self.handshake_layer["identity.version"] = version

    def _create(self, params: dict[str, Any]) -> None:
        mode = self.session_start.params.get("mode")
        agent = non_empty(self.session_start.params.get("agent"))
        known = mode if mode in MODES else None
        self.call("sessions.create", {**params, **present({"agentId": agent, "permissionMode": known})}, self._created)

    def _created(self, payload: dict[str, Any], error: Any) -> list[Event]:
        key = non_empty(payload.get("key"))
        if error is not None or key is None:
            self.failure = rpc_fault(error, "sessions.create")
            return []
        self.permits(non_empty(obj(payload.get("entry")).get("permissionMode")))
        self._goes_by(key)
        return []

    def permits(self, mode: str | None) -> None:
        """Its modes are about nothing but permissions."""
        self.permission = mode
        self.session_layer |= present({MODE: mode, PERMISSION_MODE: mode}) | {OFFERED: [{"id": one} for one in MODES]}

    def _resolved(self, payload: dict[str, Any], error: Any) -> list[Event]:
        key = non_empty(payload.get("key"))
        if error is not None:
            self.failure = rpc_fault(error, "sessions.resolve")
        elif payload.get("ok") is not True or key is None:
            self.has_lost_history = True
            self._create({"cwd": self.session_start.cwd})
        else:
            self._goes_by(key)
        return []

    def _goes_by(self, key: str) -> None:
        self.session_id, self.mark, self.is_ready = key, f'"{key}"'.encode(), True

    # -- as actions

    def fork(self, ticket: str) -> None:
        params = {"fork": True, "parentSessionKey": self.session_id}
        self.call("sessions.create", params, self.replying(ticket, "sessions.create", lambda told: told.get("key")))

    def delete(self, ticket: str) -> None:
        params = {"key": self.session_id, "deleteTranscript": True}
        self.is_ready = False
        self.call("sessions.delete", params, self.replying(ticket, "sessions.delete"))
