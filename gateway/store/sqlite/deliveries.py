"""Deliveries and thread events in the SQLite file. `SqliteStore` passes in how to write and to read."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import fields, replace
from typing import Any, Protocol, TypeVar

from gateway.store.deliveries import DeliveryRecord, EventBatch, ThreadName

EVENTS_PER_SLICE = 2000
"""Events deleted in one transaction, which takes a few milliseconds."""

T = TypeVar("T")

FIELDS = ", ".join(field.name for field in fields(DeliveryRecord))
SELECT_DELIVERY = f"select {FIELDS} from deliveries "
WHERE_THREAD = "where agent = ? and thread_id = ? and principal = ? "
SELECT_EVENTS = """select n.number, n.body from feeds f join notes n on n.feed = f.id
    where f.agent = ? and f.thread_id = ? and f.principal = ? and n.number > ? order by n.number limit ?"""


class Executor(Protocol):
    """Runs work inside the writer's transaction, or a query on a reader."""

    def __call__(self, work: Callable[[sqlite3.Connection], T], /) -> Awaitable[T]: ...


class SqliteDeliveries:
    """The contract is `deliveries.Deliveries`'."""

    def __init__(self, write: Executor, query: Executor) -> None:
        self._write = write
        self._query = query

    async def accept(self, delivery: DeliveryRecord, events: EventBatch) -> DeliveryRecord:
        return await self._write(lambda connection: _accept(connection, delivery, events))

    async def save(self, delivery: DeliveryRecord, events: EventBatch) -> bool:
        return await self._write(lambda connection: _save(connection, delivery, events))

    async def delivery(self, thread: ThreadName, delivery_id: str) -> DeliveryRecord | None:
        return await self._query(lambda connection: _find(connection, thread, delivery_id))

    async def waiting(self) -> list[DeliveryRecord]:
        where = "where status in ('accepted', 'deferred') order by id"
        rows = await self._query(lambda connection: connection.execute(SELECT_DELIVERY + where).fetchall())
        return [_record(row) for row in rows]

    async def append_events(self, thread: ThreadName, events: EventBatch) -> None:
        await self._write(lambda connection: _append_events(connection, thread, events))

    async def read_events(self, thread: ThreadName, after: int, limit: int) -> list[tuple[int, bytes]]:
        return await self._query(
            lambda connection: connection.execute(SELECT_EVENTS, (*thread, after, limit)).fetchall()
        )

    async def last_event_number(self, thread: ThreadName) -> int:
        row = await self._query(
            lambda connection: connection.execute(f"select last from feeds {WHERE_THREAD}", thread).fetchone()
        )
        return 0 if row is None else int(row[0])

    async def prune(self, older_than: float, max_events: int) -> int:
        total = 0
        while deleted := await self._write(lambda connection: _drop_events(connection, older_than, max_events)):
            total += deleted
        await self._write(lambda connection: _drop_old(connection, older_than))
        return total


def delete_thread(connection: sqlite3.Connection, thread: ThreadName) -> None:
    """Deletes deliveries and events. The row in `feeds` stays, so that the numbering continues."""
    connection.execute(f"delete from deliveries {WHERE_THREAD}", thread)
    connection.execute(f"delete from notes where feed in (select id from feeds {WHERE_THREAD})", thread)


def _accept(connection: sqlite3.Connection, delivery: DeliveryRecord, events: EventBatch) -> DeliveryRecord:
    if (known := _find(connection, delivery.thread, delivery.delivery_id)) is not None:
        return known
    marks = ", ".join("?" * len(_values(delivery)))
    connection.execute(f"insert into deliveries ({FIELDS}) values ({marks})", _values(delivery))
    _append_events(connection, delivery.thread, events)
    return delivery


def _save(connection: sqlite3.Connection, delivery: DeliveryRecord, events: EventBatch) -> bool:
    changes = ", ".join(f"{name} = ?" for name in FIELDS.split(", "))
    saved = connection.execute(
        f"update deliveries set {changes} {WHERE_THREAD} and delivery_id = ?",
        (*_values(delivery), *delivery.thread, delivery.delivery_id),
    )
    if saved.rowcount:
        _append_events(connection, delivery.thread, events)
    return bool(saved.rowcount)


def _find(connection: sqlite3.Connection, thread: ThreadName, delivery_id: str) -> DeliveryRecord | None:
    row = connection.execute(f"{SELECT_DELIVERY}{WHERE_THREAD} and delivery_id = ?", (*thread, delivery_id)).fetchone()
    return None if row is None else _record(row)


def _record(row: tuple[Any, ...]) -> DeliveryRecord:
    """The last field is a flag, which SQLite stores as a number."""
    return replace(DeliveryRecord(*row), handed=bool(row[-1]))


def _values(delivery: DeliveryRecord) -> tuple[Any, ...]:
    return tuple(getattr(delivery, name) for name in FIELDS.split(", "))


def _append_events(connection: sqlite3.Connection, thread: ThreadName, events: EventBatch) -> None:
    if not events.lines:
        return
    [(feed, last)] = connection.execute(
        """insert into feeds (agent, thread_id, principal, last, updated) values (?, ?, ?, ?, ?)
        on conflict (agent, thread_id, principal) do update set last = last + excluded.last, updated = excluded.updated
        returning id, last""",
        (*thread, len(events.lines), events.at),
    ).fetchall()
    connection.executemany(
        "insert into notes (feed, number, at, body) values (?, ?, ?, ?)",
        [(feed, number, events.at, line) for number, line in enumerate(events.lines, last - len(events.lines) + 1)],
    )
    connection.execute("delete from notes where feed = ? and number <= ?", (feed, last - events.keep))


def _drop_events(connection: sqlite3.Connection, older_than: float, max_events: int) -> int:
    """Deletes one slice: the old events, or, if there are none, the oldest above the limit."""
    rows = "delete from notes where (feed, number) in (select feed, number from notes {} limit ?)"
    old = connection.execute(rows.format("where at < ? order by at"), (older_than, EVENTS_PER_SLICE)).rowcount
    if old:
        return old
    surplus = connection.execute("select count(*) from notes").fetchone()[0] - max_events
    if surplus <= 0:
        return 0
    return connection.execute(rows.format("order by at, feed, number"), (min(surplus, EVENTS_PER_SLICE),)).rowcount


def _drop_old(connection: sqlite3.Connection, older_than: float) -> None:
    connection.execute("delete from deliveries where status in ('delivered', 'failed') and at < ?", (older_than,))
    connection.execute(
        "delete from feeds where updated < ? and not exists (select 1 from notes where feed = feeds.id)", (older_than,)
    )
