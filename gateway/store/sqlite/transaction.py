"""One transaction of the SQLite store: rows and jobs in their order, all or nothing.

In: a connection and what was queued. Out: an answer for every job. It knows nothing of threads or loops.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, TypeVar

from gateway.store.pieces import weight

ROW_BYTES = 128 * 2**10  # joining stops here: a reader loads whole rows
STRIDE = 16  # rows per statement; each statement lets go of the GIL and must win it back from a busy loop

T = TypeVar("T")
Work: TypeAlias = Callable[[sqlite3.Connection], T]


class Row(NamedTuple):
    """A piece on its way to the file. `run` is the file's own number for the run."""

    run: int
    first: int
    events: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Job:
    """Work inside the transaction that someone waits for."""

    work: Work[Any]
    future: asyncio.Future[Any]


Item: TypeAlias = Row | Job


@dataclass(frozen=True, slots=True)
class Answer:
    """What `future` is to be told: the work's result, or its error."""

    future: asyncio.Future[Any]
    value: Any = None
    error: Exception | None = None


def transact(connection: sqlite3.Connection, items: Sequence[Item]) -> list[Answer]:
    """Write `items` in their order, as one transaction."""
    answers: list[Answer] = []
    rows: list[Row] = []
    connection.execute("begin immediate")
    try:
        for item in items:
            if isinstance(item, Row):
                rows.append(item)
            else:
                insert(connection, rows)
                rows.clear()
                answers.append(_answer(connection, item))
        insert(connection, rows)
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:  # after some errors SQLite has rolled back by itself
            connection.execute("rollback")
        raise
    return answers


def _answer(connection: sqlite3.Connection, job: Job) -> Answer:
    """A job that fails is undone alone: its neighbours in the transaction are other people's."""
    connection.execute("savepoint job")
    try:
        value = job.work(connection)
    except Exception as exc:
        if not connection.in_transaction:
            raise
        connection.execute("rollback to job")
        connection.execute("release job")
        return Answer(job.future, error=exc)
    connection.execute("release job")
    return Answer(job.future, value)


def insert(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Rows of a run that was deleted meanwhile go nowhere."""
    found = iter(joined(rows))
    while stride := list(islice(found, STRIDE)):
        values = ",".join(["(?,?,?,?)"] * len(stride))
        connection.execute(
            "insert into pieces (run, first, events, payload) select column1, column2, column3, column4 "
            f"from (values {values}) where exists (select 1 from runs where id = column1)",
            [value for row in stride for value in row],
        )


def joined(rows: Sequence[Row]) -> Iterator[Row]:
    """Neighbours of one run as one row, up to `ROW_BYTES`."""
    groups: dict[int, list[Row]] = {}
    sizes: dict[int, int] = {}
    for row in rows:
        size = sizes.get(row.run, 0) + weight(row.payload)
        if size > ROW_BYTES and row.run in groups:
            yield _join(groups.pop(row.run))
            size = weight(row.payload)
        groups.setdefault(row.run, []).append(row)
        sizes[row.run] = size
    for group in groups.values():
        yield _join(group)


def _join(group: Sequence[Row]) -> Row:
    if len(group) == 1:
        return group[0]
    events = sum(row.events for row in group)
    return Row(group[0].run, group[0].first, events, b"\n".join([row.payload for row in group]))
