"""The threads' sessions with their agents: kept between runs where that pays, closed when idle, resumed later."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial

import anyio

from gateway.background import Tasks
from gateway.drivers import Driver, Opening, Session
from gateway.drivers.mcp_client import McpServers, SessionServers
from gateway.errors import Busy, Conflict, GatewayError, LimitReached
from gateway.events import Layer
from gateway.identity import ThreadKey
from gateway.limits import SESSIONS, Hold, PrincipalLimits
from gateway.runs.session_secrets import SessionSecrets
from gateway.runs.tool_observer import ObservedSession
from gateway.settings import Settings

log = logging.getLogger(__name__)


@dataclass(slots=True)
class PooledSession:
    session: ObservedSession
    driver: Driver
    opening: Opening
    last_used: float
    hold: Hold
    """Its place among the sessions of its principal."""
    users: int = 1

    def add_user(self) -> None:
        self.users += 1

    def remove_user(self) -> None:
        self.users = max(0, self.users - 1)
        self.last_used = time.monotonic()

    def is_idle(self, since: float) -> bool:
        return not self.users and (self.last_used < since or not self.session.is_alive)

    def fits(self, opening: Opening) -> bool:
        """The session is open as this run wants it. An option that the run leaves out may have any value."""
        options = opening.options
        current = self.opening
        return (
            (options.cwd is None or opening.cwd == current.cwd)
            and opening.confinement == current.confinement
            and (
                options.additional_directories is None
                or opening.additional_directories == current.additional_directories
            )
            and (options.mcp_servers is None or opening.mcp_servers == current.mcp_servers)
            and options.session_id in (None, self.session.id)
            and (options.fork_session_id is None or options.fork_session_id == current.options.fork_session_id)
        )


class SessionPool:
    def __init__(
        self,
        settings: Settings,
        tasks: Tasks,
        on_change: Callable[[str], None] = lambda agent: None,
        limits: PrincipalLimits | None = None,
    ) -> None:
        """`on_change`: called with the agent's id whenever one of its sessions changes."""
        self._settings = settings
        self._on_change = on_change
        self._limits = limits or PrincipalLimits(settings)
        self._servers = McpServers(
            tasks,
            private=settings.allow_private_addresses,
            stdio=settings.probe_mcp_stdio,
            max_servers=settings.max_mcp_servers,
            limits=self._limits,
        )
        self._pooled: dict[ThreadKey, PooledSession] = {}
        self._changing: dict[ThreadKey, anyio.Event] = {}
        """Threads whose session is being opened or closed; other callers wait for that."""
        self._opening_sessions: dict[tuple[str, str], ThreadKey] = {}
        """(agent, session id) → the thread that is about to resume it."""
        self._closing_drivers: dict[Driver, anyio.Event] = {}
        """Drivers that are to be closed; the event is set when one of their sessions was released."""

    def get(self, thread: ThreadKey) -> Session | None:
        pooled = self._pooled.get(thread)
        return pooled.session if pooled is not None and pooled.session.is_alive else None

    def opening(self, thread: ThreadKey) -> Opening | None:
        """The parameters of the thread's open session."""
        pooled = self._pooled.get(thread)
        return pooled.opening if pooled is not None and pooled.session.is_alive else None

    def require_free(self, thread: ThreadKey, session_id: str) -> None:
        """Raises `Conflict` where the session is open in another thread: its updates have one reader."""
        other = self._opening_sessions.get((thread.agent, session_id)) or self._find_thread(thread.agent, session_id)
        if other is None or other == thread:
            return
        name = "another thread" if other.principal != thread.principal else f"the thread {other.thread_id!r}"
        raise Conflict(
            f"the session {session_id!r} is open in {name}: close it there first (POST …/close), or copy it with "
            "forkSessionId",
            code="SESSION_OPEN",
        )

    def _find_thread(self, agent: str, session_id: str) -> ThreadKey | None:
        for thread, pooled in self._pooled.items():
            is_same = thread.agent == agent and pooled.opening.is_exclusive and pooled.session.id == session_id
            if is_same and pooled.session.is_alive:
                return thread
        return None

    def was_resumed(self, thread: ThreadKey) -> bool:
        """The agent resumed the session that was requested, rather than beginning a new one."""
        pooled = self._pooled.get(thread)
        if pooled is None or pooled.session.id is None:
            return False
        return pooled.opening.session_id == pooled.session.id

    def has_fitting(self, thread: ThreadKey, driver: Driver, opening: Opening) -> bool:
        """A session is open that a run with these options can use; or one is in use, and must not be closed."""
        pooled = self._pooled.get(thread)
        if pooled is None or not pooled.session.is_alive:
            return False
        return pooled.users > 0 or (pooled.driver is driver and pooled.fits(opening))

    async def acquire(
        self, thread: ThreadKey, driver: Driver, opening: Opening, stated: Layer | None = None
    ) -> Session:
        """The thread's session: the open one, or one that is opened now. A session with another folder, or with other
        MCP servers, than this run wants is closed, and its conversation resumed in a new one. `stated`: what the
        gateway itself states of the session."""
        async with self._alone(thread):
            if self.has_fitting(thread, driver, opening):
                pooled = self._pooled[thread]
                pooled.add_user()
                return pooled.session
            if (old := self._pooled.pop(thread, None)) is not None:
                old.session.leave_servers()
                if old.session.is_alive:
                    await self._close_session(old)
                old.hold.release()
            secrets = SessionSecrets(opening.mcp_servers, opening.confinement.exchange)
            with ExitStack() as undo:
                hold = undo.enter_context(await self._take_place(thread))
                with self._claim_session(thread, opening), secrets.removed_on_error():
                    session = await driver.open(await secrets.hide(opening))
                undo.pop_all()
            servers = self._use_servers(thread, opening)
            observed = ObservedSession(session, servers, secrets, stated, opening.confinement.sandbox)
            self._pooled[thread] = PooledSession(observed, driver, opening, time.monotonic(), hold)
            return observed

    def check_room(self, thread: ThreadKey) -> None:
        """Raises `LimitReached` or `Busy` if the thread needs a session, and all that its principal may have are in
        use."""
        if thread in self._pooled:
            return
        try:
            self._limits.check(SESSIONS, thread.principal)
        except (LimitReached, Busy):
            if self._oldest_idle(thread.principal) is None:
                raise

    async def _take_place(self, thread: ThreadKey) -> Hold:
        """A place among the sessions of the thread's principal, whose oldest idle session is closed for it. Raises
        `LimitReached` or `Busy`."""
        while True:
            try:
                return self._limits.acquire(SESSIONS, thread.principal)
            except (LimitReached, Busy):
                idle = self._oldest_idle(thread.principal)
                if idle is None:
                    raise
                await self.close(idle, math.inf)

    def _oldest_idle(self, principal: str) -> ThreadKey | None:
        return next((thread for thread in self.idle_threads() if thread.principal == principal), None)

    @contextmanager
    def _claim_session(self, thread: ThreadKey, opening: Opening) -> Iterator[None]:
        """While the session is being opened. Raises `Conflict` before anything is sent to the agent."""
        if opening.session_id is None or opening.fork or not opening.is_exclusive:
            yield
            return
        self.require_free(thread, opening.session_id)
        name = thread.agent, opening.session_id
        self._opening_sessions[name] = thread
        try:
            yield
        finally:
            del self._opening_sessions[name]

    def _use_servers(self, thread: ThreadKey, opening: Opening) -> SessionServers | None:
        """After the session is open, because the agent starts the same servers: of a server that can run only once, the
        agent's instance must be the one."""
        if not opening.mcp_servers:
            return None
        on_change = partial(self._on_change, thread.agent)
        sandbox = opening.confinement.sandbox
        return self._servers.use(opening.mcp_servers, opening.cwd, on_change, thread.principal, sandbox)

    async def release(self, thread: ThreadKey) -> None:
        """After a turn. A session that costs nothing to open is closed."""
        pooled = self._pooled.get(thread)
        if pooled is None:
            return
        pooled.remove_user()
        self._on_change(thread.agent)
        if (released := self._closing_drivers.get(pooled.driver)) is not None:
            released.set()
        if not pooled.session.reusable or not pooled.session.is_alive:
            await self.close(thread)

    async def close_driver_sessions(self, driver: Driver) -> None:
        """Closes all sessions of the driver, each when its turn is over; also of a turn that waits for an answer."""
        while threads := [thread for thread, pooled in self._pooled.items() if pooled.driver is driver]:
            released = self._closing_drivers[driver] = anyio.Event()
            for thread in threads:
                await self.close(thread, math.inf)
            if any(pooled.driver is driver for pooled in self._pooled.values()):
                await released.wait()
        self._closing_drivers.pop(driver, None)

    async def close(self, thread: ThreadKey, unused_since: float | None = None) -> bool:
        """`unused_since`: only if the session was not used after that. False: no session was closed."""
        async with self._alone(thread):
            pooled = self._pooled.get(thread)
            if pooled is None or (unused_since is not None and not pooled.is_idle(unused_since)):
                return False
            del self._pooled[thread]
            await self._close_session(pooled)
            return True

    async def _close_session(self, pooled: PooledSession) -> None:
        pooled.session.leave_servers()
        try:
            await pooled.session.aclose()
        except GatewayError as exc:
            log.info("a session could not be closed: %s", exc.detail)
        finally:
            pooled.hold.release()

    def idle_threads(self, since: float = math.inf) -> list[ThreadKey]:
        """The threads whose session was not used after that, the one that was used first at the beginning."""
        idle = [
            (pooled.last_used, thread)
            for thread, pooled in self._pooled.items()
            if thread not in self._changing and pooled.is_idle(since)
        ]
        return [thread for _, thread in sorted(idle)]

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
            self._on_change(thread.agent)

    async def aclose(self) -> None:
        async with anyio.create_task_group() as tasks:
            for thread in list(self._pooled):
                tasks.start_soon(self.close, thread)
