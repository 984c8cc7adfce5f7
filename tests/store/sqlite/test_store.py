"""What only the SQLite store promises: its file, its bounds, its errors."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest

from gateway.errors import ConfigError, StoreError
from gateway.store import SqliteStore
from gateway.store.sqlite import retention, schema, statements
from tests.store.make import PLENTY, RUN, a_piece, a_run, a_thread, an_ended_run, events, read_all

pytestmark = pytest.mark.anyio


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "store.db"


@pytest.fixture
def patience() -> float:
    """Seconds after which the writer gives up on a locked file."""
    return schema.BUSY_TIMEOUT_SECONDS


@pytest.fixture
async def store(database: Path, patience: float, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqliteStore]:
    """One that holds back no more than 10 kB."""
    monkeypatch.setattr(schema, "BUSY_TIMEOUT_SECONDS", patience)
    made = SqliteStore(database, backlog=10_000)
    await made.start()
    yield made
    await made.aclose()


@pytest.fixture
def other(store: SqliteStore) -> Iterator[sqlite3.Connection]:
    """A person's own look at the file."""
    connection = sqlite3.connect(store.path, isolation_level=None)
    yield connection
    connection.close()


async def fill(store: SqliteStore) -> int:
    """Append to k1 until the store holds all it may; the number of the last event."""
    taken = 0
    while not store._writer.is_full:
        await store.append("k1", a_piece(taken + 1, 10))
        taken += 10
    return taken


async def test_only_the_owner_may_look(store: SqliteStore) -> None:
    await store.begin(RUN)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.path.parent.iterdir()}
    assert modes == dict.fromkeys(("store.db", "store.db-wal", "store.db-shm", "store.db.lock"), 0o600)
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


async def test_a_closed_store_leaves_one_file_that_opens_again(store: SqliteStore) -> None:
    await store.begin(RUN)
    await store.append("k1", a_piece(1, 2))
    assert await read_all(store, "k1") == events(1, 2)
    await store.aclose()
    assert {path.name for path in store.path.parent.iterdir()} == {"store.db", "store.db.lock"}
    again = SqliteStore(store.path)
    await again.start()
    assert await read_all(again, "k1") == events(1, 2)
    await again.aclose()


async def test_pieces_that_were_queued_together_are_one_row(store: SqliteStore, other: sqlite3.Connection) -> None:
    await store.begin(RUN)
    for first in range(1, 101, 2):
        await store.append("k1", a_piece(first, 2))
    await store.end("k1", "finished", 2.0)
    assert other.execute("select first, events from pieces").fetchall() == [(1, 100)]


async def test_a_piece_is_written_without_a_reader(store: SqliteStore, other: sqlite3.Connection) -> None:
    await store.begin(RUN)
    await store.append("k1", a_piece(1, 2))
    with anyio.fail_after(5):
        while other.execute("select count(*) from pieces").fetchone() == (0,):
            await anyio.lowlevel.checkpoint()


async def test_append_waits_while_the_writer_is_behind(store: SqliteStore, other: sqlite3.Connection) -> None:
    await store.begin(RUN)
    other.execute("begin immediate")
    taken = await fill(store)
    with anyio.move_on_after(0.05) as waiting:
        await store.append("k1", a_piece(taken + 1, 1))
    assert waiting.cancelled_caught
    other.execute("rollback")
    with anyio.fail_after(5):
        await store.append("k1", a_piece(taken + 1, 1))  # taken only now: the number is still the next one
    assert await read_all(store, "k1") == events(1, taken + 1)


@pytest.mark.parametrize("patience", [0.1])
async def test_a_failing_writer_wakes_waiting_callers(store: SqliteStore, other: sqlite3.Connection) -> None:
    await store.begin(RUN)
    other.execute("begin immediate")
    taken = await fill(store)
    with anyio.fail_after(5), pytest.raises(StoreError, match="store.db cannot be written: database is locked"):
        await store.append("k1", a_piece(taken + 1, 1))
    other.execute("rollback")


@pytest.mark.parametrize("patience", [0.1])
async def test_what_was_taken_is_written_once_the_writer_can_again(
    store: SqliteStore, other: sqlite3.Connection
) -> None:
    await store.begin(RUN)
    other.execute("begin immediate")
    taken = await fill(store)
    for refused in (store.check(), store.append("k1", a_piece(taken + 1, 1)), store.end("k1", "finished", 2.0)):
        with pytest.raises(StoreError, match="database is locked"):
            await refused
    other.execute("rollback")
    await store.check()
    await store.append("k1", a_piece(taken + 1, 1))
    await store.end("k1", "finished", 2.0)
    assert await read_all(store, "k1") == events(1, taken + 1)


@pytest.mark.parametrize("patience", [0.1])
async def test_closing_a_store_that_cannot_be_written_reports_what_is_lost(
    store: SqliteStore, other: sqlite3.Connection
) -> None:
    await store.begin(RUN)
    other.execute("begin immediate")
    await fill(store)
    with pytest.raises(StoreError, match=r"database is locked; \d+ bytes of run logs are lost"):
        await store.aclose()
    other.execute("rollback")
    again = SqliteStore(store.path)
    await again.start()  # the lock was given back all the same
    await again.aclose()


