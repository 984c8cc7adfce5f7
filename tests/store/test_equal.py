"""Whatever is done to them, all stores give the same answers; SQLite also after it was closed and opened again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.errors import StoreError
from gateway.store import MemoryStore, Piece, SqliteStore, Status, Store
from tests.store.make import a_run, a_thread, numbered

Result: TypeAlias = object
Operation: TypeAlias = Callable[[Store], Awaitable[Result]]

KEYS = [f"k{number}" for number in range(6)]
NAMES = st.sampled_from(["one", "two"])
TIMES = st.integers(0, 9).map(float)
STATUSES: st.SearchStrategy[Status] = st.sampled_from(["finished", "interrupted", "failed"])


def begin(key: str, run_id: str, thread_id: str, size: int) -> Operation:
    return lambda store: store.begin(a_run(key, run_id=run_id, thread_id=thread_id, input=b"i" * size))


def append(key: str, count: int, mistake: int) -> Operation:
    """The next events of the run, if it is live; with a mistake, the wrong ones."""

    async def operation(store: Store) -> None:
        expected = {run.key: run.events for run in await store.live()}
        first = expected.get(key, 0) + 1 + mistake
        await store.append(key, Piece(first, [b"%s %d" % (key.encode(), number) for number in range(count)]))

    return operation


def end(key: str, status: Status, ended: float) -> Operation:
    return lambda store: store.end(key, status, ended)


def save_thread(thread_id: str, updated: float) -> Operation:
    return lambda store: store.save_thread(a_thread(thread_id, updated=updated, session=f"s{updated}"))


def delete_thread(thread_id: str) -> Operation:
    return lambda store: store.delete_thread("otter", thread_id, "ann")


def prune(older_than: float, max_bytes: int) -> Operation:
    return lambda store: store.prune(older_than, max_bytes)


def read(key: str, after: int, max_bytes: int) -> Operation:
    async def operation(store: Store) -> Result:
        return numbered(await store.read(key, after, max_bytes))

    return operation


KEY = st.sampled_from(KEYS)
STEPS: st.SearchStrategy[list[Operation]] = st.lists(
    st.one_of(
        st.builds(begin, KEY, NAMES, NAMES, st.integers(0, 20)),
        st.builds(append, KEY, st.integers(0, 5), st.sampled_from([0, 0, 0, 0, 1, -1])),
        st.builds(append, KEY, st.integers(0, 5), st.just(0)),
        st.builds(end, KEY, STATUSES, TIMES),
        st.builds(save_thread, NAMES, TIMES),
        st.builds(delete_thread, NAMES),
        st.builds(prune, TIMES, st.integers(0, 100)),
        st.builds(read, KEY, st.integers(0, 12), st.integers(0, 60)),
    ),
    max_size=40,
)


async def result_of(operation: Operation, store: Store) -> Result:
    try:
        return await operation(store)
    except StoreError as exc:
        return exc.detail


async def everything(store: Store) -> list[Result]:
    """All there is to see in a store."""
    state: list[Result] = [await store.live(), await store.threads("otter", "ann", 99)]
    for name in ("one", "two"):
        state += [await store.run(name, "ann"), await store.thread("otter", name, "ann")]
        state += [await store.thread_runs("otter", name, "ann", 2), await store.thread_runs("otter", name, "ann", 99)]
    return state + [numbered(await store.read(key, 0, 2**20)) for key in KEYS]


async def compare(path: Path, steps: list[Operation]) -> None:
    memory, sqlite = MemoryStore(), SqliteStore(path)
    await memory.start()
    await sqlite.start()
    try:
        for operation in steps:
            assert await result_of(operation, sqlite) == await result_of(operation, memory)
        assert await everything(sqlite) == await everything(memory)
    finally:
        await sqlite.aclose()
    again = SqliteStore(path)
    await again.start()
    try:
        assert await everything(again) == await everything(memory)
    finally:
        await again.aclose()


@settings(deadline=None, max_examples=60)
@given(STEPS)
def test_memory_and_sqlite_give_equal_answers(steps: list[Operation]) -> None:
    with TemporaryDirectory() as folder:
        anyio.run(compare, Path(folder) / "store.db", steps)
