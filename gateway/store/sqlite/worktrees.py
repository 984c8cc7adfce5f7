"""Worktrees of threads in the SQLite file. `SqliteStore` passes in how to write and to read."""

from __future__ import annotations

import sqlite3
from dataclasses import fields, replace
from typing import Any

from gateway.store.deliveries import ThreadName
from gateway.store.sqlite.deliveries import WHERE_THREAD, Executor
from gateway.store.worktrees import WorktreeRecord

NAMES = tuple(field.name for field in fields(WorktreeRecord))
SELECT = f"select {', '.join(NAMES)} from worktrees "
INSERT = f"insert or replace into worktrees ({', '.join(NAMES)}) values ({', '.join('?' * len(NAMES))})"


class SqliteWorktrees:
    """The contract is `worktrees.Worktrees`'."""

    def __init__(self, write: Executor, query: Executor) -> None:
        self._write = write
        self._query = query

    async def find(self, thread: ThreadName) -> WorktreeRecord | None:
        rows = await self._query(lambda connection: _select(connection, WHERE_THREAD, thread))
        return rows[0] if rows else None

    async def save(self, worktree: WorktreeRecord) -> None:
        values = tuple(getattr(worktree, name) for name in NAMES)
        await self._write(lambda connection: connection.execute(INSERT, values).rowcount)

    async def delete(self, thread: ThreadName) -> bool:
        deleted = await self._write(
            lambda connection: connection.execute(f"delete from worktrees {WHERE_THREAD}", thread).rowcount
        )
        return deleted > 0

    async def all(self) -> list[WorktreeRecord]:
        order = "order by created, agent, thread_id, principal"
        return await self._query(lambda connection: _select(connection, order, ()))


def _select(connection: sqlite3.Connection, clauses: str, values: tuple[Any, ...]) -> list[WorktreeRecord]:
    """The last field is a flag, which SQLite stores as a number."""
    rows = connection.execute(SELECT + clauses, values).fetchall()
    return [replace(WorktreeRecord(*row), is_discarded=bool(row[-1])) for row in rows]
