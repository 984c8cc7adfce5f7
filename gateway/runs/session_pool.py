"""Threads' sessions with their agents: kept between runs where that is worth it, closed when idle, brought back."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import anyio

from gateway.background import Tasks
from gateway.drivers import Driver, Opening, Session
from gateway.drivers.mcp_client import McpServers
from gateway.errors import GatewayError
from gateway.runs.thread_state import ThreadKey
from gateway.runs.tool_observer import ObservedSession
from gateway.settings import Settings

log = logging.getLogger(__name__)

LOOK_EVERY = 0.1
"""Of the idle bound: how late a session may be closed."""


@dataclass(slots=True)
class PooledSession:
    session: ObservedSession
    driver: Driver
    opening: Opening
    used: float
    users: int = 1

    def idle(self, since: float) -> bool:
        return not self.users and (self.used < since or not self.session.is_alive)

    def fits(self, wanted: Opening) -> bool:
        """It is as this run wants it. What a run does not say stays as it is."""
        asked, mine = wanted.options, self.opening
        return (
            (asked.cwd is None or wanted.cwd == mine.cwd)
            and (asked.additional_directories is None or wanted.additional_directories == mine.additional_directories)
            and (asked.mcp_servers is None or wanted.mcp_servers == mine.mcp_servers)
            and asked.session_id in (None, self.session.id)
            and (asked.fork_session_id is None or asked.fork_session_id == mine.options.fork_session_id)
        )

    def at(self, driver: Driver) -> bool:
        """With this one; else the agent was replaced since."""
        return self.driver is driver


class SessionPool:
    def __init__(self, settings: Settings, touch: Callable[[str], None], tasks: Tasks) -> None:
        """`touch`: is told of every agent with whom a session is another now."""
        self._settings, self._touch = settings, touch
        self._servers = McpServers(tasks, private=settings.allow_private_addresses, stdio=settings.probe_mcp_stdio)
        self._held: dict[ThreadKey, PooledSession] = {}
        self._changing: dict[ThreadKey, anyio.Event] = {}
        """Threads whose session is being opened or closed: whoever comes meanwhile waits for that."""
        self._leaving: dict[Driver, anyio.Event] = {}
        """Drivers that are to be closed → one of their sessions was given back."""

    def get(self, thread: ThreadKey) -> Session | None:
        held = self._held.get(thread)
        return held.session if held is not None and held.session.is_alive else None

    def was_resumed(self, thread: ThreadKey) -> bool:
        """It is the one that its opening asked for, and no new one in its place."""
        held = self._held.get(thread)
        return held is not None and held.session.id is not None and held.opening.session_id == held.session.id

    def fits(self, thread: ThreadKey, driver: Driver, opening: Opening) -> bool:
        """One is open that a run with these wishes can have; or somebody has it, and must not lose it."""
        held = self._held.get(thread)
        if held is None or not held.session.is_alive:
            return False
        return held.users > 0 or (held.at(driver) and held.fits(opening))

    async def take(self, thread: ThreadKey, driver: Driver, opening: Opening) -> Session:
        """The thread's session: the one that is open, or one that is opened now. One that was opened elsewhere, or with
        other servers, than this run wants is closed, and its conversation brought back where it is wanted."""
        async with self._alone(thread):
            if self.fits(thread, driver, opening):
                held = self._held[thread]
                held.users += 1
                return held.session
            if (old := self._held.pop(thread, None)) is not None:
                old.session.leave()
                if old.session.is_alive:
                    await self._end(old)
            session = await driver.open(opening)
            # After that, for the agent starts its own: what there can be only one of must be the agent's.
            servers = self._servers.use(opening.mcp_servers, opening.cwd, partial(self._touch, thread.agent))
            held = self._held[thread] = PooledSession(
                ObservedSession(session, servers), driver, opening, time.monotonic()
            )
            return held.session

    async def give_back(self, thread: ThreadKey) -> None:
        """After a turn. A session that costs nothing to open is not kept."""
        held = self._held.get(thread)
        if held is None:
            return
        held.users, held.used = max(0, held.users - 1), time.monotonic()
        self._touch(thread.agent)
        if (leaving := self._leaving.get(held.driver)) is not None:
            leaving.set()
        if not held.session.reusable or not held.session.is_alive:
            await self.close(thread)

    async def close_driver_sessions(self, driver: Driver) -> None:
        """Closes all sessions that the driver has, each when its turn is over: one that waits for an answer too."""
        while mine := [thread for thread, held in self._held.items() if held.at(driver)]:
            given_back = self._leaving[driver] = anyio.Event()
            for thread in mine:
                await self.close(thread, math.inf)
            if any(held.at(driver) for held in self._held.values()):
                await given_back.wait()
        self._leaving.pop(driver, None)

    async def close(self, thread: ThreadKey, unused_since: float | None = None) -> bool:
        """`unused_since`: only if nobody has used it after that."""
        async with self._alone(thread):
            held = self._held.get(thread)
            if held is None or (unused_since is not None and not held.idle(unused_since)):
                return False
            del self._held[thread]
            await self._end(held)
            return True

    async def _end(self, held: PooledSession) -> None:
        held.session.leave()
        try:
            await held.session.aclose()
        except GatewayError as exc:
            log.info("a session could not be closed: %s", exc.detail)

    async def close_idle_for_ever(self) -> None:
        bound = self._settings.session_idle_timeout
        while True:
            await anyio.sleep(bound * LOOK_EVERY)
            old = time.monotonic() - bound
            async with anyio.create_task_group() as tasks:  # one that is slow to close must not keep the others
                for thread in [key for key, held in self._held.items() if held.idle(old)]:
                    tasks.start_soon(self.close, thread, old)

    @asynccontextmanager
    async def _alone(self, thread: ThreadKey) -> AsyncIterator[None]:
        while (other := self._changing.get(thread)) is not None:
            await other.wait()
        done = self._changing[thread] = anyio.Event()
        try:
            yield
        finally:
            del self._changing[thread]
            done.set()
            self._touch(thread.agent)

    async def aclose(self) -> None:
        async with anyio.create_task_group() as tasks:
            for thread in list(self._held):
                tasks.start_soon(self.close, thread)