async def test_closing_refuses_an_append_that_waits(store: SqliteStore, other: sqlite3.Connection) -> None:
    await store.begin(RUN)
    other.execute("begin immediate")
    taken = await fill(store)

    async def wait() -> None:
        with pytest.raises(StoreError, match="closed"):
            await store.append("k1", a_piece(taken + 1, 1))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.lowlevel.checkpoint()
        other.execute("rollback")
        await store.aclose()


async def test_one_bad_record_fails_alone(store: SqliteStore) -> None:
    results: list[str] = []

    async def begin(key: str, run_id: str) -> None:
        try:
            await store.begin(a_run(key, run_id=run_id))
        except StoreError as exc:
            results.append(exc.detail)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(begin, "k1", "fine")
        tasks.start_soon(begin, "k2", "half a pair: \ud800")
        tasks.start_soon(begin, "k3", "fine too")
    assert [run.key for run in await store.live()] == ["k1", "k3"]
    assert len(results) == 1 and "cannot be written: 'utf-8' codec" in results[0]
    with pytest.raises(StoreError, match="cannot be read: 'utf-8' codec"):
        await store.run("half a pair: \ud800", "ann")


async def test_a_cancelled_caller_does_not_damage_the_store(store: SqliteStore, other: sqlite3.Connection) -> None:
    other.execute("begin immediate")
    with anyio.move_on_after(0.02) as waiting:
        await store.begin(RUN)
    assert waiting.cancelled_caught
    other.execute("rollback")
    await store.append("k1", a_piece(1, 1))
    await store.end("k1", "cancelled", 2.0)
    assert await read_all(store, "k1") == events(1, 1)


async def test_the_file_shrinks_when_logs_go(store: SqliteStore) -> None:
    await store.begin(RUN)
    for first in range(1, 50_001, 1000):
        await store.append("k1", a_piece(first, 1000))
    await store.end("k1", "finished", 2.0)
    await an_ended_run(store, a_run("k2", run_id="run-2"), 10, ended=20.0)
    await store.prune(10.0, PLENTY)
    assert await read_all(store, "k2") == events(1, 10)
    await store.aclose()
    assert store.path.stat().st_size < 400_000  # it had two megabytes


async def test_a_prune_takes_up_what_a_killed_one_left(database: Path) -> None:
    first = SqliteStore(database)
    await first.start()
    await an_ended_run(first, RUN, 100)
    await first.aclose()
    connection = schema.connect(database)
    retention.drop_runs(connection, [1])
    store = SqliteStore(database)
    await store.start()
    await store.begin(a_run("k2"))  # must not be taken for the dropped one
    await store.append("k2", a_piece(1, 1))
    assert await store.prune(0.0, PLENTY) == 0
    assert connection.execute("select run from pieces union all select run from inputs").fetchall() == [(2,), (2,)]
    assert connection.execute("select run from doomed").fetchall() == []
    assert await read_all(store, "k2") == events(1, 1)
    connection.close()
    await store.aclose()


async def test_a_long_log_is_swept_in_slices(
    store: SqliteStore, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "PIECES_PER_SLICE", 3)
    for key in ("k1", "k2", "k3"):
        await store.begin(a_run(key))
        for number in range(1, 11):
            await store.append(key, a_piece(number, 1))
            await store.read(key, 0, 1)  # one row each: what was queued is written now
    assert other.execute("select count(*) from pieces").fetchone() == (30,)
    assert await store.delete_thread("otter", "thread-1", "ann")
    assert other.execute("select (select count(*) from pieces) + (select count(*) from doomed)").fetchone() == (0,)


@pytest.mark.parametrize(
    "question",
    [
        statements.RUN + "where r.run_id = ? and r.principal = ? order by r.id desc limit 1",
        statements.RUN + "where r.agent = ? and r.thread_id = ? and r.principal = ? order by r.id desc limit ?",
        statements.RUN + "where r.status = 'live' order by r.id",
        statements.THREAD + "where agent = ? and principal = ? order by updated desc, id desc limit ?",
        statements.PIECES,
        statements.LIVE,
    ],
)
async def test_no_question_reads_a_whole_table_or_sorts_one(other: sqlite3.Connection, question: str) -> None:
    steps = [row[3] for row in other.execute(f"explain query plan {question}", [None] * question.count("?"))]
    assert steps
    assert not [step for step in steps if step.startswith("SCAN") and "USING" not in step]
    assert not [step for step in steps if "TEMP B-TREE" in step]


async def test_a_folder_in_the_files_place_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=f"the store {tmp_path} cannot be opened"):
        await SqliteStore(tmp_path).start()


async def test_a_file_that_is_no_database_is_a_store_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Buy milk. " * 100)
    with pytest.raises(StoreError, match="cannot be opened: file is not a database"):
        await SqliteStore(path).start()
    assert path.read_text() == "Buy milk. " * 100


async def test_the_same_process_cannot_open_a_store_twice(store: SqliteStore) -> None:
    with pytest.raises(ConfigError, match=rf"in use by another agui-gateway \(pid {os.getpid()}\)"):
        await SqliteStore(store.path).start()


async def test_the_repr_names_file_and_state(store: SqliteStore) -> None:
    await store.begin(RUN)
    assert repr(store) == f"<SqliteStore {store.path}: open, 1 live runs>"
    await store.save_thread(a_thread())
    await store.aclose()
    assert repr(store) == f"<SqliteStore {store.path}: closed, 1 live runs>"
