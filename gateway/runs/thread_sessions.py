"""The session of a thread: opened with what its run wants and what the store remembers, kept, released, forgotten.

In: a thread, a turn, the driver of its agent. Out: a session from the pool. The agent's own id of the session is stored
with the thread as soon as it is known, so that a later run, or a later gateway, resumes the conversation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from anyio import CancelScope

from gateway.catalog.definition import AgentDefinition
from gateway.drivers import Driver, Opening, Session
from gateway.gateway_files import withheld_paths
from gateway.identity import ThreadKey
from gateway.runs.history import read_history
from gateway.runs.interrupts import Interrupts
from gateway.runs.isolation import Isolation
from gateway.runs.outcomes import LastOutcomes
from gateway.runs.session_pool import SessionPool
from gateway.runs.thread_activity import ThreadActivities
from gateway.runs.thread_state import ThreadStates
from gateway.runs.worktrees import ThreadWorktrees, Workplace, layer_of
from gateway.settings import Settings
from gateway.store.base import Store
from gateway.turn import Notice, Options, Turn

Notify = Callable[[Sequence[Notice]], Awaitable[None]]
"""Awaited with what the client should know of the session's folder, before the session opens."""


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
        worktrees: ThreadWorktrees,
    ) -> None:
        self._store = store
        self._pool = pool
        self._states = states
        self._outcomes = outcomes
        self._activities = activities
        self._isolation = isolation
        self._withheld = withheld_paths(settings)
        self._worktrees = worktrees

    def get(self, thread: ThreadKey) -> Session | None:
        return self._pool.get(thread)

    def was_resumed(self, thread: ThreadKey) -> bool:
        """The thread's session existed before it was opened here."""
        return self._pool.was_resumed(thread)

    async def acquire(
        self,
        thread: ThreadKey,
        turn: Turn,
        definition: AgentDefinition,
        driver: Driver,
        interrupts: Interrupts,
        notify: Notify | None = None,
    ) -> Session:
        """For one turn; the session is resumed if it is not open. To be followed by `release`."""
        place = await self._prepare_place(thread, turn, definition, interrupts.session) if driver.is_local else None
        if place is not None and place.notices and notify is not None:
            await notify(place.notices)
        opening = self._opening(thread, turn, definition, interrupts.session, place)
        if place is not None:
            originals = self.folders(thread, turn.options)
            folders = (opening.cwd, *opening.additional_directories)
            is_trusted = opening.confinement.is_trusted
            await self._isolation.trust.check_start(definition, thread, originals, folders, is_trusted=is_trusted)
        if interrupts.session is not None and not self._pool.has_fitting(thread, driver, opening):
            opening = replace(opening, known=(await read_history(self._store, *thread)).known_ids())
        stated = {} if place is None or place.worktree is None else layer_of(place.worktree)
        session = await self._pool.acquire(thread, driver, opening, stated)
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

    async def _prepare_place(
        self, thread: ThreadKey, turn: Turn, definition: AgentDefinition, session_id: str | None
    ) -> Workplace:
        """A run that names no folder goes on in the one that its session is open in. A session whose worktree had to be
        made again cannot go on: its folder was removed under it."""
        current = self._pool.opening(thread)
        open_cwd = None if current is None else current.cwd
        place = await self._worktrees.prepare(thread, turn, definition, session_id, open_cwd)
        if open_cwd is not None and place.is_new:
            await self._pool.close(thread)
        return place

    def _opening(
        self,
        thread: ThreadKey,
        turn: Turn,
        definition: AgentDefinition,
        session_id: str | None,
        place: Workplace | None,
    ) -> Opening:
        """`place`: None for an agent that works elsewhere."""
        options = turn.options
        if place is None:
            return Opening(thread.remote_id, session_id=session_id, options=options)
        folders = (place.cwd, *place.additional_directories)
        originals = self.folders(thread, options)
        return Opening(
            turn.thread_id,
            cwd=place.cwd,
            additional_directories=place.additional_directories,
            mcp_servers=options.mcp_servers or (),
            session_id=options.session_id or options.fork_session_id or session_id,
            fork=options.fork_session_id is not None,
            options=options,
            tools=tuple(turn.tools),
            is_exclusive=definition.is_local_process,
            withheld=self._withheld,
            confinement=self._isolation.confine(definition, thread, options, folders, originals),
        )

    def folders(self, thread: ThreadKey, options: Options) -> tuple[Path, ...]:
        """The folders of the workspace that a session with these options works in, or whose worktrees it works in; the
        working directory first. Raises `Refused`."""
        current = self._pool.opening(thread)
        return self._worktrees.originals(thread, options, None if current is None else current.cwd)
