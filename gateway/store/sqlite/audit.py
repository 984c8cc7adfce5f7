"""The audit log in the SQLite file. Triggers refuse every change of an entry, and every deletion but that of retention.

A trigger cannot know who deletes. So retention first writes the time before which it deletes into `audit_retention`,
and the trigger refuses to delete a younger entry; afterwards the time is 0 again. All of it is one transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import fields

from gateway.store.audit import ALL_ENTRIES, AuditFilter, AuditRecord
from gateway.store.sqlite.deliveries import Executor

ENTRIES_PER_SLICE = 2000
"""Entries deleted in one transaction, which takes a few milliseconds."""

FIELDS = ", ".join(field.name for field in fields(AuditRecord) if field.name != "number")
INSERT = f"insert into audit_log ({FIELDS}) values (?, ?, ?, ?, ?, ?, ?)"


class SqliteAudit:
    """The contract is `audit.Audit`'s."""

    def __init__(self, write: Executor, query: Executor) -> None:
        self._write = write
        self._query = query

    async def write(self, records: Sequence[AuditRecord]) -> int:
        return await self._write(lambda connection: add_entries(connection, records))

    async def read(self, after: int, limit: int, where: AuditFilter = ALL_ENTRIES) -> list[AuditRecord]:
        conditions, values = _conditions(where)
        statement = f"select {FIELDS}, number from audit_log where number > ?{conditions} order by number limit ?"
        rows = await self._query(lambda connection: connection.execute(statement, (after, *values, limit)).fetchall())
        return [AuditRecord(*row) for row in rows]

    async def last_number(self) -> int:
        row = await self._query(
            lambda connection: connection.execute("select seq from sqlite_sequence where name = 'audit_log'").fetchone()
        )
        return 0 if row is None else int(row[0])

    async def prune(self, older_than: float) -> int:
        total = 0
        while deleted := await self._write(lambda connection: _drop_old(connection, older_than)):
            total += deleted
        return total


def add_entries(connection: sqlite3.Connection, records: Sequence[AuditRecord]) -> int:
    """Inside a transaction. The number of the last entry."""
    number = 0
    for record in records:
        values = tuple(getattr(record, name) for name in FIELDS.split(", "))
        number = connection.execute(INSERT, values).lastrowid or 0
    return number


def _conditions(where: AuditFilter) -> tuple[str, list[object]]:
    conditions = ""
    values: list[object] = []
    if where.since is not None:
        conditions += " and at >= ?"
        values.append(where.since)
    if where.principal is not None:
        conditions += " and principal = ?"
        values.append(where.principal)
    if where.action is not None:
        conditions += " and (action = ? or substr(action, 1, ?) = ?)"
        values += [where.action, len(where.action) + 1, f"{where.action}."]
    return conditions, values


def _drop_old(connection: sqlite3.Connection, older_than: float) -> int:
    connection.execute("update audit_retention set older_than = ?", (older_than,))
    deleted = connection.execute(
        "delete from audit_log where number in (select number from audit_log where at < ? order by at limit ?)",
        (older_than, ENTRIES_PER_SLICE),
    ).rowcount
    connection.execute("update audit_retention set older_than = 0")
    return deleted
