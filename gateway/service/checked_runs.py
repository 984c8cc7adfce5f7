"""The one way to start a run: its turn is checked against the agent's snapshot, then given to the engine.

In: an agent, a turn as the client sent it, the caller. Out: a live run, or a refusal before anything begins, with
the party that made the statement and what to do. The snapshot is taken once; the run gets it with its turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from anyio import to_thread

from gateway.agui.option_secrets import has_secrets_in_entry
from gateway.audit import AuditLog, describe_options
from gateway.capabilities.agent_facts import CurrentSnapshot
from gateway.capabilities.check import check_turn
from gateway.capabilities.model_choice import choose_model
from gateway.capabilities.option_checks import mcp_transport
from gateway.capabilities.thinking_options import apply_thinking, check_listed, has_thinking
from gateway.catalog.capability_table import camel
from gateway.drivers.mcp_addresses import check_mcp_addresses
from gateway.drivers.skills import check_paths
from gateway.errors import AgentFault, NotCapable, Refused
from gateway.identity import Caller, ThreadKey
from gateway.registry.agents import Agent
from gateway.runs.engine import Engine
from gateway.runs.readiness import Precondition
from gateway.runs.run import Run
from gateway.runs.session_access import SessionAccess
from gateway.runs.thread_settings import DROPPED
from gateway.runs.trust_question import trusts_folder
from gateway.service.model_lists import ModelLists
from gateway.service.run_permissions import RunPermissions
from gateway.service.snapshots import Snapshots
from gateway.settings import Settings
from gateway.turn import Options, Turn


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
        model_lists: ModelLists,
    ) -> None:
        self._model_lists = model_lists
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
        """The turn as the agent can carry it out, with what is set on its thread. Everything that a client requests of
        an agent, by any route, is checked here. Raises `Forbidden`, `NotCapable`, `Refused` or `Conflict`."""
        if not agent.definition.is_local_process:
            return await self._check(agent, turn, caller)
        thread = ThreadKey(agent.definition.id, turn.thread_id, caller.principal)
        options, filled = (await self._engine.sessions.read_settings(thread)).fill(turn.options)
        try:
            return await self._check(agent, replace(turn, options=options), caller)
        except NotCapable as exc:
            refused = str(exc.extra.get("pointer", "")).rpartition("/")[2]
            for name in (name for name in filled if camel(name) == refused):
                await self._engine.sessions.drop_setting(thread, name)
                exc.detail += DROPPED
            raise

    async def _check(self, agent: Agent, turn: Turn, caller: Caller) -> CheckedTurn:
        self._permissions.check(agent.definition, turn.options, caller)
        if any(trusts_folder(answer) for answer in turn.resume):
            caller.require("programs")  # the configuration of a trusted folder starts programs
        await agent.require_program()
        if agent.driver is not None and not agent.driver.is_probed and _needs_handshake(agent, turn.options):
            with suppress(AgentFault):  # the run fails in the same way, and reports it
                await agent.driver.probe()
        if turn.options.mcp_servers and agent.driver is not None and agent.driver.is_local:
            _check_shown_secrets(agent, turn.options.mcp_servers)
            await check_mcp_addresses(turn.options.mcp_servers, private=self._settings.allow_private_addresses)
        if _depends_on_model(turn):
            await self._model_lists.ensure_listed(agent)
        definition = agent.definition_in_use
        turn, model = choose_model(turn, definition, agent.models)
        thread = ThreadKey(agent.definition.id, turn.thread_id, caller.principal)
        current = await self._snapshots.take(agent, thread, model)
        limits = current
        if current.model is None and _depends_on_model(turn) and await self._is_new(turn, thread):
            limits = await self._snapshots.take(agent, thread, agent.models.default())
        turn = check_turn(turn, limits.snapshot, definition, limits.model)
        check_listed(turn, current.basis)
        turn = apply_thinking(turn, limits.basis, limits.snapshot, use_default=False)
        if agent.driver is not None and agent.driver.is_local and _names_folders(turn.options):
            self._engine.sessions.folders(thread, turn.options)  # refuses what is outside the workspace
        if agent.driver is not None and agent.driver.is_local and turn.options.skills:
            cwd, *_ = self._engine.sessions.folders(thread, turn.options)
            await to_thread.run_sync(check_paths, turn.options.skills, cwd)
        foreign_session = await self._access.check_run(definition, thread, turn.options, caller)
        return CheckedTurn(turn, current, foreign_session)

    async def _is_new(self, turn: Turn, thread: ThreadKey) -> bool:
        """The run begins a session: it has the agent's default model. One that is resumed may have another."""
        options = turn.options
        if options.session_id is not None or options.fork_session_id is not None:
            return False
        return await self._snapshots.is_new(thread)


def _depends_on_model(turn: Turn) -> bool:
    """Whether the run asks for something that not every model can do."""
    return turn.options.model is not None or has_thinking(turn.options) or any(p["type"] != "text" for p in turn.parts)


def _names_folders(options: Options) -> bool:
    return options.cwd is not None or bool(options.additional_directories)


def _needs_handshake(agent: Agent, options: Options) -> bool:
    """Whether the options can be checked only when the agent has announced what it can do. An agent that never ran is
    probed for them, so that its first run is refused like every later one."""
    if options.strict:
        return True
    servers = any(mcp_transport(server) != "stdio" for server in options.mcp_servers or ())
    named = options.session_id or options.fork_session_id or options.additional_directories
    return agent.definition_in_use.driver == "acp" and bool(servers or named)


def _check_shown_secrets(agent: Agent, servers: Sequence[Mapping[str, Any]]) -> None:
    """Raises `Refused` for a secret that the agent would show to every user of the machine."""
    if not agent.definition_in_use.acp.mcp_by_arguments:
        return
    for number, server in enumerate(servers):
        if has_secrets_in_entry(server):
            raise Refused(
                f"{agent.definition.id} passes MCP servers on by the arguments of a process, which every user of the "
                "machine can read: name this server without headers and keys in its URL, or use another agent",
                code="MCP_SECRETS_VISIBLE",
                pointer=f"/forwardedProps/gateway/mcpServers/{number}",
            )
