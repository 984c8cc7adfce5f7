"""Read-only connections, each used by one worker thread at a time.

In: a query, a function of a connection. Out: its result. In WAL mode readers and the writer do not wait for each other;
a reader sees every transaction that was committed before its query began.

One row that an index finds is read on the event loop itself: that takes 11 µs among 200,000 rows, while a thread has to
get the GIL three times from a busy loop, which may keep it for 5 ms each time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from gateway.errors import StoreError
from gateway.store.sqlite import schema

MAX_READERS = 4  # more would only compete for the GIL

T = TypeVar("T")


class Readers:
    """A pool of connections."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[sqlite3.Connection] = []
        self._limiter = CapacityLimiter(MAX_READERS)
        self._closed = False
        self._own = schema.connect(path, is_patient=False)
        self._own.execute("pragma query_only = on")

    async def find(self, statement: str, values: Sequence[object]) -> tuple[Any, ...] | None:
        """The row, found by an index. While another program has locked the file, a worker thread waits for it."""

        def query(connection: sqlite3.Connection) -> tuple[Any, ...] | None:
            found: tuple[Any, ...] | None = connection.execute(statement, values).fetchone()
            return found

        try:
            return query(self._own)
        except (sqlite3.Error, UnicodeError):
            return await self.query(query)

    async def query(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs the query in a worker thread."""
        return await run_sync(self._run, work, limiter=self._limiter)

    async def aclose(self) -> None:
        """Closes idle connections; one in use is closed when its query is done."""
        self._closed = True
        self._own.close()
        await run_sync(self._close_idle)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            connection = self._acquire()
            try:
                return work(connection)
            finally:
                self._idle.append(connection)
                if self._closed:
                    self._close_idle()
        except (sqlite3.Error, UnicodeError) as exc:  # UnicodeError: a lone surrogate cannot be a parameter
            raise StoreError(f"the store {self._path} cannot be read: {exc}") from exc

    def _acquire(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            connection = schema.connect(self._path)
            connection.execute("pragma query_only = on")
            return connection

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()
