"""Deliveries and feeds in the SQLite file. The contract is `mail.Mail`'s; who writes and reads is `SqliteStore`'s."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import fields, replace
from typing import Any, Protocol, TypeVar

from gateway.store.deliveries import DeliveryRecord, Notes, ThreadName

SLICE = 2000
"""Notes that are deleted in one transaction: a few milliseconds."""

T = TypeVar("T")

FIELDS = ", ".join(field.name for field in fields(DeliveryRecord))
DELIVERY = f"select {FIELDS} from deliveries "
OF_THREAD = "where agent = ? and thread_id = ? and principal = ? "
NOTES = """select n.number, n.body from feeds f join notes n on n.feed = f.id
    where f.agent = ? and f.thread_id = ? and f.principal = ? and n.number > ? order by n.number limit ?"""


class Doing(Protocol):
    """Work inside the writer's transaction, or a query."""

    def __call__(self, work: Callable[[sqlite3.Connection], T], /) -> Awaitable[T]: ...


class SqliteDeliveries:
    def __init__(self, write: Doing, ask: Doing) -> None:
        self._write, self._ask = write, ask

    async def accept(self, delivery: DeliveryRecord, notes: Notes) -> DeliveryRecord:
        return await self._write(lambda connection: _accept(connection, delivery, notes))

    async def save(self, delivery: DeliveryRecord, notes: Notes) -> bool:
        return await self._write(lambda connection: _save(connection, delivery, notes))

    async def delivery(self, thread: ThreadName, delivery_id: str) -> DeliveryRecord | None:
        return await self._ask(lambda connection: _find(connection, thread, delivery_id))

    async def waiting(self) -> list[DeliveryRecord]:
        where = "where status in ('accepted', 'deferred') order by id"
        rows = await self._ask(lambda connection: connection.execute(DELIVERY + where).fetchall())
        return [_record(row) for row in rows]

    async def note(self, thread: ThreadName, notes: Notes) -> None:
        await self._write(lambda connection: _note(connection, thread, notes))

    async def notes(self, thread: ThreadName, after: int, limit: int) -> list[tuple[int, bytes]]:
        return await self._ask(lambda connection: connection.execute(NOTES, (*thread, after, limit)).fetchall())

    async def last_note(self, thread: ThreadName) -> int:
        row = await self._ask(
            lambda connection: connection.execute(f"select last from feeds {OF_THREAD}", thread).fetchone()
        )
        return 0 if row is None else int(row[0])

    async def prune(self, older_than: float, most: int) -> int:
        total = 0
        while gone := await self._write(lambda connection: _drop_notes(connection, older_than, most)):
            total += gone
        await self._write(lambda connection: _drop_old(connection, older_than))
        return total


def forget(connection: sqlite3.Connection, thread: ThreadName) -> None:
    """The thread was deleted. Its feed's row stays, for the numbers to go on."""
    connection.execute(f"delete from deliveries {OF_THREAD}", thread)
    connection.execute(f"delete from notes where feed in (select id from feeds {OF_THREAD})", thread)


def _accept(connection: sqlite3.Connection, delivery: DeliveryRecord, notes: Notes) -> DeliveryRecord:
    if (known := _find(connection, delivery.thread, delivery.delivery_id)) is not None:
        return known
    marks = ", ".join("?" * len(_values(delivery)))
    connection.execute(f"insert into deliveries ({FIELDS}) values ({marks})", _values(delivery))
    _note(connection, delivery.thread, notes)
    return delivery


def _save(connection: sqlite3.Connection, delivery: DeliveryRecord, notes: Notes) -> bool:
    changes = ", ".join(f"{name} = ?" for name in FIELDS.split(", "))
    saved = connection.execute(
        f"update deliveries set {changes} {OF_THREAD} and delivery_id = ?",
        (*_values(delivery), *delivery.thread, delivery.delivery_id),
    )
    if saved.rowcount:
        _note(connection, delivery.thread, notes)
    return bool(saved.rowcount)


def _find(connection: sqlite3.Connection, thread: ThreadName, delivery_id: str) -> DeliveryRecord | None:
    row = connection.execute(f"{DELIVERY}{OF_THREAD} and delivery_id = ?", (*thread, delivery_id)).fetchone()
    return None if row is None else _record(row)


def _record(row: tuple[Any, ...]) -> DeliveryRecord:
    """Its last field is a flag, which the file has as a number."""
    return replace(DeliveryRecord(*row), handed=bool(row[-1]))


def _values(delivery: DeliveryRecord) -> tuple[Any, ...]:
    return tuple(getattr(delivery, name) for name in FIELDS.split(", "))


def _note(connection: sqlite3.Connection, thread: ThreadName, notes: Notes) -> None:
    if not notes.lines:
        return
    [(feed, last)] = connection.execute(
        """insert into feeds (agent, thread_id, principal, last, updated) values (?, ?, ?, ?, ?)
        on conflict (agent, thread_id, principal) do update set last = last + excluded.last, updated = excluded.updated
        returning id, last""",
        (*thread, len(notes.lines), notes.at),
    ).fetchall()
    connection.executemany(
        "insert into notes (feed, number, at, body) values (?, ?, ?, ?)",
        [(feed, number, notes.at, line) for number, line in enumerate(notes.lines, last - len(notes.lines) + 1)],
    )
    connection.execute("delete from notes where feed = ? and number <= ?", (feed, last - notes.keep))


def _drop_notes(connection: sqlite3.Connection, older_than: float, most: int) -> int:
    """One slice: first the old, then, if there are none, the oldest while there are too many."""
    rows = "delete from notes where (feed, number) in (select feed, number from notes {} limit ?)"
    old = connection.execute(rows.format("where at < ? order by at"), (older_than, SLICE)).rowcount
    if old:
        return old
    surplus = connection.execute("select count(*) from notes").fetchone()[0] - most
    if surplus <= 0:
        return 0
    return connection.execute(rows.format("order by at, feed, number"), (min(surplus, SLICE),)).rowcount


def _drop_old(connection: sqlite3.Connection, older_than: float) -> None:
    connection.execute("delete from deliveries where status in ('delivered', 'failed') and at < ?", (older_than,))
    connection.execute(
        "delete from feeds where updated < ? and not exists (select 1 from notes where feed = feeds.id)", (older_than,)
    )
