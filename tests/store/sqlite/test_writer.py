"""One transaction for all that is queued; inside it everyone's work is their own."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
import pytest

from gateway.store import SqliteStore
from gateway.store.sqlite import schema, statements, transaction, writer
from gateway.store.sqlite.transaction import Item, Job, JobResult, Row, transact
from tests.store.make import RUN, a_run

pytestmark = pytest.mark.anyio


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = schema.prepare(tmp_path / "store.db")
    statements.begin(opened, 1, RUN)
    yield opened
    opened.close()


def pieces(connection: sqlite3.Connection) -> list[tuple[int, int, bytes]]:
    return connection.execute("select run, first, payload from pieces order by run, first").fetchall()


def a_job(work: transaction.Work[object]) -> Job:
    return Job(work, asyncio.get_running_loop().create_future())


def spoil(connection: sqlite3.Connection) -> None:
    connection.execute("delete from pieces")
    raise ValueError("no")


async def test_work_sees_the_rows_that_were_queued_before_it(connection: sqlite3.Connection) -> None:
    answers = transact(connection, [Row(1, 1, 1, b"a"), a_job(pieces), Row(1, 2, 1, b"b"), a_job(pieces)])
    assert [answer.value for answer in answers] == [[(1, 1, b"a")], [(1, 1, b"a"), (1, 2, b"b")]]


async def test_work_that_fails_is_undone_alone(connection: sqlite3.Connection) -> None:
    answers = transact(connection, [Row(1, 1, 1, b"a"), a_job(spoil), Row(1, 2, 1, b"b"), a_job(len_of_pieces)])
    assert [(str(answer.error), answer.value) for answer in answers] == [("no", None), ("None", 2)]
    assert pieces(connection) == [(1, 1, b"a"), (1, 2, b"b")]


def len_of_pieces(connection: sqlite3.Connection) -> int:
    return len(pieces(connection))


async def test_rows_of_a_run_that_was_deleted_meanwhile_go_nowhere(connection: sqlite3.Connection) -> None:
    transact(connection, [Row(1, 1, 1, b"a"), Row(9, 1, 1, b"b")])
    assert pieces(connection) == [(1, 1, b"a")]


async def test_many_runs_are_written_in_one_go(connection: sqlite3.Connection) -> None:
    numbers = range(2, 50)
    for number in numbers:
        statements.begin(connection, number, a_run(f"k{number}"))
    transact(connection, [Row(number, 1, 1, b"%d" % number) for number in numbers])
    assert pieces(connection) == [(number, 1, b"%d" % number) for number in numbers]


async def test_a_transaction_that_fails_leaves_nothing_behind(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        transact(connection, [Row(1, 1, 1, b"a"), a_job(pieces), Row(1, 1, 1, b"twice")])
    assert pieces(connection) == []
    assert not connection.in_transaction


async def test_what_is_queued_while_the_writer_is_busy_is_one_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def counted(connection: sqlite3.Connection, items: Sequence[Item]) -> list[JobResult]:
        sizes.append(len(items))
        return transact(connection, items)

    monkeypatch.setattr(writer, "transact", counted)
    store = SqliteStore(tmp_path / "store.db")
    await store.start()
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("begin immediate")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(store.begin, a_run("first"))
        while not sizes:  # until the writer has taken it, and waits for the file
            await anyio.lowlevel.checkpoint()
        for number in range(50):
            tasks.start_soon(store.begin, a_run(f"k{number}"))
        await anyio.lowlevel.checkpoint()
        other.execute("rollback")
    assert sizes == [1, 50]
    other.close()
    await store.aclose()
