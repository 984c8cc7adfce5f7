"""The one way to start a run: its turn is checked against the agent's snapshot, then given to the engine.

In: an agent, a turn as the client sent it, the caller. Out: a live run, or a refusal before anything begins, with
the party that made the statement and what to do. The snapshot is taken once; the run gets it with its turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gateway.agui.option_secrets import has_secrets_in_entry
from gateway.audit import AuditLog, describe_options
from gateway.capabilities.agent_facts import CurrentSnapshot
from gateway.capabilities.check import check_turn
from gateway.capabilities.model_choice import choose_model
from gateway.drivers.mcp_addresses import check_mcp_addresses
from gateway.errors import Refused
from gateway.identity import Caller, ThreadKey
from gateway.registry.agents import Agent
from gateway.runs.engine import Engine
from gateway.runs.readiness import Precondition
from gateway.runs.run import Run
from gateway.runs.session_access import SessionAccess
from gateway.runs.trust_question import trusts_folder
from gateway.service.run_permissions import RunPermissions
from gateway.service.snapshots import Snapshots
from gateway.settings import Settings
from gateway.turn import Turn


@dataclass(frozen=True, slots=True)
class CheckedTurn:
    """A turn that the agent can carry out."""

    turn: Turn
    current: CurrentSnapshot
    """What it was checked against."""
    foreign_session: str | None = None
    """The session of another principal, or of none, that an administrator uses."""


class CheckedRuns:
    def __init__(
        self,
        engine: Engine,
        snapshots: Snapshots,
        access: SessionAccess,
        audit: AuditLog,
        gateway_id: str,
        settings: Settings,
    ) -> None:
        self._permissions = RunPermissions(settings)
        self._settings = settings
        self._engine = engine
        self._snapshots = snapshots
        self._access = access
        self._audit = audit
        self._gateway_id = gateway_id

    async def start(self, agent: Agent, turn: Turn, caller: Caller, precondition: Precondition | None = None) -> Run:
        """Raises `Forbidden`, `NotCapable`, `Refused`, `Busy` or `Conflict`."""
        if not turn.hops:
            turn = replace(turn, hops=(self._gateway_id,))
        with agent.in_use():  # it may be replaced meanwhile
            checked = await self.check(agent, turn, caller)
            run = await self._engine.start(
                agent, checked.turn, caller.principal, precondition=precondition, checked=checked.current
            )
        self._record(agent, checked, caller)
        return run

    def _record(self, agent: Agent, checked: CheckedTurn, caller: Caller) -> None:
        turn = checked.turn
        place = {"agent": agent.definition.id, "thread": turn.thread_id, "run": turn.run_id}
        self._audit.record("run.start", caller.principal, **place, detail=describe_options(turn.options))
        if checked.foreign_session is not None:
            detail = {"session": checked.foreign_session, "copy": turn.options.fork_session_id is not None}
            self._audit.record("session.take", caller.principal, **place, detail=detail)

    async def check(self, agent: Agent, turn: Turn, caller: Caller) -> CheckedTurn:
        """The turn as the agent can carry it out. Everything that a client requests of an agent, by any route, is
        checked here. Raises `Forbidden`, `NotCapable`, `Refused` or `Conflict`."""
        self._permissions.check(agent.definition, turn.options, caller)
        if any(trusts_folder(answer) for answer in turn.resume):
            caller.require("programs")  # the configuration of a trusted folder starts programs
        await agent.require_program()
        if turn.options.strict and agent.driver is not None and not agent.driver.is_probed:
            await agent.driver.probe()  # a strict check needs the agent's own announcement
        if turn.options.mcp_servers and agent.driver is not None and agent.driver.is_local:
            _check_shown_secrets(agent, turn.options.mcp_servers)
            await check_mcp_addresses(turn.options.mcp_servers, private=self._settings.allow_private_addresses)
        turn, model = choose_model(turn, agent.definition, agent.models)
        thread = ThreadKey(agent.definition.id, turn.thread_id, caller.principal)
        current = await self._snapshots.take(agent, thread, model)
        turn = check_turn(turn, current.snapshot, agent.definition, current.model)
        foreign_session = await self._access.check_run(agent.definition, thread, turn.options, caller)
        return CheckedTurn(turn, current, foreign_session)


def _check_shown_secrets(agent: Agent, servers: Sequence[Mapping[str, Any]]) -> None:
    """Raises `Refused` for a secret that the agent would show to every user of the machine."""
    if not agent.definition.acp.mcp_by_arguments:
        return
    for number, server in enumerate(servers):
        if has_secrets_in_entry(server):
            raise Refused(
                f"{agent.definition.id} passes MCP servers on by the arguments of a process, which every user of the "
                "machine can read: name this server without headers and keys in its URL, or use another agent",
                code="MCP_SECRETS_VISIBLE",
                pointer=f"/forwardedProps/gateway/mcpServers/{number}",
            )
