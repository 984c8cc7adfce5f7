"""What a thread keeps between its runs: its interrupts, in the store, and the turn that waits for them, in memory.

That a turn waits for the client's own tools is kept in memory only: it does not outlive the gateway, and a result that
comes too late is given to the agent as a message.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

import anyio
from anyio import CancelScope

from gateway.background import Tasks
from gateway.errors import GatewayError
from gateway.identity import ThreadKey
from gateway.runs.interrupts import Interrupts, ResumeResult
from gateway.runs.parked_turns import ParkedTurn, ParkedTurns, apply_resume
from gateway.runs.session_pool import SessionPool
from gateway.runs.thread_activity import ThreadActivities
from gateway.settings import Settings
from gateway.store.base import Store, ThreadRecord
from gateway.turn import Answer, Turn

log = logging.getLogger(__name__)


class ThreadStates:
    def __init__(
        self,
        settings: Settings,
        store: Store,
        tasks: Tasks,
        parked: ParkedTurns,
        sessions: SessionPool,
        activities: ThreadActivities,
        has_run: Callable[[ThreadKey], bool],
    ) -> None:
        """`has_run`: a run is live on the thread."""
        self.has_run = has_run
        self._settings = settings
        self._store = store
        self._tasks = tasks
        self._parked = parked
        self._sessions = sessions
        self._activities = activities

    async def load(self, thread: ThreadKey) -> Interrupts:
        record = await self._store.thread(*thread)
        return Interrupts() if record is None else self.read(record)

    def read(self, record: ThreadRecord) -> Interrupts:
        """What a turn asked that is not parked here ended with the gateway that it was parked in."""
        interrupts = Interrupts.loads(record.interrupts, record.session)
        thread = ThreadKey(record.agent, record.thread_id, record.principal)
        if self._parked.get(thread) is None and not self.has_run(thread):
            interrupts.lose_turns()
        return interrupts

    async def save(self, thread: ThreadKey, interrupts: Interrupts) -> None:
        record = ThreadRecord(*thread, updated=time.time(), session=interrupts.session, interrupts=interrupts.dumps())
        await self._store.save_thread(record)

    def apply_resume(self, thread: ThreadKey, interrupts: Interrupts, turn: Turn) -> ResumeResult:
        """What the run may do, by what its input brings."""
        now = time.time()
        if (parked := self._parked.get(thread)) is None:
            return interrupts.apply_resume(turn.resume, now, has_parked_turn=False)
        return apply_resume(interrupts, parked, turn, now)

    def parked_run(self, thread: ThreadKey) -> str | None:
        return self._parked.run_id(thread)

    def park(self, thread: ThreadKey, parked: ParkedTurn) -> None:
        expiry = parked.renew_expiry()
        self._parked.put(thread, parked)
        if (expires := parked.expires) is not None:
            self._tasks.start_soon(self._expire, thread, parked, expires, expiry)

    def unpark(self, thread: ThreadKey) -> ParkedTurn | None:
        parked = self._parked.pop(thread)
        if parked is not None and parked.expiry is not None:
            parked.expiry.cancel()
        return parked

    async def cancel(self, thread: ThreadKey, run_id: str) -> bool:
        """Cancels the interrupts that a run left open, and its parked turn. False: there are none."""
        waiting = self._parked.get(thread)
        interrupts = waiting.interrupts if waiting else await self.load(thread)
        calls = waiting.calls if waiting is not None and waiting.run_id == run_id else ()
        if not calls and run_id not in {entry.run_id for entry in interrupts.open()}:
            return False
        parked = self.unpark(thread)
        ids = [*interrupts.cancel_open(), *(call.id for call in calls)]
        await self.save(thread, interrupts)
        if parked is not None:
            await self._dismiss(thread, parked, ids, cancel=True)
        return True

    async def aclose(self) -> None:
        """At shutdown the turns end. Their interrupts stay in the store; the next gateway shows them as expired."""
        async with anyio.create_task_group() as tasks:  # each turn may take its time
            for thread in self._parked:
                if parked := self.unpark(thread):
                    tasks.start_soon(parked.live.aclose)

    async def _expire(self, thread: ThreadKey, parked: ParkedTurn, expires: float, expiry: CancelScope) -> None:
        with expiry:
            await anyio.sleep(max(0.0, expires - time.time()))
        if expiry.cancel_called or self._parked.get(thread) is not parked:
            return
        self._parked.pop(thread)
        ids = [*parked.interrupts.expire_open(), *(call.id for call in parked.calls)]
        try:
            await self.save(thread, parked.interrupts)
        except GatewayError as exc:
            log.error("thread %s: its expired interrupts could not be stored: %s", thread.thread_id, exc)
        await self._dismiss(thread, parked, ids, cancel=False)

    async def abandon(self, thread: ThreadKey, parked: ParkedTurn) -> None:
        """The user goes on without what the turn waits for."""
        await self._dismiss(thread, parked, [call.id for call in parked.calls], cancel=True)

    async def _dismiss(self, thread: ThreadKey, parked: ParkedTurn, ids: Sequence[str], *, cancel: bool) -> None:
        """Answers `cancelled` to the agent, lets its turn end within the grace, then ends it. No client reads it."""
        try:
            with anyio.move_on_after(self._settings.cancel_grace):
                await parked.live.answer({each: Answer(each, "cancelled") for each in ids})
                if cancel:
                    await parked.live.cancel()
                while await parked.live.next():
                    pass
        except GatewayError as exc:
            log.info("a dismissed turn failed: %s", exc)
        await parked.live.aclose()
        await self._sessions.release(thread)
        self._activities.publish(thread)
