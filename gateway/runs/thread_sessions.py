"""The session of a thread: opened with what its run wants and what the store remembers, kept, released, forgotten.

In: a thread, a turn, the driver of its agent. Out: a session from the pool. The agent's own id of the session is stored
with the thread as soon as it is known, so that a later run, or a later gateway, resumes the conversation.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from anyio import CancelScope

from gateway.capability_paths import MODE, MODEL
from gateway.catalog.definition import AgentDefinition
from gateway.drivers import Driver, Opening, Session
from gateway.errors import AgentFault, GatewayError, NotCapable
from gateway.gateway_files import withheld_paths
from gateway.identity import ThreadKey
from gateway.runs.approval_modes import SettingChange, is_unattended
from gateway.runs.history import read_history
from gateway.runs.interrupts import Interrupts
from gateway.runs.isolation import Isolation
from gateway.runs.outcomes import LastOutcomes
from gateway.runs.session_pool import SessionPool
from gateway.runs.thread_activity import ThreadActivities
from gateway.runs.thread_settings import Named, ThreadSettings
from gateway.runs.thread_state import ThreadStates
from gateway.runs.worktrees import ThreadWorktrees, Workplace, layer_of
from gateway.settings import Settings
from gateway.store.base import Store
from gateway.turn import Notice, Options, Turn

log = logging.getLogger(__name__)

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
        change: SettingChange | None = None,
    ) -> Session:
        """For one turn; the session is resumed if it is not open. The turn has what is set on the thread already. To be
        followed by `release`. `change`: what the caller is about to set the session to."""
        place = await self._prepare_place(thread, turn, definition, interrupts.session) if driver.is_local else None
        if place is not None and place.notices and notify is not None:
            await notify(place.notices)
        opening = self._opening(thread, turn, definition, interrupts, place, change)
        if place is not None:
            originals = self.folders(thread, turn.options)
            folders = (opening.cwd, *opening.additional_directories)
            is_trusted = opening.confinement.is_trusted
            await self._isolation.trust.check_start(definition, thread, originals, folders, is_trusted=is_trusted)
        if interrupts.session is not None and not self._pool.has_fitting(thread, driver, opening):
            opening = replace(opening, known=(await read_history(self._store, *thread)).known_ids())
        stated = {} if place is None or place.worktree is None else layer_of(place.worktree)
        lost_mode = self._find_lost_mode(thread, opening) if change is None else None
        session = await self._pool.acquire(thread, driver, opening, stated)
        if lost_mode is not None:
            await self._restore_mode(thread, session, lost_mode)
        await self.store_id(thread, interrupts)
        return session

    async def release(self, thread: ThreadKey) -> None:
        await self._pool.release(thread)

    async def open_between_runs(
        self, thread: ThreadKey, definition: AgentDefinition, driver: Driver, change: SettingChange | None = None
    ) -> Session:
        """For requests about the session itself: set its mode, fork it, delete it. `change`: what it will be set to,
        which may demand a sandbox."""
        interrupts = await self._states.load(thread)
        options, filled = interrupts.settings.fill(Options())
        current = self._pool.get(thread)
        turn = Turn(thread.thread_id, "", options=options if definition.is_local_process else Options())
        session = await self.acquire(thread, turn, definition, driver, interrupts, change=change)
        try:
            if session is not current and definition.is_local_process:
                is_changed = change is not None and change.mode is not None
                await _restore(session, options, [name for name in filled if not (is_changed and name == "mode")])
        finally:
            with CancelScope(shield=True):
                await self._pool.release(thread)
        if self._outcomes.session_opened(thread):
            self._activities.publish(thread)
        return session

    async def store_id(self, thread: ThreadKey, interrupts: Interrupts, *, is_changed: bool = False) -> None:
        """Stores the id to resume the session by, once the agent has sent it: some send it only in a turn, and some
        change it when the session is set to something. `is_changed`: something else is to be stored."""
        session = self._pool.get(thread)
        if (session is not None and interrupts.set_session(session.id)) or is_changed:
            with CancelScope(shield=True):  # the session is in use: a caller cancelled here would never release it
                await self._states.save(thread, interrupts)

    async def store_settings(self, thread: ThreadKey, named: Named) -> None:
        """After a request that set something; see `note_settings`. A run that has begun meanwhile stores its own."""
        interrupts = await self._states.load(thread)
        if self._states.has_run(thread):
            return
        is_changed = self.note_settings(thread, interrupts, named, is_kept=True)
        await self.store_id(thread, interrupts, is_changed=is_changed)

    async def read_settings(self, thread: ThreadKey) -> ThreadSettings:
        """What is set on the thread."""
        return (await self._states.load(thread)).settings

    async def drop_setting(self, thread: ThreadKey, name: str | None) -> bool:
        """The agent does not take it any more. `name`: as in `ThreadSettings`. False: nothing was set."""
        interrupts = await self._states.load(thread)
        if name is None or not interrupts.set_settings(interrupts.settings.without(name)):
            return False
        await self._states.save(thread, interrupts)
        return True

    def note_settings(self, thread: ThreadKey, interrupts: Interrupts, named: Named, *, is_kept: bool = False) -> bool:
        """Notes what the thread is set to, for the time when its session is closed. `named`: what was set just now.
        True: it has changed."""
        session = self._pool.get(thread)
        opening = self._pool.opening(thread)
        if session is None or opening is None or not opening.is_exclusive:
            return False
        options = opening.options
        at_start = {"mode": options.mode, "model": options.model, "effort": options.effort}
        named = {**{name: value for name, value in at_start.items() if value is not None}, **named}
        settings = interrupts.settings.follow(session.session_layer, named, is_kept=is_kept)
        if options.cwd is not None and self._worktrees.find(thread) is None:
            settings = settings.in_folder(str(opening.cwd), options.additional_directories)
        return interrupts.set_settings(settings)

    async def close(self, thread: ThreadKey) -> bool:
        """Until the thread is used again. False: no session was open."""
        if self._pool.get(thread) is not None:
            self._outcomes.session_releasing(thread)
            self._activities.publish(thread)
        try:
            return await self._pool.close(thread)
        finally:
            self._outcomes.session_released(thread)

    async def forget(self, thread: ThreadKey) -> None:
        """The thread is about to be deleted."""
        await self._pool.close(thread)
        self._outcomes.thread_deleted(thread)

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
        interrupts: Interrupts,
        place: Workplace | None,
        change: SettingChange | None,
    ) -> Opening:
        """`place`: None for an agent that works elsewhere."""
        options = turn.options
        session_id = interrupts.session
        if place is None:
            return Opening(thread.remote_id, session_id=session_id, options=options)
        folders = (place.cwd, *place.additional_directories)
        originals = self.folders(thread, options)
        current = self._pool.get(thread)
        session_layer = {} if current is None else current.session_layer
        unattended = is_unattended(definition, options, session_layer, change, interrupts.settings.config)
        servers = options.mcp_servers
        if servers is None and (known := self._pool.opening(thread)) is not None:
            servers = known.mcp_servers  # the session goes on with them
        return Opening(
            turn.thread_id,
            cwd=place.cwd,
            additional_directories=place.additional_directories,
            mcp_servers=options.mcp_servers or (),
            session_id=options.session_id or options.fork_session_id or session_id,
            fork=options.fork_session_id is not None,
            options=options,
            thinking=turn.thinking,
            config=interrupts.settings.config,
            tools=tuple(turn.tools),
            is_exclusive=definition.is_local_process,
            withheld=self._withheld,
            confinement=self._isolation.confine(
                definition, thread, folders, originals, is_unattended=unattended, mcp_servers=servers or ()
            ),
        )

    def _find_lost_mode(self, thread: ThreadKey, opening: Opening) -> str | None:
        """The mode of an open session that is about to be reopened in a sandbox because of that mode: the agent has
        changed it itself, during a turn."""
        current, session = self._pool.opening(thread), self._pool.get(thread)
        if current is None or session is None or opening.options.mode is not None:
            return None
        is_moved = current.confinement.exchange is None and opening.confinement.exchange is not None
        return session.session_layer.get(MODE) if is_moved else None

    async def _restore_mode(self, thread: ThreadKey, session: Session, mode: str) -> None:
        """A session that cannot be set to it asks again about what it does, which is safe."""
        try:
            if session.controls is not None and session.session_layer.get(MODE) != mode:
                await session.controls.set_mode(mode)
        except GatewayError as exc:
            log.info("thread %s: its mode %r was lost: %s", thread.thread_id, mode, exc)
        except BaseException:
            with CancelScope(shield=True):
                await self._pool.release(thread)
            raise

    def folders(self, thread: ThreadKey, options: Options) -> tuple[Path, ...]:
        """The folders of the workspace that a session with these options works in, or whose worktrees it works in; the
        working directory first. Raises `Refused`."""
        current = self._pool.opening(thread)
        return self._worktrees.originals(thread, options, None if current is None else current.cwd)


async def _restore(session: Session, options: Options, names: Sequence[str]) -> None:
    """Sets a session that was opened again to the mode and model of its thread. A run would do so by itself."""
    controls = session.controls
    if controls is None:
        return
    setters = {"model": (controls.set_model, MODEL), "mode": (controls.set_mode, MODE)}
    for name in (name for name in setters if name in names):
        set_value, path = setters[name]
        value = getattr(options, name)
        if session.session_layer.get(path) == value:
            continue
        try:
            await set_value(value)
        except (AgentFault, NotCapable) as exc:
            log.info("the %s %r of a thread could not be set again: %s", name, value, exc.detail)
