"""A command-line agent: its processes, and the sessions on them."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from gateway.background import Tasks
from gateway.capability_paths import STEERING, unflatten
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.base import Opening
from gateway.drivers.cli.command import LaunchArguments
from gateway.drivers.cli.connection import Connection
from gateway.drivers.cli.launch import Launcher
from gateway.drivers.cli.session import CliSession
from gateway.drivers.confinement import Confinement
from gateway.drivers.empty_folder import EmptyFolder, make_empty_folder
from gateway.drivers.homes import Home, agent_environ
from gateway.drivers.probe import Availability, probe
from gateway.errors import AgentFault

IDLE_PROCESS_SECONDS = 300.0
"""How long a process without a session is kept for the next one, where one process serves them all."""
MODELS_TIMEOUT_SECONDS = 60.0
MAX_READ_SESSIONS = 100
"""Open sessions that are read for the agent's statements; the newest ones."""


class CliDriver:
    question_window = 0.05
    is_local = True
    transport_index = 0
    remote_proxy = None

    def __init__(self, definition: AgentDefinition, tasks: Tasks) -> None:
        self._definition = definition
        self._tasks = tasks
        self._launcher = Launcher(definition, tasks)
        self._connections: list[Connection] = []
        self._start_lock = anyio.Lock()
        self._failure: str | None = None
        self._layer: dict[str, Any] = {STEERING: True} if self._launcher.dialect.can_steer else {}
        self._sessions: list[CliSession] = []
        self._has_started = False
        self._empty_folder = EmptyFolder()

    async def handshake_layer(self) -> Mapping[str, Any]:
        for session in self._sessions:
            self._layer |= session.handshake_layer
        return unflatten(self._layer)

    @property
    def is_probed(self) -> bool:
        return self._has_started or self._launcher.cli.process == "turn"

    async def probe(self) -> None:
        """Starts the agent without a prompt: it states its capabilities then."""
        if not self.is_probed:
            async with self._temporary_session("probe"):
                pass

    async def availability(self, home: Home | None = None) -> Availability:
        result = await probe(self._definition, await to_thread.run_sync(agent_environ, self._definition, home))
        if result.status == "ready" and self._failure is not None:
            return replace(result, status="broken", reason=self._failure)
        return result

    async def models(self) -> list[Mapping[str, Any]] | None:
        if "models" not in self._launcher.dialect.actions:
            return None
        async with self._temporary_session("models") as session:
            models = await session.run_action("models", {}, MODELS_TIMEOUT_SECONDS)
        return models if isinstance(models, list) else []

    @asynccontextmanager
    async def _temporary_session(self, thread_id: str) -> AsyncIterator[CliSession]:
        folder = await to_thread.run_sync(make_empty_folder)
        try:
            session = await self.open(Opening(thread_id, cwd=folder))
            try:
                yield session
            finally:
                with anyio.CancelScope(shield=True):  # a caller that is cancelled must not leave a process behind
                    await session.aclose()
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True))

    async def open(self, opening: Opening) -> CliSession:
        session = CliSession(self._launcher, self, opening, self._tasks)
        try:
            await session.establish()
        except BaseException as exc:
            with anyio.CancelScope(shield=True):
                await session.aclose()
            if isinstance(exc, AgentFault) and exc.code != "AUTH_REQUIRED":
                self._failure = exc.detail
            raise
        self._failure = None
        self._has_started = True
        open_sessions = [each for each in self._sessions if each.is_alive]
        self._sessions = [*open_sessions[-MAX_READ_SESSIONS:], session]
        self._layer |= session.handshake_layer
        return session

    async def aclose(self) -> None:
        async with anyio.create_task_group() as tasks:
            for connection in self._connections:
                tasks.start_soon(connection.aclose)
        self._connections.clear()
        await to_thread.run_sync(self._empty_folder.remove)

    # -- processes, as its sessions see them

    async def acquire(self, cwd: Path, arguments: LaunchArguments, confinement: Confinement) -> Connection:
        """A process of the session's own, or the one that serves all sessions."""
        if self._launcher.cli.process != "agent":
            return await self._launch(cwd, arguments, confinement)
        async with self._start_lock:
            self._connections = [connection for connection in self._connections if connection.is_alive]
            for connection in self._connections:
                has_room = not connection.is_full and connection.confinement == confinement
                if has_room and connection.arguments == arguments:
                    return connection
            folder = await to_thread.run_sync(self._empty_folder.path)
            return await self._launch(folder, arguments, confinement)

    async def _launch(self, cwd: Path, arguments: LaunchArguments, confinement: Confinement) -> Connection:
        connection = await self._launcher.launch(cwd, arguments, confinement)
        self._connections.append(connection)
        return connection

    def release(self, connection: Connection) -> None:
        """It has one session fewer. A process that serves a single session is closed by that session."""
        if not connection.is_alive or self._launcher.cli.process != "agent":
            if connection in self._connections:
                self._connections.remove(connection)
        elif connection.is_unused:
            self._tasks.start_soon(self._close_when_idle, connection, connection.uses)

    async def _close_when_idle(self, connection: Connection, uses: int) -> None:
        if not connection.is_full:
            await anyio.sleep(IDLE_PROCESS_SECONDS)
        if connection.is_unused and connection.uses == uses and connection in self._connections:
            self._connections.remove(connection)
            await connection.aclose()
