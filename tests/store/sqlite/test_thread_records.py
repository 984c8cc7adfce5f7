"""Records of threads are read from memory, and are never older than the file."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from gateway.store import SqliteStore
from gateway.store.sqlite.thread_records import MAX_RECORDS, UNKNOWN, ThreadRecords
from tests.store.make import PLENTY, a_thread

pytestmark = pytest.mark.anyio
THREAD = a_thread("t")
NAME = THREAD.agent, THREAD.thread_id, THREAD.principal
NEWER = replace(THREAD, updated=THREAD.updated + 1, session="s2")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    made = SqliteStore(tmp_path / "store.db")
    await made.start()
    yield made
    await made.aclose()


@pytest.fixture
def other(store: SqliteStore) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(store.path, isolation_level=None)
    yield connection
    connection.close()


async def test_a_thread_is_read_from_the_file_once(store: SqliteStore, other: sqlite3.Connection) -> None:
    await store.save_thread(THREAD)
    other.execute("delete from threads")  # no gateway does this: it shows who answers
    assert await store.thread(*NAME) == THREAD


async def test_that_there_is_no_thread_is_remembered_until_it_is_saved(
    store: SqliteStore, other: sqlite3.Connection
) -> None:
    assert await store.thread(*NAME) is None
    columns = "agent, thread_id, principal, updated, interrupts"
    other.execute(f"insert into threads ({columns}) values (?, ?, ?, 0.0, x'7b7d')", NAME)
    assert await store.thread(*NAME) is None
    await store.save_thread(THREAD)
    assert await store.thread(*NAME) == THREAD


async def test_a_record_that_is_being_written_is_waited_for(store: SqliteStore, other: sqlite3.Connection) -> None:
    await store.save_thread(THREAD)
    other.execute("begin immediate")
    found = []

    async def read() -> None:
        found.append(await store.thread(*NAME))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.save_thread, NEWER)
            await anyio.lowlevel.checkpoint()
            tasks.start_soon(read)
            for _ in range(10):
                await anyio.lowlevel.checkpoint()
            assert not found
            other.execute("rollback")
    assert found == [NEWER]


async def test_a_save_whose_caller_is_cancelled_is_known_all_the_same(
    store: SqliteStore, other: sqlite3.Connection
) -> None:
    await store.save_thread(THREAD)
    other.execute("begin immediate")
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.save_thread, NEWER)
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
            other.execute("rollback")
    assert await store.thread(*NAME) == NEWER


async def test_a_deleted_thread_is_gone_at_once(store: SqliteStore) -> None:
    await store.save_thread(THREAD)
    await store.delete_thread(*NAME)
    assert await store.thread(*NAME) is None


async def test_a_thread_that_retention_deletes_is_gone(store: SqliteStore) -> None:
    await store.save_thread(THREAD)
    await store.prune(THREAD.updated + 1, PLENTY)
    assert await store.thread(*NAME) is None


async def test_what_cannot_be_read_on_the_loop_is_read_in_a_thread(store: SqliteStore) -> None:
    await store.save_thread(THREAD)
    store._thread_records.clear()
    own = store._opened()[1]._own
    own.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)  # so that it fails, as with a locked file
    assert await store.thread(*NAME) == THREAD


def test_what_was_read_before_a_write_is_not_kept_after_it() -> None:
    records = ThreadRecords()
    changes = records.changes
    with records.write(NAME, NEWER):
        records.put_read(NAME, THREAD, changes)
        assert records.find(NAME) is UNKNOWN
    records.put_read(NAME, THREAD, changes)
    assert records.find(NAME) == NEWER


def test_after_a_write_that_failed_the_file_is_asked() -> None:
    records = ThreadRecords()
    with pytest.raises(OSError, match="full"), records.write(NAME, NEWER):
        raise OSError("full")
    assert (records.find(NAME), records.is_being_written(NAME)) == (UNKNOWN, False)


def test_of_two_writes_at_once_the_file_is_asked_until_both_have_ended() -> None:
    records = ThreadRecords()
    with records.write(NAME, THREAD):
        with records.write(NAME, NEWER):
            pass
        assert (records.find(NAME), records.is_being_written(NAME)) == (UNKNOWN, True)


def test_the_records_that_were_used_long_ago_are_dropped() -> None:
    records = ThreadRecords()
    for number in range(MAX_RECORDS + 1):
        records.put_read(("a", str(number), "p"), None, records.changes)
    assert records.find(("a", "0", "p")) is UNKNOWN
    assert records.find(("a", "1", "p")) is None
