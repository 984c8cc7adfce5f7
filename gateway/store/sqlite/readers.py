"""Connections that only read, each used by one worker thread at a time.

In: a query (a function of a connection). Out: its answer. In WAL mode a reader neither waits for the writer nor makes
it wait; it sees every transaction that was committed before it began.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from gateway.errors import StoreError
from gateway.store.sqlite import schema

READERS = 4  # more would only take turns at the GIL

T = TypeVar("T")


class Readers:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[sqlite3.Connection] = []
        self._limiter = CapacityLimiter(READERS)
        self._closed = False

    async def ask(self, query: Callable[[sqlite3.Connection], T]) -> T:
        return await run_sync(self._ask, query, limiter=self._limiter)

    async def aclose(self) -> None:
        """Close what is idle; a connection in use is closed when its query is done."""
        self._closed = True
        await run_sync(self._close_idle)

    def _ask(self, query: Callable[[sqlite3.Connection], T]) -> T:
        try:
            connection = self._take()
            try:
                return query(connection)
            finally:
                self._idle.append(connection)
                if self._closed:
                    self._close_idle()
        except (sqlite3.Error, UnicodeError) as exc:  # UnicodeError: half a surrogate pair cannot be asked for
            raise StoreError(f"the store {self._path} cannot be read: {exc}") from exc

    def _take(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            connection = schema.connect(self._path)
            connection.execute("pragma query_only = on")
            return connection

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()
