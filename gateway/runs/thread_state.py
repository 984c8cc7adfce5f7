"""What a thread keeps between its runs: its questions, in the store, and the turn that waits for them, here.

That a turn waits for the client's own tools is kept here alone: it outlives no gateway, and a result that comes too
late is told to the agent as a message.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence

import anyio
from anyio import CancelScope

from gateway.background import Tasks
from gateway.errors import GatewayError
from gateway.identity import ThreadKey
from gateway.runs.interrupts import Interrupts, ResumeResult
from gateway.runs.parked_turns import Parked, settle
from gateway.settings import Settings
from gateway.store.base import Store, ThreadRecord
from gateway.turn import Answer, Turn

log = logging.getLogger(__name__)

GiveBack = Callable[[ThreadKey], Awaitable[None]]


class ThreadStates:
    def __init__(self, settings: Settings, store: Store, tasks: Tasks, give_back: GiveBack) -> None:
        """`give_back`: for the session of a turn that ends here, and not in a run."""
        self._settings, self._store, self._tasks, self._give_back = settings, store, tasks, give_back
        self._parked: dict[ThreadKey, Parked] = {}

    async def book(self, thread: ThreadKey) -> Interrupts:
        record = await self._store.thread(*thread)
        return Interrupts() if record is None else Interrupts.loads(record.interrupts, record.session)

    async def save(self, thread: ThreadKey, book: Interrupts) -> None:
        record = ThreadRecord(*thread, updated=time.time(), session=book.session, interrupts=book.dumps())
        await self._store.save_thread(record)

    def settle(self, thread: ThreadKey, book: Interrupts, turn: Turn) -> ResumeResult:
        return settle(book, self._parked.get(thread), turn, time.time())

    def parked_run(self, thread: ThreadKey) -> str | None:
        parked = self._parked.get(thread)
        return None if parked is None else parked.run_id

    def park(self, thread: ThreadKey, parked: Parked) -> None:
        parked.expiry = CancelScope()
        self._parked[thread] = parked
        if (until := parked.until) is not None:
            self._tasks.start_soon(self._expire, thread, parked, until, parked.expiry)

    def unpark(self, thread: ThreadKey) -> Parked | None:
        parked = self._parked.pop(thread, None)
        if parked is not None and parked.expiry is not None:
            parked.expiry.cancel()
        return parked

    async def cancel(self, thread: ThreadKey, run_id: str) -> bool:
        """Gives up the questions that a run left open, and the turn that waits. False if there are none."""
        waiting = self._parked.get(thread)
        book = waiting.book if waiting else await self.book(thread)
        calls = waiting.calls if waiting is not None and waiting.run_id == run_id else ()
        if not calls and run_id not in {entry.run_id for entry in book.open()}:
            return False
        parked, asked = self.unpark(thread), [*book.cancel_open(), *(call.id for call in calls)]
        await self.save(thread, book)
        if parked is not None:
            await self._dismiss(thread, parked, asked, stop=True)
        return True

    async def aclose(self) -> None:
        """At shutdown the turns end; their questions stay in the store, and whoever answers is told."""
        async with anyio.create_task_group() as tasks:  # each may take its time
            for thread in list(self._parked):
                if parked := self.unpark(thread):
                    tasks.start_soon(parked.live.aclose)

    async def _expire(self, thread: ThreadKey, parked: Parked, until: float, expiry: CancelScope) -> None:
        with expiry:
            await anyio.sleep(max(0.0, until - time.time()))
        if expiry.cancel_called or self._parked.get(thread) is not parked:
            return
        del self._parked[thread]
        asked = [*parked.book.expire_open(), *(call.id for call in parked.calls)]
        try:
            await self.save(thread, parked.book)
        except GatewayError as exc:
            log.error("thread %s: its expired questions could not be noted: %s", thread.thread_id, exc)
        await self._dismiss(thread, parked, asked, stop=False)

    async def give_up(self, thread: ThreadKey, parked: Parked) -> None:
        """The user goes on without what the turn waits for."""
        await self._dismiss(thread, parked, [call.id for call in parked.calls], stop=True)

    async def _dismiss(self, thread: ThreadKey, parked: Parked, asked: Sequence[str], *, stop: bool) -> None:
        """Tells the agent `cancelled`, lets it end within the grace, then ends it. Nobody listens any more."""
        try:
            with anyio.move_on_after(self._settings.cancel_grace):
                await parked.live.answer({name: Answer(name, "cancelled") for name in asked})
                if stop:
                    await parked.live.cancel()
                while await parked.live.next():
                    pass
        except GatewayError as exc:
            log.info("a dismissed turn failed: %s", exc)
        await parked.live.aclose()
        await self._give_back(thread)
