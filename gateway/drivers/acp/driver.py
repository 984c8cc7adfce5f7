"""An agent reached over ACP: its processes, its handshake, the sessions on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
from anyio import to_thread

from gateway.background import Tasks
from gateway.capability_paths import ACP, MODEL, MODELS, unflatten
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.acp.client_tools import ListingHabit
from gateway.drivers.acp.connection import Connection
from gateway.drivers.acp.corrections import capability_layer
from gateway.drivers.acp.session import AcpSession
from gateway.drivers.base import Opening
from gateway.drivers.client_tools import ExistingDirectory, SocketDirectory
from gateway.drivers.confinement import UNTRUSTED, Launch, start_confined
from gateway.drivers.empty_folder import EmptyFolder
from gateway.drivers.environment import agent_environment
from gateway.drivers.homes import Home, agent_environ
from gateway.drivers.probe import Availability, probe
from gateway.errors import AgentFault
from gateway.wire.acp.initialize import ClientCapabilities, Handshake, initialize_params
from gateway.wire.acp.session_state import SessionState, session_layer

IDLE_PROCESS_SECONDS = 300.0
"""How long a process without a session is kept for the next one: starting one takes seconds."""
AUTHENTICATE_TIMEOUT_SECONDS = 120.0
"""An agent may open a browser and wait for the user, but not for ever."""


class AcpDriver:
    question_window = 0.05
    is_local = True
    transport_index = 0
    remote_proxy = None

    def __init__(self, definition: AgentDefinition, tasks: Tasks) -> None:
        assert definition.command is not None  # the definition was checked
        self._definition = definition
        self._command = definition.command
        self._tasks = tasks
        self._connections: list[Connection] = []
        self._start_lock = anyio.Lock()
        self._failure: str | None = None
        self._auth_faults: dict[Home | None, AgentFault] = {}
        """Home → why the user whose home it is has to sign in."""
        self._handshake: Handshake | None = None
        self._layer: tuple[Handshake, Mapping[str, Any]] | None = None
        """A handshake and its layer, made once: every snapshot reads it."""
        self._newest_state = SessionState()
        self.listing = ListingHabit()
        self._socket_directory = SocketDirectory()
        self._empty_folder = EmptyFolder()

    async def handshake_layer(self) -> Mapping[str, Any]:
        if self._handshake is None:
            return {}
        if self._layer is None or self._layer[0] is not self._handshake:
            added: dict[str, Any] = {}
            if self._definition.acp.directory is not None:
                added[f"{ACP}.additionalDirectories"] = True  # by the command, whatever the handshake has
            layer = {**capability_layer(self._handshake, self._definition), **added}
            self._layer = self._handshake, unflatten(layer)
        return self._layer[1]

    @property
    def is_probed(self) -> bool:
        return self._handshake is not None

    async def models(self) -> list[Mapping[str, Any]] | None:
        """Those of the newest session: an agent lists its models only to a session. Where there was none yet, one is
        opened in an empty folder, and closed."""
        if not _listed_models(self._newest_state):
            folder = await to_thread.run_sync(self._empty_folder.path)
            session = await self.open(Opening("models", cwd=folder))
            with anyio.CancelScope(shield=True):  # a caller that is cancelled must not leave a session behind
                await session.aclose()
        return _listed_models(self._newest_state) or None

    async def availability(self, home: Home | None = None) -> Availability:
        result = await probe(self._definition, await to_thread.run_sync(agent_environ, self._definition, home))
        if result.status == "ready" and self._failure is not None:
            return replace(result, status="broken", reason=self._failure)
        if result.status == "ready" and (fault := self._auth_faults.get(home)) is not None:
            return replace(result, status="needs-auth", reason=fault.detail, hint=fault.extra.get("hint"))
        return result

    async def open(self, opening: Opening) -> AcpSession:
        """The thread's own session if the agent can resume it, else a new one."""
        connection = await self._reserve_connection(opening)
        exchange = opening.confinement.exchange
        directory = self._socket_directory if exchange is None else ExistingDirectory(exchange)
        session = AcpSession(connection, self._definition, opening, directory, self, self._tasks)
        try:
            await session.establish()
        except BaseException:
            self.cancel_reservation(connection)
            raise
        connection.release()
        self._auth_faults.pop(opening.confinement.home, None)
        self._newest_state = session.reader.state
        return session

    async def probe(self) -> None:
        """Starts the agent for its handshake, if it never was. The process is kept a while for the first session
        that is confined as it is."""
        if self._handshake is None:
            connection = await self._reserve_connection(None)
            connection.release()
            self.session_ended(connection)

    async def aclose(self) -> None:
        async with anyio.create_task_group() as tasks:
            for connection in self._connections:
                tasks.start_soon(connection.aclose)
        self._connections.clear()
        await to_thread.run_sync(self._empty_folder.remove)

    # -- as its sessions see it

    async def reserve_new_connection(self, opening: Opening) -> Connection:
        async with self._start_lock:
            connection = await self._start_connection(opening)
            connection.reserve()
            return connection

    def cancel_reservation(self, connection: Connection) -> None:
        connection.release()
        self._tasks.start_soon(self._close_unused, connection)

    def session_ended(self, connection: Connection) -> None:
        if connection.is_unused:
            self._tasks.start_soon(self._close_when_idle, connection, connection.uses)

    async def authenticate(self, connection: Connection, error: AgentFault) -> None:
        """Only when the agent requires it, and only by a method that needs no terminal."""
        handshake = connection.handshake
        configured = self._definition.acp.auth_method
        methods = [method for method in handshake.auth_methods if method.type == "agent" and method.id == configured]
        if not methods:
            hints = [auth.hint for auth in self._definition.auth if auth.hint]
            hint = f" {hints[0]}." if hints else ""
            fault = AgentFault(f"{error.detail}.{hint}", code="AUTH_REQUIRED", hint=hints[0] if hints else None)
            self._auth_faults[connection.confinement.home] = fault
            raise fault
        request = "auth/login" if handshake.protocol_version == 2 else "authenticate"
        await connection.call(request, {"methodId": methods[0].id}, AUTHENTICATE_TIMEOUT_SECONDS)

    # -- processes

    async def _reserve_connection(self, opening: Opening | None) -> Connection:
        """A connection that takes a session, reserved for it: until `release` it is neither shared nor stopped.
        `opening`: of the session; None: it is for no session."""
        async with self._start_lock:
            self._connections = [connection for connection in self._connections if connection.is_alive]
            usable = [each for each in self._connections if self._takes_session(each, opening)]
            if opening is not None and (session_id := opening.session_id) is not None and not opening.fork:
                usable = [each for each in usable if self._may_resume(each, opening, session_id)]
                usable.sort(key=lambda each: each.held.get(session_id) is None)
            connection = next(iter(usable), None)
            if connection is None:
                connection = await self._start_connection(opening)
            connection.reserve()
            return connection

    def _takes_session(self, connection: Connection, opening: Opening | None) -> bool:
        confinement = UNTRUSTED if opening is None else opening.confinement
        if connection.is_full or connection.confinement != confinement:
            return False
        if connection.arguments != self._directory_arguments(opening):
            return False
        return self._definition.acp.sessions_per_process == "many" or connection.is_unused

    def _may_resume(self, connection: Connection, opening: Opening, session_id: str) -> bool:
        """Not where the session is open already, with other parameters, and cannot be closed."""
        held = connection.held.get(session_id)
        if held is None or connection.handshake.close:
            return True
        location = held.location
        return (
            not opening.tools
            and location.get("cwd") == str(opening.cwd)
            and location.get("mcpServers") == list(opening.mcp_servers)
        )

    def _directory_arguments(self, opening: Opening | None) -> tuple[str, ...]:
        """Arguments for the session's additional directories, where the agent takes them only in its command."""
        flag = self._definition.acp.directory
        directories = () if flag is None or opening is None else opening.additional_directories
        parts = () if flag is None else flag.args
        return tuple(part.replace("{path}", str(folder)) for folder in directories for part in parts)

    async def _start_connection(self, opening: Opening | None) -> Connection:
        try:
            connection = await self._spawn(opening)
        except AgentFault as exc:
            self._failure = exc.detail
            raise
        self._failure = None
        self._connections.append(connection)
        return connection

    async def _spawn(self, opening: Opening | None) -> Connection:
        command, acp = self._command, self._definition.acp
        confinement, cwd = (UNTRUSTED, None) if opening is None else (opening.confinement, opening.cwd)
        arguments = self._directory_arguments(opening)
        if cwd is None or acp.sessions_per_process == "many":  # other sessions on it have other folders
            cwd = await to_thread.run_sync(self._empty_folder.path)
        environ = await to_thread.run_sync(agent_environ, self._definition, confinement.home)
        env = agent_environment(command.inherit_env, command.env, environ)
        await to_thread.run_sync(self._socket_directory.remove_stale)
        launch = Launch((*command.run, *arguments), env, cwd)
        process = await start_confined(launch, self._definition, confinement, self._tasks)
        connection = Connection(process, self._tasks, confinement, arguments)
        connection.start()
        capabilities = ClientCapabilities(fs_read=acp.fs, fs_write=acp.fs, terminal=acp.terminal)
        try:
            params = initialize_params(acp.protocol, capabilities)
            self._handshake = await connection.initialize(params, acp.start_timeout)
        except BaseException:
            self._tasks.start_soon(connection.aclose)  # it may take seconds, and the caller need not wait for them
            raise
        return connection

    async def _close_when_idle(self, connection: Connection, uses: int) -> None:
        if self._definition.acp.sessions_per_process == "many" and connection.is_alive and not connection.is_full:
            await anyio.sleep(IDLE_PROCESS_SECONDS)
        if connection.uses == uses:  # else it was used again, and the end of that use starts another such task
            await self._close_unused(connection)

    async def _close_unused(self, connection: Connection) -> None:
        if connection.is_unused and connection in self._connections:
            self._connections.remove(connection)
            await connection.aclose()


def _listed_models(state: SessionState) -> list[Mapping[str, Any]]:
    """The models of a session, the current one of them marked."""
    layer = session_layer(state)
    current = layer.get(MODEL)
    models: list[Mapping[str, Any]] = layer.get(MODELS, [])
    return [{**model, "default": model["id"] == current} for model in models]
