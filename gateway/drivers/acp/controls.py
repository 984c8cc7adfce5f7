"""What can be set on an ACP session, and done with it, each by leave of what the agent said it offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.drivers.acp.connection import Connection
from gateway.drivers.acp.session_setup import named
from gateway.errors import NotCapable
from gateway.wire.acp.config_requests import set_config_request, set_mode_request, set_model_request
from gateway.wire.acp.initialize import Handshake
from gateway.wire.acp.methods import check_params
from gateway.wire.acp.session_state import SessionState

LIMIT = 60.0
SAID = "handshake (the agent's answer to initialize)"
EFFORT = "thought_level"

GATES = {
    "session/list": ("list", "listSessions"),
    "session/delete": ("delete", "deleteSession"),
    "session/fork": ("fork", "forkSession"),
    "session/close": ("close", "closeSession"),
    "session/archive": ("archive", "archive"),
    "session/unarchive": ("archive", "archive"),
    "session/status": ("status", "status"),
    "session/set_title": ("set_title", "title"),
    "logout": ("logout", "logout"),
    "auth/status": ("auth_status", "authStatus"),
    "providers/list": ("providers", "providers"),
    "providers/set": ("providers", "providers"),
    "providers/disable": ("providers", "providers"),
}
"""Method → the field of the handshake that must be true, and its name in the `acp` view."""

OWN = frozenset(("initialize", "session/prompt", "session/new", "session/load", "session/resume", "session/cancel"))
"""The gateway's own to call: a turn behind its back would belong to no run."""


class AcpControls:
    def __init__(
        self, connection: Connection, handshake: Handshake, facts: SessionState, session_id: str, where: dict[str, Any]
    ) -> None:
        self._connection, self._handshake, self._facts = connection, handshake, facts
        self._session_id, self._where = session_id, where

    async def set_mode(self, mode: str) -> None:
        await self._set(*set_mode_request(self._facts, self._session_id, mode))
        self._facts.set_mode(mode)

    async def set_model(self, model: str) -> None:
        await self._set(*set_model_request(self._facts, self._session_id, model))
        self._facts.set_model(model)

    async def set_config(self, option: str, value: str | bool) -> None:
        await self._set(*set_config_request(self._facts, self._session_id, option, value))

    async def set_effort(self, effort: str) -> None:
        """Through the config option that is about thinking, where the agent has one."""
        options = [option["id"] for option in self._facts.options if option.get("category") == EFFORT]
        if not options:
            raise NotCapable("the agent offers no setting for effort", capability="reasoning.effort", source="session")
        await self.set_config(options[0], effort)

    async def fork(self) -> str:
        return named(await self.call("session/fork", self._where), "forked the session")

    async def delete(self) -> None:
        await self.call("session/delete", {})

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        if method in OWN:
            raise NotCapable(f"{method} is the gateway's own to call: start a run instead", capability=method)
        field, name = GATES.get(method, ("", ""))
        if field and not getattr(self._handshake, field):
            detail = f"the agent does not offer {method}: custom.acp.{name} is false, said by {SAID}"
            raise NotCapable(detail, capability=f"custom.acp.{name}", source=SAID)
        given = dict(params)
        if method.startswith("session/") and method != "session/list":
            given["sessionId"] = self._session_id  # whatever was named: another thread's session is not this one's
        check_params(method, given)
        return await self._connection.call(method, given, LIMIT)

    async def _set(self, method: str, params: dict[str, Any]) -> None:
        self._facts.read_result(await self._connection.call(method, params, LIMIT))
