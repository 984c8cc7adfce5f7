"""What a thread keeps between its runs: its questions, in the store, and the turn that waits for them, here."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import anyio
from anyio import CancelScope
from anyio.abc import TaskGroup

from gateway.agui.outbound import Suspended
from gateway.drivers import LiveTurn
from gateway.errors import GatewayError
from gateway.runs.questions import Book
from gateway.settings import Settings
from gateway.store.base import Store, ThreadRecord
from gateway.turn import Answer

log = logging.getLogger(__name__)


class ThreadKey(NamedTuple):
    agent: str
    thread_id: str
    principal: str


GiveBack = Callable[[ThreadKey], Awaitable[None]]


@dataclass(slots=True)
class Parked:
    """A turn that waits for answers, between two runs."""

    live: LiveTurn
    run_id: str
    suspended: Suspended
    book: Book
    """With what the turn asks, as it is in the store: no run is live on the thread, so nobody else writes it."""
    expiry: CancelScope = field(default_factory=CancelScope)


class Threads:
    def __init__(self, settings: Settings, store: Store, tasks: TaskGroup, give_back: GiveBack) -> None:
        """`give_back`: for the session of a turn that ends here, and not in a run."""
        self._settings, self._store, self._tasks, self._give_back = settings, store, tasks, give_back
        self._parked: dict[ThreadKey, Parked] = {}

    async def book(self, thread: ThreadKey) -> Book:
        record = await self._store.thread(*thread)
        return Book() if record is None else Book.loads(record.interrupts, record.session)

    async def save(self, thread: ThreadKey, book: Book) -> None:
        record = ThreadRecord(*thread, updated=time.time(), session=book.session, interrupts=book.dumps())
        await self._store.save_thread(record)

    def waits(self, thread: ThreadKey) -> bool:
        return thread in self._parked

    def parked_run(self, thread: ThreadKey) -> str | None:
        parked = self._parked.get(thread)
        return None if parked is None else parked.run_id

    def park(self, thread: ThreadKey, parked: Parked) -> None:
        parked.expiry = CancelScope()
        self._parked[thread] = parked
        if (until := parked.book.next_expiry()) is not None:
            self._tasks.start_soon(self._expire, thread, parked, until, parked.expiry)

    def unpark(self, thread: ThreadKey) -> Parked | None:
        parked = self._parked.pop(thread, None)
        if parked is not None:
            parked.expiry.cancel()
        return parked

    async def cancel(self, thread: ThreadKey, run_id: str) -> bool:
        """Gives up the questions that a run left open, and the turn that waits. False if there are none."""
        waiting = self._parked.get(thread)
        book = waiting.book if waiting else await self.book(thread)
        if run_id not in {entry.run_id for entry in book.open()}:
            return False
        parked, asked = self.unpark(thread), book.cancel_open()
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
        asked = parked.book.expire_open()
        try:
            await self.save(thread, parked.book)
        except GatewayError as exc:
            log.error("thread %s: its expired questions could not be noted: %s", thread.thread_id, exc)
        await self._dismiss(thread, parked, asked, stop=False)

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
