"""One transaction of the SQLite store: rows and jobs in their order, all or nothing.

In: a connection and the queued items. Out: a result for every job. Never: threads or event loops.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, TypeVar

from gateway.store.pieces import stored_size

MAX_ROW_BYTES = 128 * 2**10  # pieces are joined up to this: a reader loads whole rows
ROWS_PER_STATEMENT = 16  # each statement releases the GIL and must get it back from a busy event loop

T = TypeVar("T")
Work: TypeAlias = Callable[[sqlite3.Connection], T]


class Row(NamedTuple):
    """A piece to be written. `run` is the run's number in the file."""

    run: int
    first: int
    events: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Job:
    """Work inside the transaction, and the future of its caller."""

    work: Work[Any]
    future: asyncio.Future[Any]


Item: TypeAlias = Row | Job


@dataclass(frozen=True, slots=True)
class JobResult:
    """The value or the error for a job's future."""

    future: asyncio.Future[Any]
    value: Any = None
    error: Exception | None = None


def transact(connection: sqlite3.Connection, items: Sequence[Item]) -> list[JobResult]:
    """Writes `items` in their order, as one transaction. A job that fails is rolled back alone: the others in the
    transaction have other callers. Jobs hardly ever fail, so the savepoints that this takes are set only in a second
    attempt: each statement more has to get the GIL back from a busy event loop."""
    try:
        return _transact(connection, items, _run_job)
    except _JobFailed:
        return _transact(connection, items, _run_job_apart)


class _JobFailed(Exception):
    """A job has failed; what was written with it is rolled back."""


def _transact(
    connection: sqlite3.Connection, items: Sequence[Item], run_job: Callable[[sqlite3.Connection, Job], JobResult]
) -> list[JobResult]:
    results: list[JobResult] = []
    rows: list[Row] = []
    connection.execute("begin immediate")
    try:
        for item in items:
            if isinstance(item, Row):
                rows.append(item)
            else:
                insert_rows(connection, rows)
                rows.clear()
                results.append(run_job(connection, item))
        insert_rows(connection, rows)
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:  # after some errors SQLite has already rolled back
            connection.execute("rollback")
        raise
    return results


def _run_job(connection: sqlite3.Connection, job: Job) -> JobResult:
    try:
        return JobResult(job.future, job.work(connection))
    except Exception as exc:
        if not connection.in_transaction:
            raise
        raise _JobFailed from exc


def _run_job_apart(connection: sqlite3.Connection, job: Job) -> JobResult:
    connection.execute("savepoint job")
    try:
        value = job.work(connection)
    except Exception as exc:
        if not connection.in_transaction:
            raise
        connection.execute("rollback to job")
        connection.execute("release job")
        return JobResult(job.future, error=exc)
    connection.execute("release job")
    return JobResult(job.future, value)


def insert_rows(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Rows of a run that was deleted meanwhile are dropped."""
    pending = iter(join_rows(rows))
    while batch := list(islice(pending, ROWS_PER_STATEMENT)):
        values = ",".join(["(?,?,?,?)"] * len(batch))
        connection.execute(
            "insert into pieces (run, first, events, payload) select column1, column2, column3, column4 "
            f"from (values {values}) where exists (select 1 from runs where id = column1)",
            [value for row in batch for value in row],
        )


def join_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """Consecutive rows of one run as one row, up to `MAX_ROW_BYTES`."""
    groups: dict[int, list[Row]] = {}
    sizes: dict[int, int] = {}
    for row in rows:
        size = sizes.get(row.run, 0) + stored_size(row.payload)
        if size > MAX_ROW_BYTES and row.run in groups:
            yield _join(groups.pop(row.run))
            size = stored_size(row.payload)
        groups.setdefault(row.run, []).append(row)
        sizes[row.run] = size
    for group in groups.values():
        yield _join(group)


def _join(group: Sequence[Row]) -> Row:
    if len(group) == 1:
        return group[0]
    events = sum(row.events for row in group)
    return Row(group[0].run, group[0].first, events, b"\n".join([row.payload for row in group]))
