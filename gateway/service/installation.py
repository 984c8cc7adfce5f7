"""Installing agents and their plugins, by the agents' own commands, where the operator allows it.

In: an agent, the command that a person has confirmed, the caller. Out: the command's output while it runs, its exit
code, and what a probe finds afterwards. Each is an entry of the audit log. Never: a command that no person has seen.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

import anyio

from gateway.audit import AuditLog
from gateway.capabilities.feed import ChangeSignal
from gateway.catalog.agent_commands import AgentCommand, PluginOperation, plugin_command, shell_command
from gateway.drivers.command_output import start_command
from gateway.drivers.environment import agent_environment
from gateway.drivers.probe.install_hint import find_install
from gateway.errors import Conflict, Forbidden, GatewayError
from gateway.registry.agents import Agent, Agents
from gateway.settings import Settings

VERIFY_SECONDS = 120.0
"""For the first start of an agent that was just installed."""


class Installation:
    def __init__(self, agents: Agents, settings: Settings, audit: AuditLog, changes: ChangeSignal) -> None:
        self._agents = agents
        self._settings = settings
        self._audit = audit
        self._changes = changes
        self._busy: set[str] = set()
        """Agents whose installation or plugins are being changed."""

    def plan(self, agent: Agent) -> dict[str, Any]:
        """What would be run, and whether it may be."""
        command, notes = self._find_command(agent)
        described = {"agent": agent.definition.id, "command": command.line, "allowed": self._settings.allow_install}
        return described if notes is None else {**described, "notes": notes}

    def _find_command(self, agent: Agent) -> tuple[AgentCommand, str | None]:
        line, notes = find_install(agent.definition, agent_environment((), {}, os.environ))
        return shell_command(line), notes

    async def install(self, agent: Agent, confirmed: str | None, principal: str) -> AsyncIterator[dict[str, Any]]:
        """`confirmed`: the command as the client has shown it. Raises before the first event, never after it."""
        command, _ = self._find_command(agent)
        self._check(agent, command, confirmed)
        detail = {"command": command.line}
        await self._audit.record_durably("agent.install", principal, agent=agent.definition.id, detail=detail)
        return self._run(agent, command, is_verified=True)

    async def change_plugin(
        self, agent: Agent, operation: PluginOperation, name: str, confirmed: str | None, principal: str
    ) -> AsyncIterator[dict[str, Any]]:
        command = plugin_command(agent.definition, operation, name)
        self._check(agent, command, confirmed)
        detail = {"command": command.line}
        await self._audit.record_durably("agent.plugins", principal, agent=agent.definition.id, detail=detail)
        return self._run(agent, command, is_verified=False)

    async def list_plugins(self, agent: Agent, search: str | None) -> dict[str, Any]:
        """What the agent's own command prints: each has a format of its own."""
        self._require_allowed()
        await agent.require_program()
        command = plugin_command(agent.definition, "list" if search is None else "search", search)
        async with start_command(command, self._inherit(agent), limit=VERIFY_SECONDS) as output:
            text = "".join([piece async for piece in output.pieces()])
            return {"command": command.line, "code": output.code, "output": text}

    def _inherit(self, agent: Agent) -> tuple[str, ...]:
        return () if agent.definition.command is None else agent.definition.command.inherit_env

    def _require_allowed(self) -> None:
        if not self._settings.allow_install:
            detail = "this gateway does not install programs: the operator can allow it with `allow_install = true`"
            raise Forbidden(detail, code="INSTALL_DISABLED")

    def _check(self, agent: Agent, command: AgentCommand, confirmed: str | None) -> None:
        self._require_allowed()
        if confirmed != command.line:
            detail = f"send the command that is to be run, as a person has seen it: {command.line}"
            raise Conflict(detail, code="COMMAND_NOT_CONFIRMED", command=command.line, pointer="/command")
        if agent.definition.id in self._busy:
            raise Conflict(f"{agent.definition.id!r} is being installed or changed already", code="INSTALL_RUNNING")

    async def _run(self, agent: Agent, command: AgentCommand, *, is_verified: bool) -> AsyncIterator[dict[str, Any]]:
        self._busy.add(agent.definition.id)
        try:
            yield {"type": "command", "command": command.line}
            async with start_command(command, self._inherit(agent)) as output:
                async for piece in output.pieces():
                    yield {"type": "output", "text": piece}
            end: dict[str, Any] = {"type": "end", "code": output.code}
            yield {**end, "availability": await self._verify(agent)} if is_verified else end
        except GatewayError as exc:
            yield {"type": "error", **exc.problem()}
        finally:
            self._busy.discard(agent.definition.id)
            self._changes.touch(agent.definition.id)

    async def _verify(self, agent: Agent) -> dict[str, Any]:
        """Whether the agent can run now, and where it can, that it starts."""
        found = await agent.probe()
        if found.status != "ready":
            return found.to_json()
        try:
            with anyio.fail_after(VERIFY_SECONDS):
                await self._agents.wait_until_probed(agent)
        except (GatewayError, TimeoutError) as exc:
            reason = exc.detail if isinstance(exc, GatewayError) else "it did not start in time"
            return {**found.to_json(), "status": "broken", "reason": reason}
        return found.to_json()
