"""The controls of an ACP session. Each is available where the agent's handshake offers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.effort import MODEL_PARAMETER, require_variant, thinking_parameters
from gateway.drivers.acp.connection import Connection
from gateway.drivers.acp.session_setup import read_session_id
from gateway.errors import AgentFault, NotCapable
from gateway.events import Warning
from gateway.turn import Options
from gateway.wire.acp.config_requests import set_config_request, set_mode_request, set_model_request
from gateway.wire.acp.initialize import Handshake
from gateway.wire.acp.methods import check_params
from gateway.wire.acp.session_state import SessionState, session_layer

CALL_TIMEOUT_SECONDS = 60.0

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
        source_of: Callable[[str], str],
        takes_any_model: bool = False,
    ) -> None:
        """`location`: the session's directories and MCP servers, as `session_setup.location_params` has them.
        `source_of`: who denies a path of the handshake. `takes_any_model`: also one that the session does not list."""
        self._takes_any_model = takes_any_model
        self._connection = connection
        self._handshake = handshake
        self._state = state
        self._session_id = session_id
        self._location = location
        self._source_of = source_of

    async def apply_options(self, options: Options, definition: AgentDefinition) -> None:
        """What the session is set to already is not set again."""
        if options.model is not None and options.model != self._state.model:
            await self.set_model(options.model)
        if options.mode is not None and options.mode != self._state.mode:
            await self.set_mode(options.mode)
        # The levels may be others after a change of the model.
        for name, value in thinking_parameters(definition, None, options, session_layer(self._state)).items():
            if name == MODEL_PARAMETER:
                await self.set_model(require_variant(definition, self._state.model, value))
            else:
                await self.set_config(name, value)

    async def set_mode(self, mode: str) -> None:
        await self._set(*set_mode_request(self._state, self._session_id, mode))
        self._state.set_mode(mode)

    async def set_model(self, model: str) -> None:
        await self._set(*set_model_request(self._state, self._session_id, model, is_open=self._takes_any_model))
        self._state.set_model(model)

    async def set_config(self, option: str, value: str | bool) -> None:
        await self._set(*set_config_request(self._state, self._session_id, option, value))

    async def restore_config(self, config: Mapping[str, Any]) -> list[Warning]:
        """Sets the options again that were set before the session was closed; those that the agent kept are left."""
        values = {option["id"]: option.get("value") for option in self._state.options}
        warnings = []
        for option, value in config.items():
            if values.get(option) == value:
                continue
            try:
                await self.set_config(option, value)
            except (AgentFault, NotCapable) as exc:
                detail = f"the option {option!r} of this thread could not be set to {value!r} again: {exc.detail}"
                warnings.append(Warning("SETTING_LOST", detail))
        return warnings

    async def fork(self) -> str:
        """The copy is open at the agent from now on: to load it there as well would make some agents send everything
        twice. So it is kept for the thread that it is for."""
        self._connection.reserve()
        try:
            result = await self.call("session/fork", self._location)
            session_id = read_session_id(result, "forked the session")
            self._connection.hold(session_id, result, self._location)
            return session_id
        finally:
            self._connection.release()

    async def delete(self) -> None:
        await self.call("session/delete", {})

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        if method in GATEWAY_METHODS:
            raise NotCapable(f"only the gateway calls {method}: start a run instead", capability=method)
        field, name = REQUIRED_CAPABILITIES.get(method, ("", ""))
        if field and not getattr(self._handshake, field):
            source = self._source_of(f"custom.acp.{name}")
            detail = f"the agent does not offer {method}: custom.acp.{name} is false, stated by {source}"
            raise NotCapable(detail, capability=f"custom.acp.{name}", source=source)
        call_params = dict(params)
        if method.startswith("session/") and method != "session/list":
            # Whatever session the client names: a thread has access to its own session only.
            call_params["sessionId"] = self._session_id
        check_params(method, call_params)
        return await self._connection.call(method, call_params, CALL_TIMEOUT_SECONDS)

    async def _set(self, method: str, params: dict[str, Any]) -> None:
        self._state.read_result(await self._connection.call(method, params, CALL_TIMEOUT_SECONDS))
