"""`Store.prune`, which every store keeps to."""

from __future__ import annotations

import anyio
import pytest

from gateway.store import Store
from tests.store.make import PLENTY, RUN, a_piece, a_run, a_thread, an_ended_run, event, events, read_all

pytestmark = pytest.mark.anyio


async def keys(store: Store) -> list[str]:
    return [run.key for run in await store.thread_runs("otter", "thread-1", "ann", 99)]


async def runs_that_ended_at(store: Store, *times: float, count: int = 1) -> None:
    """Runs k1, k2… of one thread, their inputs empty."""
    for number, ended in enumerate(times, start=1):
        await an_ended_run(store, a_run(f"k{number}", input=b""), count, ended)


async def test_runs_that_ended_before_a_time_go(store: Store) -> None:
    await runs_that_ended_at(store, 10.0, 30.0, 20.0, 5.0)
    assert await store.prune(20.0, PLENTY) == 2
    assert await keys(store) == ["k2", "k3"]
    assert await store.read("k1", 0, PLENTY) == []
    assert await read_all(store, "k2") == events(1, 1)


async def test_pruning_again_finds_nothing_more(store: Store) -> None:
    await runs_that_ended_at(store, 10.0, 30.0)
    assert await store.prune(20.0, PLENTY) == 1
    assert await store.prune(20.0, PLENTY) == 0


async def test_a_live_run_stays_however_old_and_large(store: Store) -> None:
    await store.begin(RUN)
    await store.append("k1", a_piece(1, 100))
    assert await store.prune(1e12, 0) == 0
    await store.append("k1", a_piece(101, 1))
    assert await read_all(store, "k1") == events(1, 101)


async def test_the_oldest_go_until_the_logs_are_small_enough(store: Store) -> None:
    await runs_that_ended_at(store, 30.0, 10.0, 40.0, 20.0, count=10)
    one_log = 10 * (len(event(1)) + 1) + 1  # number 10 has a digit more
    assert await store.prune(0.0, 2 * one_log) == 2
    assert await keys(store) == ["k1", "k3"]


async def test_of_runs_that_ended_together_the_one_that_began_first_goes_first(store: Store) -> None:
    await runs_that_ended_at(store, 10.0, 10.0, 10.0)
    assert await store.prune(0.0, len(event(1)) + 1) == 2
    assert await keys(store) == ["k3"]


async def test_logs_within_the_bound_stay(store: Store) -> None:
    await runs_that_ended_at(store, 10.0, 20.0, count=10)
    assert await store.prune(0.0, 20 * 60) == 0
    assert await keys(store) == ["k1", "k2"]


async def test_what_a_live_run_holds_counts_too(store: Store) -> None:
    await runs_that_ended_at(store, 10.0, 20.0)
    await store.begin(a_run("live", input=b""))
    await store.append("live", a_piece(1, 9))
    stored = 11 * (len(event(1)) + 1)
    assert await store.prune(0.0, stored) == 0
    assert await store.prune(0.0, stored - 1) == 1
    assert await keys(store) == ["k2", "live"]


async def test_inputs_count_too(store: Store) -> None:
    await an_ended_run(store, a_run("k1", input=b"x" * 10_000), ended=10.0)
    await an_ended_run(store, a_run("k2", input=b""), ended=20.0)
    assert await store.prune(0.0, 9_000) == 1
    assert await keys(store) == ["k2"]


async def test_an_interrupted_run_stays_until_it_is_old(store: Store) -> None:
    await store.begin(RUN)
    await store.append("k1", a_piece(1, 1))
    await store.end("k1", "interrupted", 100.0)
    assert await store.prune(100.0, 0) == 0
    assert await store.prune(100.1, PLENTY) == 1


async def test_a_thread_goes_with_its_last_run(store: Store) -> None:
    for ended in (10.0, 20.0):
        await an_ended_run(store, a_run(f"k{ended}"), ended=ended)
    await store.save_thread(a_thread(updated=500.0))
    await store.prune(15.0, PLENTY)
    assert await store.thread("otter", "thread-1", "ann") == a_thread(updated=500.0)
    await store.prune(25.0, PLENTY)
    assert await store.thread("otter", "thread-1", "ann") is None


async def test_a_thread_goes_with_its_last_run_when_room_is_short(store: Store) -> None:
    await an_ended_run(store, a_run("k1"), ended=10.0)
    await store.save_thread(a_thread(updated=500.0))
    assert await store.prune(0.0, 0) == 1
    assert await store.threads("otter", "ann", 9) == []


async def test_a_thread_stays_while_a_run_of_it_lives(store: Store) -> None:
    await an_ended_run(store, a_run("k1"), ended=10.0)
    await store.begin(a_run("k2"))
    await store.save_thread(a_thread(updated=0.0))
    assert await store.prune(15.0, 0) == 1
    assert await store.thread("otter", "thread-1", "ann") is not None


async def test_a_thread_that_never_had_a_run_goes_when_it_is_old(store: Store) -> None:
    await store.save_thread(a_thread(updated=100.0))
    await store.prune(100.0, 0)
    assert await store.thread("otter", "thread-1", "ann") is not None
    await store.prune(100.1, 0)
    assert await store.thread("otter", "thread-1", "ann") is None


async def test_many_runs_go_in_one_call(store: Store) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(1200):
            tasks.start_soon(an_ended_run, store, a_run(f"k{number}"), 1, 10.0)
    await an_ended_run(store, a_run("young"), ended=30.0)
    assert await store.prune(20.0, PLENTY) == 1200
    assert await keys(store) == ["young"]
