"""A command-line agent: its processes, and the sessions on them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from gateway.background import Tasks
from gateway.capability_paths import STEERING, unflatten
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.base import Opening
from gateway.drivers.cli.command import Added
from gateway.drivers.cli.connection import Connection
from gateway.drivers.cli.launch import Launcher
from gateway.drivers.cli.session import CliSession
from gateway.drivers.probe import Availability, probe
from gateway.errors import AgentFault

IDLE_PROCESS = 300.0
"""A process without a session is kept so long for the next one, where one serves them all."""
MODELS_LIMIT = 60.0


class CliDriver:
    question_window = 0.05
    local = True
    remote_proxy = None

    def __init__(self, definition: AgentDefinition, tasks: Tasks) -> None:
        self._definition, self._tasks = definition, tasks
        self._launcher = Launcher(definition, tasks)
        self._links: list[Connection] = []
        self._starting = anyio.Lock()
        self._failure: str | None = None
        self._announced: dict[str, Any] = {"custom.gateway.steering": True} if self._launcher.dialect.can_steer else {}
        self._sessions: list[CliSession] = []
        self._spoken = False

    # -- as the house sees it

    async def handshake_layer(self) -> Mapping[str, Any]:
        for session in self._sessions:
            self._announced |= session.dialect.handshake_layer
        return unflatten(self._announced)

    @property
    def probed(self) -> bool:
        return self._spoken or self._launcher.cli.process == "turn"

    async def probe(self) -> None:
        """Starts the agent without a prompt, for what it says of itself then."""
        if not self.probed:
            with tempfile.TemporaryDirectory(prefix="agui-gateway-") as folder:
                session = await self.open(Opening("probe", cwd=Path(folder)))
                with anyio.CancelScope(shield=True):  # whoever gave up waiting must not leave a process behind
                    await session.aclose()

    async def availability(self) -> Availability:
        found = await probe(self._definition)
        if found.status == "ready" and self._failure is not None:
            return replace(found, status="broken", reason=self._failure)
        return found

    async def models(self) -> list[Mapping[str, Any]] | None:
        if "models" not in self._launcher.dialect.actions:
            return None
        with tempfile.TemporaryDirectory(prefix="agui-gateway-") as folder:
            session = await self.open(Opening("models", cwd=Path(folder)))
            try:
                listed = await session.do("models", {}, MODELS_LIMIT)
            finally:
                with anyio.CancelScope(shield=True):  # whoever gave up waiting must not leave a process behind
                    await session.aclose()
        return listed if isinstance(listed, list) else []

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
        self._failure, self._spoken = None, True
        self._sessions = [held for held in self._sessions if held.alive][-100:]
        self._sessions.append(session)
        self._announced |= session.dialect.handshake_layer
        return session

    async def aclose(self) -> None:
        async with anyio.create_task_group() as tasks:
            for link in self._links:
                tasks.start_soon(link.aclose)
        self._links.clear()

    # -- processes

    async def take(self, cwd: Path, extra: Added) -> Connection:
        """One for a session: its own, or the one that serves all."""
        if self._launcher.cli.process != "agent":
            link = await self._launcher.launch(cwd, extra)
            self._links.append(link)
            return link
        async with self._starting:
            self._links = [link for link in self._links if link.alive]
            for held in self._links:
                if not held.full:
                    return held
            link = await self._launcher.launch(Path.cwd(), Added())
            self._links.append(link)
            return link

    def give_back(self, link: Connection) -> None:
        """It has one session less. One that serves a single session is closed by it."""
        if not link.alive or self._launcher.cli.process != "agent":
            if link in self._links:
                self._links.remove(link)
        elif link.unused:
            self._tasks.start_soon(self._retire, link, link.uses)

    async def _retire(self, link: Connection, uses: int) -> None:
        if not link.full:
            await anyio.sleep(IDLE_PROCESS)
        if link.unused and link.uses == uses and link in self._links:
            self._links.remove(link)
            await link.aclose()
