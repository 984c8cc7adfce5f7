"""The one thread that writes: rows and jobs in, transactions out.

On the event loop's side `add` and `do` put items on a list; the list is passed on after a moment, or at once when a
caller waits. On the thread's side everything passed on so far becomes one transaction (group commit). One callback per
transaction reports its result to the loop, so all counters belong to the loop and no lock is needed.

An accepted row is never dropped: when a transaction fails, its rows come first in the next one, while its jobs fail.
Until one succeeds, `add` refuses; every job, `Store.check` among them, is another attempt. So the store recovers once
the disk has space again, and no caller waits for that: a failure wakes all callers and raises.
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
from gateway.store.pieces import stored_size
from gateway.store.sqlite.checkpoints import Checkpoints
from gateway.store.sqlite.transaction import Item, Job, JobResult, Row, Work, transact

LINGER_SECONDS = 0.002  # how long a row waits for others: ten rows in one transaction cost little more than one
MAX_LINGER_BYTES = 256 * 2**10  # this much is passed on at once

T = TypeVar("T")


class Writer:
    """Owns `connection`. All methods without an underscore belong to the loop that called `start`."""

    def __init__(self, connection: sqlite3.Connection, path: Path, backlog: int) -> None:
        self._connection = connection
        self._path = path
        self._backlog = backlog
        self._queue: SimpleQueue[list[Item] | None] = SimpleQueue()
        # A daemon, so that a process that ends without `aclose` does not wait for it.
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._checkpoints = Checkpoints(path)
        self._pending: list[Item] = []
        self._pending_bytes = 0
        self._is_passing_on = False
        self._timer: asyncio.TimerHandle | None = None
        self._unwritten = 0
        self._bytes = 0
        self._changed = anyio.Event()
        self._failure: str | None = None
        self._closed = False

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._checkpoints.start()
        self._thread.start()

    @property
    def is_full(self) -> bool:
        return self._bytes >= self._backlog

    def add(self, row: Row) -> None:
        """Accepts one row, which is written soon."""
        self._check_writable()
        size = stored_size(row.payload)
        self._pending.append(row)
        self._unwritten += 1
        self._bytes += size
        self._pending_bytes += size
        if self._pending_bytes >= MAX_LINGER_BYTES:
            self._pass_on()
        elif self._timer is None:
            self._timer = self._loop.call_later(LINGER_SECONDS, self._pass_on)

    async def wait_for_room(self) -> None:
        """Waits while the backlog is full."""
        while self.is_full:
            self._check_writable()
            await self._changed.wait()

    async def do(self, work: Work[T]) -> T:
        """Runs `work` after everything that was added before, and waits for the commit."""
        self._check_not_closed()
        future: asyncio.Future[T] = self._loop.create_future()
        self._pending.append(Job(work, future))
        self._unwritten += 1
        if not self._is_passing_on:
            self._is_passing_on = True
            self._loop.call_soon(self._pass_on)  # with what others add before: one transaction, one thread woken once
        return await future

    async def flush(self) -> None:
        """Returns when everything that was added before is visible to other connections."""
        self._check_not_closed()
        if self._unwritten:
            await self.do(lambda _: None)

    def refuse_new(self) -> None:
        """Accepts nothing more; callers that wait for room get an error."""
        self._closed = True
        self._wake()

    async def aclose(self) -> None:
        """Writes what is pending and ends the thread. Raises if an accepted row could not be written."""
        self.refuse_new()
        self._pass_on()
        self._queue.put(None)
        with anyio.CancelScope(shield=True):
            await run_sync(self._thread.join)
        if self._bytes:
            raise StoreError(f"{self._failure}; {self._bytes} bytes of run logs are lost with this process")

    def _check_writable(self) -> None:
        self._check_not_closed()
        if self._failure is not None:
            raise StoreError(self._failure)

    def _check_not_closed(self) -> None:
        if self._closed:
            raise StoreError(f"the store {self._path} is closed")

    def _pass_on(self) -> None:
        self._is_passing_on = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._pending:
            self._queue.put(self._pending)
        self._pending = []
        self._pending_bytes = 0

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    def _finish(self, count: int, size: int, results: Sequence[JobResult], failure: str | None) -> None:
        """Called by the thread after each transaction."""
        self._unwritten -= count
        self._bytes -= size
        self._failure = failure
        for result in results:
            if result.future.done():  # its caller was cancelled
                continue
            if result.error is not None:
                result.future.set_exception(self._to_store_error(result.error))
            else:
                result.future.set_result(result.value)
        self._wake()

    def _to_store_error(self, error: Exception) -> GatewayError:
        if isinstance(error, GatewayError):
            return error
        return StoreError(f"the store {self._path} cannot be written: {error}")

    # -- the thread's side

    def _run(self) -> None:
        unwritten: list[Item] = []
        is_open = True
        while is_open:
            items, is_open = self._receive()
            if unwritten or items:
                unwritten = self._write(unwritten + items)
        self._checkpoints.close()
        self._connection.close()

    def _receive(self) -> tuple[list[Item], bool]:
        """Waits for items and takes all that are there; False once there will be no more."""
        items: list[Item] = []
        batch = self._queue.get()
        while batch is not None:
            items += batch
            try:
                batch = self._queue.get_nowait()
            except Empty:
                return items, True
        return items, False

    def _write(self, items: list[Item]) -> list[Item]:
        """One transaction. Returns the rows that must be written again."""
        try:
            results = transact(self._connection, items)
        except Exception as exc:  # the thread must go on, and the callers get the error
            failures = [JobResult(item.future, error=exc) for item in items if isinstance(item, Job)]
            self._report(len(failures), 0, failures, str(self._to_store_error(exc)))
            return [item for item in items if isinstance(item, Row)]
        size = sum(stored_size(item.payload) for item in items if isinstance(item, Row))
        self._report(len(items), size, results, None)
        self._checkpoints.add(items)
        return []

    def _report(self, count: int, size: int, results: Sequence[JobResult], failure: str | None) -> None:
        with suppress(RuntimeError):  # the loop was closed without `aclose`
            self._loop.call_soon_threadsafe(self._finish, count, size, results, failure)
