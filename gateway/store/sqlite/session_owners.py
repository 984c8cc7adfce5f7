"""The owners of sessions in the SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from gateway.store.base import ThreadRecord
from gateway.store.sqlite.deliveries import Executor

MAX_SESSIONS_PER_QUERY = 500


class SqliteSessionOwners:
    """The contract is `session_owners.SessionOwners`'."""

    def __init__(self, write: Executor, query: Executor) -> None:
        self._write = write
        self._query = query

    async def owners(self, agent: str, sessions: Sequence[str]) -> dict[str, str]:
        return await self._query(lambda connection: _find(connection, agent, sessions))

    async def prune(self, older_than: float) -> int:
        return await self._write(lambda connection: _drop_unused(connection, older_than))


def add_owner(connection: sqlite3.Connection, thread: ThreadRecord) -> None:
    """Inside the transaction that saves the thread. The first owner stays."""
    if thread.session is not None:
        connection.execute(
            "insert or ignore into session_owners (agent, session, principal, at) values (?, ?, ?, ?)",
            (thread.agent, thread.session, thread.principal, thread.updated),
        )


def _find(connection: sqlite3.Connection, agent: str, sessions: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for start in range(0, len(sessions), MAX_SESSIONS_PER_QUERY):
        names = sessions[start : start + MAX_SESSIONS_PER_QUERY]
        marks = ", ".join("?" * len(names))
        statement = f"select session, principal from session_owners where agent = ? and session in ({marks})"
        found.update(connection.execute(statement, (agent, *names)).fetchall())
    return found


def _drop_unused(connection: sqlite3.Connection, older_than: float) -> int:
    return connection.execute(
        """delete from session_owners as o where at < ? and not exists
        (select 1 from threads t where t.agent = o.agent and t.session = o.session)""",
        (older_than,),
    ).rowcount
