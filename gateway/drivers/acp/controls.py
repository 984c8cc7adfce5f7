"""The controls of an ACP session. Each is available where the agent's handshake offers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.drivers.acp.connection import Connection
from gateway.drivers.acp.session_setup import read_session_id
from gateway.errors import NotCapable
from gateway.wire.acp.config_requests import set_config_request, set_mode_request, set_model_request
from gateway.wire.acp.initialize import Handshake
from gateway.wire.acp.methods import check_params
from gateway.wire.acp.session_state import SessionState

CALL_TIMEOUT_SECONDS = 60.0
SOURCE = "handshake (the agent's answer to initialize)"
EFFORT_CATEGORY = "thought_level"

REQUIRED_CAPABILITIES = {
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

GATEWAY_METHODS = frozenset(
    ("initialize", "session/prompt", "session/new", "session/load", "session/resume", "session/cancel")
)
"""Only the gateway calls these: a turn that a client starts with them would belong to no run."""


class AcpControls:
    def __init__(
        self,
        connection: Connection,
        handshake: Handshake,
        state: SessionState,
        session_id: str,
        location: dict[str, Any],
    ) -> None:
        """`location`: the session's directories and MCP servers, as `session_setup.location_params` has them."""
        self._connection = connection
        self._handshake = handshake
        self._state = state
        self._session_id = session_id
        self._location = location

    async def set_mode(self, mode: str) -> None:
        await self._set(*set_mode_request(self._state, self._session_id, mode))
        self._state.set_mode(mode)

    async def set_model(self, model: str) -> None:
        await self._set(*set_model_request(self._state, self._session_id, model))
        self._state.set_model(model)

    async def set_config(self, option: str, value: str | bool) -> None:
        await self._set(*set_config_request(self._state, self._session_id, option, value))

    async def set_effort(self, effort: str) -> None:
        """Through the config option for thinking, where the agent has one."""
        options = [option["id"] for option in self._state.options if option.get("category") == EFFORT_CATEGORY]
        if not options:
            raise NotCapable("the agent offers no setting for effort", capability="reasoning.effort", source="session")
        await self.set_config(options[0], effort)

    async def fork(self) -> str:
        return read_session_id(await self.call("session/fork", self._location), "forked the session")

    async def delete(self) -> None:
        await self.call("session/delete", {})

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        if method in GATEWAY_METHODS:
            raise NotCapable(f"only the gateway calls {method}: start a run instead", capability=method)
        field, name = REQUIRED_CAPABILITIES.get(method, ("", ""))
        if field and not getattr(self._handshake, field):
            detail = f"the agent does not offer {method}: custom.acp.{name} is false, stated by {SOURCE}"
            raise NotCapable(detail, capability=f"custom.acp.{name}", source=SOURCE)
        call_params = dict(params)
        if method.startswith("session/") and method != "session/list":
            # Whatever session the client names: a thread has access to its own session only.
            call_params["sessionId"] = self._session_id
        check_params(method, call_params)
        return await self._connection.call(method, call_params, CALL_TIMEOUT_SECONDS)

    async def _set(self, method: str, params: dict[str, Any]) -> None:
        self._state.read_result(await self._connection.call(method, params, CALL_TIMEOUT_SECONDS))
