"""The one thread that writes: rows and jobs in, transactions out.

On the event loop's side `add` and `do` put items on a list; the list is handed over after a moment, or at once when
someone waits. On the thread's side everything handed over so far becomes one transaction (group commit). One callback
per transaction tells the loop what became of it, so all counters live on the loop and nothing is locked.

A row that was taken is never dropped: when a transaction fails its rows are kept and lead the next one, while its jobs
are told. Until one succeeds `add` refuses; every job, `Store.check` among them, is a new try. So the store heals by
itself once the disk has room, and nothing waits for that: a failure wakes whoever waits and raises.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

import anyio
from anyio.to_thread import run_sync

from gateway.errors import GatewayError, StoreError
from gateway.store.pieces import weight
from gateway.store.sqlite.transaction import Answer, Item, Job, Row, Work, transact

LINGER = 0.002  # seconds a row may wait for company: ten rows in one transaction cost little more than one
HAND_OVER = 256 * 2**10  # bytes that do not linger

T = TypeVar("T")


class Writer:
    """Owns `connection`. All methods without an underscore belong to the loop that called `start`."""

    def __init__(self, connection: sqlite3.Connection, path: Path, backlog: int) -> None:
        self._connection, self._path, self._backlog = connection, path, backlog
        self._queue: SimpleQueue[list[Item] | None] = SimpleQueue()
        # A daemon: a process that ends without `aclose` must not wait for it.
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._pending: list[Item] = []
        self._pending_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._unwritten = 0
        self._bytes = 0
        self._changed = anyio.Event()
        self._failure: str | None = None
        self._closed = False

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    @property
    def full(self) -> bool:
        return self._bytes >= self._backlog

    def add(self, row: Row) -> None:
        """Take one row, soon to be written."""
        self._refuse()
        size = weight(row.payload)
        self._pending.append(row)
        self._unwritten += 1
        self._bytes += size
        self._pending_bytes += size
        if self._pending_bytes >= HAND_OVER:
            self._hand_over()
        elif self._timer is None:
            self._timer = self._loop.call_later(LINGER, self._hand_over)

    async def room(self) -> None:
        """Wait while the backlog is full."""
        while self.full:
            self._refuse()
            await self._changed.wait()

    async def do(self, work: Work[T]) -> T:
        """Run `work` after all that was added before, and wait for the commit."""
        self._refuse_closed()
        future: asyncio.Future[T] = self._loop.create_future()
        self._pending.append(Job(work, future))
        self._unwritten += 1
        self._hand_over()
        return await future

    async def flush(self) -> None:
        """All that was added before is visible to other connections."""
        self._refuse_closed()
        if self._unwritten:
            await self.do(lambda _: None)

    def shut(self) -> None:
        """Take nothing more; whoever waits for room is refused."""
        self._closed = True
        self._wake()

    async def aclose(self) -> None:
        """Write what is there and end the thread. Raises if something taken could not be written."""
        self.shut()
        self._hand_over()
        self._queue.put(None)
        with anyio.CancelScope(shield=True):
            await run_sync(self._thread.join)
        if self._bytes:
            raise StoreError(f"{self._failure}; {self._bytes} bytes of run logs are lost with this process")

    def _refuse(self) -> None:
        self._refuse_closed()
        if self._failure is not None:
            raise StoreError(self._failure)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreError(f"the store {self._path} is closed")

    def _hand_over(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._queue.put(self._pending)
        self._pending, self._pending_bytes = [], 0

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    def _written(self, count: int, size: int, answers: Sequence[Answer], failure: str | None) -> None:
        """The thread's report on one transaction."""
        self._unwritten -= count
        self._bytes -= size
        self._failure = failure
        for answer in answers:
            if answer.future.done():  # whoever waited was cancelled
                continue
            if answer.error is not None:
                answer.future.set_exception(self._said(answer.error))
            else:
                answer.future.set_result(answer.value)
        self._wake()

    def _said(self, error: Exception) -> GatewayError:
        if isinstance(error, GatewayError):
            return error
        return StoreError(f"the store {self._path} cannot be written: {error}")

    # From here on: the thread's side.

    def _run(self) -> None:
        kept: list[Item] = []
        going = True
        while going:
            handed, going = self._take()
            if kept or handed:
                kept = self._write(kept + handed)
        self._connection.close()

    def _take(self) -> tuple[list[Item], bool]:
        """Wait for what is handed over and take all of it; False once there will be no more."""
        items: list[Item] = []
        handed = self._queue.get()
        while handed is not None:
            items += handed
            try:
                handed = self._queue.get_nowait()
            except Empty:
                return items, True
        return items, False

    def _write(self, items: list[Item]) -> list[Item]:
        """One transaction. Gives back what must be tried again."""
        try:
            answers = transact(self._connection, items)
        except Exception as exc:  # whatever it was, the thread lives on and somebody is told
            told = [Answer(item.future, error=exc) for item in items if isinstance(item, Job)]
            self._tell(len(told), 0, told, str(self._said(exc)))
            return [item for item in items if isinstance(item, Row)]
        size = sum(weight(item.payload) for item in items if isinstance(item, Row))
        self._tell(len(items), size, answers, None)
        return []

    def _tell(self, count: int, size: int, answers: Sequence[Answer], failure: str | None) -> None:
        with suppress(RuntimeError):  # the loop was closed without `aclose`: nobody listens
            self._loop.call_soon_threadsafe(self._written, count, size, answers, failure)
