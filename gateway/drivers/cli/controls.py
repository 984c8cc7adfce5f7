"""The controls of a session with a command-line agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from gateway.catalog.sections import Cli
from gateway.errors import AgentFault, NotCapable

ACTION_TIMEOUT_SECONDS = 60.0

RunAction = Callable[[str, dict[str, Any], float], Awaitable[Any]]
"""(action of the dialect, its parameters, limit in seconds) → its result. Raises `AgentFault`."""


class CliControls:
    def __init__(
        self,
        cli: Cli,
        actions: frozenset[str],
        run_action: RunAction,
        save_setting: Callable[[str, str], None],
        check_mode: Callable[[str], None],
    ) -> None:
        """`actions`: what the dialect can do between turns. `save_setting`: for the turns to come. `check_mode`:
        raises `NotCapable` for a mode that the session does not have."""
        self._cli = cli
        self._check_mode = check_mode
        self._actions = actions
        self._run_action = run_action
        self._save_setting = save_setting

    async def set_mode(self, mode: str) -> None:
        self._check_mode(mode)
        await self._set("mode", mode, has_flag=self._cli.flags.mode is not None)

    async def set_model(self, model: str) -> None:
        await self._set("model", model, has_flag=self._cli.flags.model is not None)

    async def set_config(self, option: str, value: str | bool) -> None:
        await self._run("set_config", "config", {"option": option, "value": value})

    async def fork(self) -> str:
        hint = "" if self._cli.flags.fork is None else "; start a run with forkSessionId instead"
        copy_id = await self._run("fork", "custom.mux.canFork", {}, hint)
        if not isinstance(copy_id, str):
            raise AgentFault("the agent forked the session without an id", code="AGENT_PROTOCOL_ERROR")
        return copy_id

    async def delete(self) -> None:
        await self._run("delete", "delete", {})

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        detail = f"{method}: only ACP agents have further methods; this one uses {self._cli.dialect}"
        raise NotCapable(detail, capability=method, source="profile")

    async def _set(self, name: str, value: str, *, has_flag: bool) -> None:
        """At once where the dialect can, else with the process of the next turn."""
        if f"set_{name}" in self._actions:
            await self._run_action(f"set_{name}", {name: value}, ACTION_TIMEOUT_SECONDS)
        elif not has_flag:
            detail = f"the {name} of this agent cannot be set: {self._cli.dialect} has no setting for it"
            raise NotCapable(detail, capability=name, source="profile")
        self._save_setting(name, value)

    async def _run(self, action: str, capability: str, params: dict[str, Any], hint: str = "") -> Any:
        if action not in self._actions:
            detail = f"the agent cannot {action.replace('_', ' ')} between runs{hint}"
            raise NotCapable(detail, capability=capability, source=f"profile ({self._cli.dialect})")
        return await self._run_action(action, params, ACTION_TIMEOUT_SECONDS)
