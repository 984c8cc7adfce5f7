"""The session of a thread: opened with what its run wants and what the store remembers, kept, released, forgotten.

In: a thread, a turn, the driver of its agent. Out: a session from the pool. The agent's own id of the session is stored
with the thread as soon as it is known, so that a later run, or a later gateway, resumes the conversation.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from anyio import CancelScope

from gateway.catalog.definition import AgentDefinition
from gateway.drivers import Driver, Opening, Session
from gateway.identity import ThreadKey
from gateway.runs.history import read_history
from gateway.runs.interrupts import Interrupts
from gateway.runs.isolation import Isolation
from gateway.runs.outcomes import LastOutcomes
from gateway.runs.session_pool import SessionPool
from gateway.runs.thread_activity import ThreadActivities
from gateway.runs.thread_state import ThreadStates
from gateway.runs.workspaces import Workspaces
from gateway.settings import Settings
from gateway.store.base import Store
from gateway.turn import Turn


class ThreadSessions:
    def __init__(
        self,
        settings: Settings,
        store: Store,
        pool: SessionPool,
        states: ThreadStates,
        outcomes: LastOutcomes,
        activities: ThreadActivities,
        isolation: Isolation,
    ) -> None:
        self._store = store
        self._pool = pool
        self._states = states
        self._outcomes = outcomes
        self._activities = activities
        self._isolation = isolation
        self._workspaces = Workspaces(settings.workspace)

    def get(self, thread: ThreadKey) -> Session | None:
        return self._pool.get(thread)

    def was_resumed(self, thread: ThreadKey) -> bool:
        """The thread's session existed before it was opened here."""
        return self._pool.was_resumed(thread)

    async def acquire(
        self, thread: ThreadKey, turn: Turn, definition: AgentDefinition, driver: Driver, interrupts: Interrupts
    ) -> Session:
        """For one turn; the session is resumed if it is not open. To be followed by `release`."""
        opening = self._opening(thread, turn, definition, interrupts.session, driver.is_local)
        if interrupts.session is not None and not self._pool.has_fitting(thread, driver, opening):
            opening = replace(opening, known=(await read_history(self._store, *thread)).known_ids())
        session = await self._pool.acquire(thread, driver, opening)
        await self.store_id(thread, interrupts)
        return session

    async def release(self, thread: ThreadKey) -> None:
        await self._pool.release(thread)

    async def open_between_runs(self, thread: ThreadKey, definition: AgentDefinition, driver: Driver) -> Session:
        """For requests about the session itself: set its mode, fork it, delete it."""
        turn = Turn(thread.thread_id, "")
        session = await self.acquire(thread, turn, definition, driver, await self._states.load(thread))
        await self._pool.release(thread)
        if self._outcomes.session_opened(thread):
            self._activities.publish(thread)
        return session

    async def store_id(self, thread: ThreadKey, interrupts: Interrupts | None = None) -> None:
        """Stores the id to resume the session by, once the agent has sent it: some send it only in a turn, and some
        change it when the session is set to something."""
        if interrupts is None:
            interrupts = await self._states.load(thread)
        session = self._pool.get(thread)
        if session is not None and interrupts.set_session(session.id):
            with CancelScope(shield=True):  # the session is in use: a caller cancelled here would never release it
                await self._states.save(thread, interrupts)

    async def close(self, thread: ThreadKey) -> bool:
        """Until the thread is used again. False: no session was open."""
        was_open = await self._pool.close(thread)
        self._outcomes.session_released(thread)
        return was_open

    async def forget(self, thread: ThreadKey) -> None:
        """The thread is about to be deleted."""
        await self._pool.close(thread)
        self._outcomes.forget(thread)

    def _opening(
        self, thread: ThreadKey, turn: Turn, definition: AgentDefinition, session_id: str | None, is_local: bool
    ) -> Opening:
        options = turn.options
        if not is_local:
            return Opening(thread.remote_id, session_id=session_id, options=options)
        cwd = self._resolve_cwd(thread, options.cwd)
        directories = self._workspaces.resolve_all(options.additional_directories or ())
        return Opening(
            turn.thread_id,
            cwd=cwd,
            additional_directories=directories,
            mcp_servers=options.mcp_servers or (),
            session_id=options.session_id or options.fork_session_id or session_id,
            fork=options.fork_session_id is not None,
            options=options,
            tools=tuple(turn.tools),
            confinement=self._isolation.confine(definition, thread, cwd, options, directories),
        )

    def _resolve_cwd(self, thread: ThreadKey, path: str | None) -> Path:
        """A run that names no folder goes on in the one that its session is open in."""
        opening = self._pool.opening(thread) if path is None else None
        return self._workspaces.resolve(path) if opening is None else opening.cwd
