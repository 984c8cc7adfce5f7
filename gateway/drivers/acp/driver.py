"""An agent reached over ACP: its processes, its handshake, the sessions on them."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from gateway.background import Tasks
from gateway.capability_paths import MODELS, unflatten
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.acp.client_tools import serves_tools
from gateway.drivers.acp.connection import Connection
from gateway.drivers.acp.session import AcpSession
from gateway.drivers.base import Opening
from gateway.drivers.client_tools import SocketDirectory
from gateway.drivers.environment import trimmed
from gateway.drivers.probe import Availability, probe
from gateway.drivers.process.process import spawn
from gateway.errors import AgentFault
from gateway.wire.acp.client_capabilities import ClientCapabilities, initialize_params
from gateway.wire.acp.initialize import Handshake, agui_layer, read_handshake
from gateway.wire.acp.session_state import SessionState, layer

log = logging.getLogger(__name__)

IDLE_PROCESS = 300.0
"""A process without a session is kept so long for the next one: starting one costs seconds."""
AUTH_LIMIT = 120.0
"""An agent may open a browser and wait for a person; not for ever."""


class AcpDriver:
    question_window = 0.05
    local = True
    remote_proxy = None

    def __init__(self, definition: AgentDefinition, tasks: Tasks) -> None:
        assert definition.command is not None  # the definition was checked
        self._definition, self._command, self._tasks = definition, definition.command, tasks
        self._connections: list[Connection] = []
        self._starting = anyio.Lock()
        self._failure: str | None = None
        self._unauthenticated: AgentFault | None = None
        self.handshake: Handshake | None = None
        self._told: tuple[Handshake, Mapping[str, Any]] | None = None
        """…and what it says in AG-UI's words, made once: it is asked for with every snapshot."""
        self._facts = SessionState()
        self._folder = SocketDirectory()

    async def handshake_layer(self) -> Mapping[str, Any]:
        if self.handshake is None:
            return {}
        if self._told is None or self._told[0] is not self.handshake:
            tools = {"tools.clientProvided": serves_tools(self._definition, self.handshake)}
            self._told = self.handshake, unflatten({**agui_layer(self.handshake), **tools})
        return self._told[1]

    @property
    def probed(self) -> bool:
        return self.handshake is not None

    async def models(self) -> list[Mapping[str, Any]] | None:
        """As the newest session knows them: an agent tells them to nobody else."""
        listed: list[Mapping[str, Any]] = layer(self._facts).get(MODELS, [])
        return listed or None

    async def availability(self) -> Availability:
        found = await probe(self._definition)
        if found.status == "ready" and self._failure is not None:
            return replace(found, status="broken", reason=self._failure)
        if found.status == "ready" and self._unauthenticated is not None:
            reason, hint = self._unauthenticated.detail, self._unauthenticated.extra.get("hint")
            return replace(found, status="needs-auth", reason=reason, hint=hint)
        return found

    async def open(self, opening: Opening) -> AcpSession:
        """A session: the thread's own if the agent can bring it back, else a new one."""
        connection = await self._connection()
        handshake = self._handshake_of(connection)
        session = AcpSession(connection, handshake, self._definition, opening, self._folder, self._tasks)
        try:
            await session.establish(self)
        except BaseException:
            self.given_up(connection)
            raise
        connection.release()
        self._unauthenticated, self._facts = None, session.reader.facts
        return session

    async def probe(self) -> None:
        """Starts the agent if it never was, for its handshake; the process is kept a while for a first session."""
        if self.handshake is None:
            connection = await self._connection()
            connection.release()
            self.freed(connection)

    async def aclose(self) -> None:
        async with anyio.create_task_group() as tasks:
            for connection in self._connections:
                tasks.start_soon(connection.aclose)
        self._connections.clear()

    # -- processes

    async def _connection(self) -> Connection:
        """One that takes a session, reserved for it: from then on nobody else can have it, or stop it."""
        async with self._starting:
            self._connections = [connection for connection in self._connections if connection.alive]
            connection = next(filter(self._takes_more, self._connections), None)
            if connection is None:
                connection = await self._started()
            connection.reserve()
            return connection

    async def another(self) -> Connection:
        """A process of its own for one session, reserved for it."""
        async with self._starting:
            connection = await self._started()
            connection.reserve()
            return connection

    def given_up(self, connection: Connection) -> None:
        """What it was reserved for came to nothing."""
        connection.release()
        self._tasks.start_soon(self._let_go, connection)

    def _takes_more(self, connection: Connection) -> bool:
        return not connection.full and (self._definition.acp.sessions == "many" or connection.unused)

    async def _started(self) -> Connection:
        try:
            connection = await self._start()
        except AgentFault as exc:
            self._failure = exc.detail
            raise
        self._failure = None
        self._connections.append(connection)
        return connection

    async def _start(self) -> Connection:
        command, acp = self._command, self._definition.acp
        env = trimmed(command.inherit_env, command.env, os.environ)
        await to_thread.run_sync(self._folder.sweep)
        process = await spawn(command.run, cwd=Path.cwd(), env=env, tasks=self._tasks)
        connection = Connection(process, self._tasks)
        connection.start()
        offer = ClientCapabilities(fs_read=acp.fs, fs_write=acp.fs, terminal=acp.terminal)
        try:
            result = await connection.call("initialize", initialize_params(acp.protocol, offer), acp.start_timeout)
        except BaseException:
            self._tasks.start_soon(connection.aclose)  # it may take seconds, and nobody needs to wait for them
            raise
        connection.handshake = self.handshake = read_handshake(result)
        return connection

    def _handshake_of(self, connection: Connection) -> Handshake:
        assert connection.handshake is not None
        return connection.handshake

    async def authenticate(self, connection: Connection, error: AgentFault) -> None:
        """Only when the agent insists, and only by a method that needs no terminal."""
        handshake = self._handshake_of(connection)
        callable_ones = [method for method in handshake.auth_methods if method.type == "agent"]
        wanted = self._definition.acp.auth
        chosen = next((method for method in callable_ones if method.id == wanted), None)
        if chosen is None:
            hints = [auth.hint for auth in self._definition.auth if auth.hint]
            hint = f" {hints[0]}." if hints else ""
            fault = AgentFault(f"{error.detail}.{hint}", code="AUTH_REQUIRED", hint=hints[0] if hints else None)
            self._unauthenticated = fault
            raise fault
        method = "auth/login" if handshake.protocol_version == 2 else "authenticate"
        await connection.call(method, {"methodId": chosen.id}, AUTH_LIMIT)

    def freed(self, connection: Connection) -> None:
        """It has one session less."""
        if connection.unused:
            self._tasks.start_soon(self._retire, connection, connection.uses)

    async def _retire(self, connection: Connection, uses: int) -> None:
        if self._definition.acp.sessions == "many" and connection.alive and not connection.full:
            await anyio.sleep(IDLE_PROCESS)
        if connection.uses == uses:  # else it was used again, and whoever did tells when that is over
            await self._let_go(connection)

    async def _let_go(self, connection: Connection) -> None:
        if connection.unused and connection in self._connections:
            self._connections.remove(connection)
            await connection.aclose()
