"""What every store keeps to. A new store is one more parameter of the `store` fixture."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from gateway.errors import StoreError
from gateway.store import AgentRecord, Piece, Status, Store
from tests.store.make import PLENTY, RUN, a_piece, a_run, a_thread, an_ended_run, event, events, numbered, read_all

pytestmark = pytest.mark.anyio


async def test_a_run_that_began_is_found_live_and_empty(store: Store) -> None:
    await store.begin(RUN)
    assert await store.run("run-1", "ann") == RUN
    assert await store.read("k1", 0, PLENTY) == []


async def test_a_run_begins_live_and_empty_whatever_its_record_has(store: Store) -> None:
    await store.begin(replace(RUN, status="finished", ended=3.0, events=7))
    assert await store.live() == [RUN]


async def test_a_run_keeps_every_field_as_it_was(store: Store) -> None:
    run = a_run(protocol=None, input=b'"\xf0\x9f\xa6\xa6\\u0000"', started=1234567890.123456, principal="søren")
    await store.begin(run)
    assert await store.run("run-1", "søren") == run


async def test_a_key_begins_only_once(store: Store) -> None:
    await store.begin(RUN)
    with pytest.raises(StoreError, match="k1 has begun before"):
        await store.begin(RUN)
    await store.end("k1", "finished", 2.0)
    with pytest.raises(StoreError, match="k1 has begun before"):
        await store.begin(RUN)
    assert await store.live() == []


async def test_a_name_used_again_means_the_newest_run(store: Store) -> None:
    await an_ended_run(store, a_run("k1", started=9.0))
    await store.begin(a_run("k2", started=1.0))  # begun later; clocks may go back
    found = await store.run("run-1", "ann")
    assert found is not None and found.key == "k2"


async def test_a_run_is_hidden_from_other_principals(store: Store) -> None:
    await store.begin(RUN)
    assert await store.run("run-1", "bob") is None


async def test_an_unknown_run_is_none_and_has_no_events(store: Store) -> None:
    assert await store.run("run-1", "ann") is None
    assert await store.read("k1", 0, PLENTY) == []


async def test_appended_events_are_read_at_once_with_their_numbers(store: Store) -> None:
    await store.begin(RUN)
    await store.append("k1", a_piece(1, 3))
    assert numbered(await store.read("k1", 0, PLENTY)) == events(1, 3)
    await store.append("k1", a_piece(4, 2))
    assert numbered(await store.read("k1", 0, PLENTY)) == events(1, 5)


async def test_a_live_run_counts_its_events(store: Store) -> None:
    await store.begin(RUN)
    await store.append("k1", a_piece(1, 3))
    await store.append("k1", a_piece(4, 64))
    assert await store.live() == [replace(RUN, events=67)]


async def test_events_come_back_byte_for_byte(store: Store) -> None:
    lines = [b"", bytes(range(10)) + bytes(range(11, 256)), b"\xff\x00", b"{}", b"", b" "]
    await store.begin(RUN)
    await store.append("k1", Piece(1, lines))
    assert [line for _, line in await read_all(store, "k1")] == lines


async def test_a_list_may_be_used_again_after_it_was_appended(store: Store) -> None:
    piece = a_piece(1, 2)
    await store.begin(RUN)
    await store.append("k1", piece)
    piece.lines.clear()
    assert await read_all(store, "k1") == events(1, 2)


async def test_reading_goes_on_after_any_number(store: Store) -> None:
    await store.begin(RUN)
    await store.append("k1", a_piece(1, 4))
    await store.append("k1", a_piece(5, 1))
    assert await store.read("k1", 4, PLENTY) == [a_piece(5, 1)]
    await store.append("k1", a_piece(6, 5))
    for after in range(12):
        assert numbered(await store.read("k1", after, PLENTY)) == events(after + 1, 10)


async def test_a_read_stays_within_its_bytes(store: Store) -> None:
    await store.begin(RUN)
    for first in (1, 11, 21):
        await store.append("k1", a_piece(first, 10))
    for max_bytes in range(len(event(1)), 1300, 61):
        found = numbered(await store.read("k1", 3, max_bytes))
        assert found == events(4, 3 + len(found))
        assert sum(len(line) for _, line in found) <= max_bytes


async def test_a_read_gives_one_event_even_if_that_is_too_large(store: Store) -> None:
    await store.begin(RUN)
    await store.append("k1", a_piece(1, 3))
    assert await store.read("k1", 1, 0) == [a_piece(2, 1)]


@pytest.mark.parametrize("max_bytes", [1, 50, 100, 1000])
async def test_small_reads_add_up_to_the_whole_log(store: Store, max_bytes: int) -> None:
    await store.begin(RUN)
    for first in range(1, 100, 3):
        await store.append("k1", a_piece(first, 3))
    assert await read_all(store, "k1", max_bytes) == events(1, 99)


@pytest.mark.parametrize("first", [1, 3, 5, 0])
async def test_a_number_that_is_not_the_next_is_refused(store: Store, first: int) -> None:
    await store.begin(RUN)
    await store.append("k1", a_piece(1, 3))
    with pytest.raises(StoreError, match=f"run k1 holds 3 events: the next number is not {first}"):
        await store.append("k1", a_piece(first, 1))
    await store.append("k1", a_piece(4, 1))
    assert await read_all(store, "k1") == events(1, 4)


async def test_an_empty_piece_changes_nothing(store: Store) -> None:
    await store.begin(RUN)
    await store.append("k1", Piece(1, []))
    await store.append("k1", a_piece(1, 1))
    assert await read_all(store, "k1") == events(1, 1)


@pytest.mark.parametrize("status", ["finished", "interrupted", "cancelled", "failed", "lost"])
async def test_an_ended_run_has_its_status_its_time_and_its_count(store: Store, status: Status) -> None:
    await store.begin(RUN)
    await store.append("k1", a_piece(1, 5))
    await store.end("k1", status, 200.5)
    assert await store.run("run-1", "ann") == replace(RUN, status=status, ended=200.5, events=5)
    assert await store.live() == []
    assert await read_all(store, "k1") == events(1, 5)


async def test_nothing_is_appended_to_a_run_that_ended(store: Store) -> None:
    await an_ended_run(store, RUN)
    with pytest.raises(StoreError, match="run k1 is not live"):
        await store.append("k1", a_piece(2, 1))
    assert await read_all(store, "k1") == events(1, 1)


async def test_a_run_ends_only_once(store: Store) -> None:
    await an_ended_run(store, RUN)
    with pytest.raises(StoreError, match="run k1 is not live"):
        await store.end("k1", "failed", 201.0)
    found = await store.run("run-1", "ann")
    assert found is not None and found.status == "finished"


async def test_a_run_that_never_began_neither_grows_nor_ends(store: Store) -> None:
    with pytest.raises(StoreError, match="run k9 is not live"):
        await store.append("k9", a_piece(1, 1))
    with pytest.raises(StoreError, match="run k9 is not live"):
        await store.end("k9", "failed", 201.0)


async def test_live_runs_are_listed_oldest_first(store: Store) -> None:
    for key in ("k3", "k1", "k2", "k4"):
        await store.begin(a_run(key))
    await store.end("k1", "finished", 2.0)
    assert [run.key for run in await store.live()] == ["k3", "k2", "k4"]


async def test_a_threads_newest_runs_are_listed_oldest_first(store: Store) -> None:
    for number in range(5):
        await an_ended_run(store, a_run(f"k{number}", run_id=f"run-{number}"))
    await store.begin(a_run("k7", agent="beaver"))
    await store.begin(a_run("k8", thread_id="thread-2"))
    await store.begin(a_run("k9", principal="bob"))
    name = "otter", "thread-1", "ann"
    assert [run.key for run in await store.thread_runs(*name, 3)] == ["k2", "k3", "k4"]
    assert [run.key for run in await store.thread_runs(*name, 99)] == ["k0", "k1", "k2", "k3", "k4"]
    assert await store.thread_runs("otter", "thread-3", "ann", 3) == []


async def test_a_saved_thread_is_found_and_replaced(store: Store) -> None:
    await store.save_thread(a_thread())
    assert await store.thread("otter", "thread-1", "ann") == a_thread()
    newer = a_thread(updated=101.5, session="s-1", interrupts=b'[{"id":"q"}]')
    await store.save_thread(newer)
    assert await store.thread("otter", "thread-1", "ann") == newer


async def test_a_thread_belongs_to_one_agent_and_one_principal(store: Store) -> None:
    await store.save_thread(a_thread())
    assert await store.thread("beaver", "thread-1", "ann") is None
    assert await store.thread("otter", "thread-2", "ann") is None
    assert await store.thread("otter", "thread-1", "bob") is None
    assert await store.threads("beaver", "ann", 9) == await store.threads("otter", "bob", 9) == []


async def test_threads_are_listed_newest_first(store: Store) -> None:
    saved = [a_thread(f"t{updated}", updated=float(updated)) for updated in (3, 1, 4, 2)]
    for thread in saved:
        await store.save_thread(thread)
    await store.save_thread(replace(saved[1], updated=9.0))
    found = await store.threads("otter", "ann", 3)
    assert [thread.thread_id for thread in found] == ["t1", "t4", "t3"]


async def test_a_deleted_thread_takes_its_runs_and_their_logs_along(store: Store) -> None:
    await store.save_thread(a_thread())
    await an_ended_run(store, a_run("k1"))
    await store.begin(a_run("k2", run_id="run-2"))
    await store.append("k2", a_piece(1, 1))
    assert await store.delete_thread("otter", "thread-1", "ann") is True
    assert await store.thread("otter", "thread-1", "ann") is None
    assert await store.thread_runs("otter", "thread-1", "ann", 9) == await store.live() == []
    assert await store.run("run-1", "ann") is None
    assert await store.read("k1", 0, PLENTY) == await store.read("k2", 0, PLENTY) == []


async def test_nothing_is_appended_to_a_run_whose_thread_was_deleted(store: Store) -> None:
    await store.begin(RUN)
    await store.delete_thread("otter", "thread-1", "ann")
    with pytest.raises(StoreError, match="run k1 is not live"):
        await store.append("k1", a_piece(1, 1))


async def test_deleting_a_thread_leaves_the_others(store: Store) -> None:
    others = [a_run("k2", agent="beaver"), a_run("k3", thread_id="thread-2"), a_run("k4", principal="bob")]
    for run in [RUN, *others]:
        await store.begin(run)
        await store.append(run.key, a_piece(1, 2))
        await store.save_thread(a_thread(run.thread_id, agent=run.agent, principal=run.principal))
    await store.delete_thread("otter", "thread-1", "ann")
    assert [run.key for run in await store.live()] == ["k2", "k3", "k4"]
    for run in others:
        assert await store.thread(run.agent, run.thread_id, run.principal) is not None
        assert await read_all(store, run.key) == events(1, 2)


async def test_deleting_returns_whether_there_was_anything(store: Store) -> None:
    assert await store.delete_thread("otter", "thread-1", "ann") is False
    await store.save_thread(a_thread())
    assert await store.delete_thread("otter", "thread-1", "ann") is True
    await store.begin(RUN)
    assert await store.delete_thread("otter", "thread-1", "ann") is True
    assert await store.delete_thread("otter", "thread-1", "ann") is False


async def test_a_deleted_runs_key_may_begin_again_with_an_empty_log(store: Store) -> None:
    await an_ended_run(store, RUN, count=5)
    await store.delete_thread("otter", "thread-1", "ann")
    await store.begin(RUN)
    assert await store.read("k1", 0, PLENTY) == []
    assert await store.live() == [RUN]


async def test_runs_at_the_same_time_keep_their_own_numbers(store: Store) -> None:
    async def write(key: str, size: int) -> None:
        await store.begin(a_run(key))
        for first in range(1, 200, size):
            await store.append(key, a_piece(first, size))
            await anyio.lowlevel.checkpoint()
        await store.end(key, "finished", 2.0)

    async with anyio.create_task_group() as tasks:
        for size in range(1, 9):
            tasks.start_soon(write, f"k{size}", size)
    for size in range(1, 9):
        assert await read_all(store, f"k{size}", 2000) == events(1, len(range(1, 200, size)) * size)


async def test_readers_of_a_growing_log_see_no_gap(store: Store) -> None:
    total = 3000
    seen: list[list[tuple[int, bytes]]] = []

    async def follow(max_bytes: int) -> None:
        found: list[tuple[int, bytes]] = []
        while len(found) < total:
            found += numbered(await store.read("k1", len(found), max_bytes))
            await anyio.lowlevel.checkpoint()
        seen.append(found)

    await store.begin(RUN)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for max_bytes in (1_000, 10_000, 100_000):
                tasks.start_soon(follow, max_bytes)
            for first in range(1, total, 5):
                await store.append("k1", a_piece(first, 5))
                await anyio.lowlevel.checkpoint()
    assert seen == [events(1, total)] * 3


async def test_an_open_store_can_be_written(store: Store) -> None:
    await store.check()


async def test_a_closed_store_refuses_and_may_be_closed_again(store: Store) -> None:
    await store.begin(RUN)
    await store.aclose()
    await store.aclose()
    for refused in (store.begin(a_run("k2")), store.append("k1", a_piece(1, 1)), store.live(), store.check()):
        with pytest.raises(StoreError, match="not open"):
            await refused


async def test_a_registered_agent_is_kept_until_it_is_replaced_or_deleted(store: Store) -> None:
    first = AgentRecord("otter", b'{"id":"otter"}', "ann", 1.0)
    await store.save_agent(first)
    await store.save_agent(AgentRecord("beaver", b"{}", "bob", 2.0))
    assert [agent.id for agent in await store.agents()] == ["otter", "beaver"]
    await store.save_agent(replace(first, definition=b"[]", at=3.0))
    assert [agent.definition for agent in await store.agents()] == [b"{}", b"[]"]
    assert await store.delete_agent("otter", "bob", 4.0)
    assert not await store.delete_agent("otter", "bob", 5.0)
    assert [agent.id for agent in await store.agents()] == ["beaver"]


async def test_every_change_of_an_agent_is_noted_with_who_did_it_and_when(store: Store) -> None:
    await store.save_agent(AgentRecord("otter", b"{}", "ann", 1.0))
    await store.delete_agent("otter", "bob", 2.0)
    await store.delete_agent("otter", "eve", 3.0)  # there is none: nothing was changed
    entries = [(record.at, record.action, record.principal, record.agent) for record in await store.audit.read(0, 9)]
    assert entries == [(1.0, "agent.register", "ann", "otter"), (2.0, "agent.remove", "bob", "otter")]
