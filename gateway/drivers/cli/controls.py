"""What can be set on a session of a command-line agent, and done with it, between turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gateway.catalog.sections import Cli
from gateway.errors import AgentFault, NotCapable

if TYPE_CHECKING:
    from gateway.drivers.cli.session import CliSession

LIMIT = 60.0


class CliControls:
    def __init__(self, session: CliSession, cli: Cli) -> None:
        self._session, self._cli = session, cli

    async def set_mode(self, mode: str) -> None:
        await self._set("mode", mode, by_command=self._cli.flags.mode is not None)

    async def set_model(self, model: str) -> None:
        await self._set("model", model, by_command=self._cli.flags.model is not None)

    async def set_config(self, option: str, value: str | bool) -> None:
        await self._do("set_config", "config", {"option": option, "value": value})

    async def fork(self) -> str:
        hint = "" if self._cli.flags.fork is None else "; start a run with forkSessionId instead"
        copied = await self._do("fork", "custom.mux.canFork", {}, hint)
        if not isinstance(copied, str):
            raise AgentFault("the agent forked the session without an id", code="AGENT_PROTOCOL_ERROR")
        return copied

    async def delete(self) -> None:
        await self._do("delete", "delete", {})

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        detail = f"{method}: only an ACP agent can be called so; this one speaks {self._cli.dialect}"
        raise NotCapable(detail, capability=method, source="profile")

    async def _set(self, name: str, value: str, *, by_command: bool) -> None:
        """At once where the agent has a word for it, else with the next turn's process."""
        if f"set_{name}" in self._session.dialect.actions:
            await self._session.do(f"set_{name}", {name: value}, LIMIT)
        elif not by_command:
            detail = f"the {name} of this agent cannot be set: {self._cli.dialect} has no word for it"
            raise NotCapable(detail, capability=name, source="profile")
        self._session.settings[name] = value

    async def _do(self, action: str, capability: str, params: dict[str, Any], hint: str = "") -> Any:
        if action not in self._session.dialect.actions:
            detail = f"the agent has no way to {action.replace('_', ' ')} between runs{hint}"
            raise NotCapable(detail, capability=capability, source=f"profile ({self._cli.dialect})")
        return await self._session.do(action, params, LIMIT)
