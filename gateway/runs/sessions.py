"""Threads' sessions with their agents: kept between runs where that is worth it, closed when idle, brought back."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from gateway.drivers import Driver, Opening, Session
from gateway.errors import GatewayError
from gateway.runs.threads import ThreadKey
from gateway.settings import Settings

log = logging.getLogger(__name__)

LOOK_EVERY = 0.1
"""Of the idle bound: how late a session may be closed."""


@dataclass(slots=True)
class Held:
    session: Session
    opening: Opening
    used: float
    users: int = 1

    def idle(self, since: float) -> bool:
        return not self.users and self.used < since

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


class Sessions:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._held: dict[ThreadKey, Held] = {}
        self._changing: dict[ThreadKey, anyio.Event] = {}
        """Threads whose session is being opened or closed: whoever comes meanwhile waits for that."""

    def get(self, thread: ThreadKey) -> Session | None:
        held = self._held.get(thread)
        return held.session if held is not None and held.session.alive else None

    def fits(self, thread: ThreadKey, opening: Opening) -> bool:
        """One is open that a run with these wishes can have; or somebody has it, and must not lose it."""
        held = self._held.get(thread)
        return held is not None and held.session.alive and (held.users > 0 or held.fits(opening))

    async def take(self, thread: ThreadKey, driver: Driver, opening: Opening) -> Session:
        """The thread's session: the one that is open, or one that is opened now. One that was opened elsewhere, or with
        other servers, than this run wants is closed, and its conversation brought back where it is wanted."""
        async with self._alone(thread):
            if self.fits(thread, opening):
                held = self._held[thread]
                held.users += 1
                return held.session
            if (old := self._held.pop(thread, None)) is not None and old.session.alive:
                await self._end(old)
            session = await driver.open(opening)
            self._held[thread] = Held(session, opening, time.monotonic())
            return session

    async def give_back(self, thread: ThreadKey) -> None:
        """After a turn. A session that costs nothing to open is not kept."""
        held = self._held.get(thread)
        if held is None:
            return
        held.users, held.used = max(0, held.users - 1), time.monotonic()
        if not held.session.kept or not held.session.alive:
            await self.close(thread)

    async def close(self, thread: ThreadKey, unused_since: float | None = None) -> bool:
        """`unused_since`: only if nobody has used it after that."""
        async with self._alone(thread):
            held = self._held.get(thread)
            if held is None or (unused_since is not None and not held.idle(unused_since)):
                return False
            del self._held[thread]
            await self._end(held)
            return True

    async def _end(self, held: Held) -> None:
        try:
            await held.session.aclose()
        except GatewayError as exc:
            log.info("a session could not be closed: %s", exc.detail)

    async def close_idle_for_ever(self) -> None:
        bound = self._settings.session_idle
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

    async def aclose(self) -> None:
        async with anyio.create_task_group() as tasks:
            for thread in list(self._held):
                tasks.start_soon(self.close, thread)
