"""A run's log: numbers without gaps, for every reader, from wherever, however slowly."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import AgentFault, GatewayError, StoreError
from gateway.events import Wire
from gateway.runs.log import MAX_PACK_BYTES, PACKED_CHUNKS, READ_BYTES, Chunk, Log, Reader, Replay
from gateway.store.base import Piece, RunRecord, Status
from gateway.store.memory import MemoryStore
from tests.agui.streams import steady

pytestmark = pytest.mark.anyio
LIMIT = 10.0
RECORD = RunRecord("key", "r", "t", "agent", "me", "1.0", b"{}", 0.0)


class CountingStore(MemoryStore):
    """Says how often it was read, and can be made to fail, or to let appending wait."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.broken = False
        self.gate: anyio.Event | None = None

    async def read(self, key: str, after: int, max_bytes: int) -> list[Piece]:
        self.reads += 1
        return await super().read(key, after, max_bytes)

    @property
    def is_full(self) -> bool:
        return self.gate is not None

    async def append(self, key: str, piece: Piece) -> None:
        if self.broken:
            raise StoreError("the disk is full")
        if self.gate is not None:
            await self.gate.wait()
        await super().append(key, piece)

    async def end(self, key: str, status: Status, ended: float) -> None:
        if self.broken:
            raise StoreError("the disk is full")
        await super().end(key, status, ended)


async def opened(log_tail_bytes: int = 10**6, max_run_log_bytes: int = 10**9) -> tuple[Log, CountingStore]:
    store = CountingStore()
    await store.start()
    await store.begin(RECORD)
    return Log("key", store, log_tail_bytes, max_run_log_bytes), store


def event(number: int, size: int = 0) -> Wire:
    return {"type": "CUSTOM", "name": str(number), "value": "x" * size}


async def read_all(reader: Reader) -> list[tuple[int, bytes]]:
    """(number, line) to the end."""
    found: list[tuple[int, bytes]] = []
    with anyio.fail_after(LIMIT):
        while chunks := await reader.next():
            found += lines_of(chunks)
    return found


def lines_of(chunks: list[Chunk]) -> list[tuple[int, bytes]]:
    return [pair for chunk in chunks for pair in enumerate(chunk.lines, chunk.first)]


async def seal(log: Log, *events: Wire) -> None:
    (await log.seal(list(events) or [{"type": "RUN_FINISHED"}], "finished"))()


async def test_events_are_numbered_from_one_without_gaps() -> None:
    log, _ = await opened()
    await log.append([event(1), event(2)])
    await log.append([])
    await log.append([event(3)])
    await seal(log, event(4), event(5))
    found = await read_all(log.follow())
    assert [number for number, _ in found] == [1, 2, 3, 4, 5]
    assert [f'"name":"{number}"'.encode() in line for number, line in found] == [True] * 5


async def test_a_reader_goes_on_after_the_number_it_has() -> None:
    log, _ = await opened()
    await log.append([event(number) for number in range(1, 6)])
    await seal(log)
    for after in range(8):
        assert [number for number, _ in await read_all(log.follow(after))] == list(range(after + 1, 7))


async def test_a_reader_waits_for_what_is_not_there_yet() -> None:
    log, _ = await opened()
    found: list[list[int]] = []

    async def follow() -> None:
        reader = log.follow()
        while chunks := await reader.next():
            found.append([number for number, _ in lines_of(chunks)])
            seen.set()

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            for number in (1, 2):
                seen = anyio.Event()
                await log.append([event(number)])
                await seen.wait()
            await seal(log)
    assert found == [[1], [2], [3]]


async def test_a_reader_that_was_interrupted_loses_nothing() -> None:
    log, _ = await opened()
    reader = log.follow()
    with anyio.move_on_after(0):
        await reader.next()
    await log.append([event(1)])
    await seal(log)
    assert [number for number, _ in await read_all(reader)] == [1, 2]


async def test_what_is_in_memory_is_not_read_from_the_store() -> None:
    log, store = await opened()
    for number in range(50):
        await log.append([event(number)])
    await seal(log)
    assert len(await read_all(log.follow())) == 51
    assert store.reads == 0


async def test_a_reader_that_is_behind_is_served_from_the_store() -> None:
    log, store = await opened(log_tail_bytes=1000)
    for number in range(1, 101):
        await log.append([event(number, 100)])
    await seal(log)
    found = await read_all(log.follow())
    assert [number for number, _ in found] == list(range(1, 102))
    assert store.reads > 0


async def test_no_more_is_kept_in_memory_than_the_tail() -> None:
    log, _ = await opened(log_tail_bytes=10_000)
    for number in range(200):
        await log.append([event(number, 1000)])
    kept = sum(len(line) for chunk in log._tail for line in chunk.lines)
    assert 8000 < kept <= 10_000
    await log.append([event(0, 50_000)])
    assert [chunk.first for chunk in log._tail] == [201], "the newest is kept, however large"


async def test_only_the_newest_chunks_are_kept_as_objects_and_the_older_ones_as_few() -> None:
    log, _ = await opened()
    for number in range(PACKED_CHUNKS * 4):
        await log.append([event(number)])
    assert [(len(chunk.lines), chunk.events is not None) for chunk in log._tail] == [
        *[(PACKED_CHUNKS, False)] * 3,
        *[(1, True)] * PACKED_CHUNKS,
    ]


async def test_large_chunks_stay_apart() -> None:
    log, _ = await opened(log_tail_bytes=10 * MAX_PACK_BYTES)
    for number in range(PACKED_CHUNKS * 2):
        await log.append([event(number, MAX_PACK_BYTES // 10)])
    assert [chunk.events is not None for chunk in log._tail] == [False] * PACKED_CHUNKS + [True] * PACKED_CHUNKS


@pytest.mark.parametrize("tail", [10**6, 3000])
async def test_a_reader_at_any_place_gets_the_rest_of_chunks_that_became_one(tail: int) -> None:
    log, _ = await opened(log_tail_bytes=tail)
    held = log.follow()
    await log.append([event(1)])
    chunks = await held.next()
    for number in range(2, PACKED_CHUNKS * 4):
        await log.append([event(number)])
    assert lines_of(chunks) == [(1, lines_of(chunks)[0][1])], "a chunk that a reader has does not change"
    await seal(log)
    for after in range(log.last):
        assert [number for number, _ in await read_all(log.follow(after))] == list(range(after + 1, log.last + 1))


async def test_a_slow_reader_is_never_handed_more_than_a_piece() -> None:
    log, _ = await opened(log_tail_bytes=20 * READ_BYTES)
    for number in range(40):
        await log.append([event(number, READ_BYTES // 4)])
    await seal(log)
    reader = log.follow()
    while chunks := await reader.next():
        assert sum(len(line) for _, line in lines_of(chunks)) <= READ_BYTES


async def test_many_readers_get_the_same_and_share_the_bytes() -> None:
    log, _ = await opened()
    readers = [log.follow() for _ in range(20)]
    await log.append([event(1)])
    first = [await reader.next() for reader in readers]
    assert all(chunks[0] is first[0][0] for chunks in first)
    await seal(log)
    ends = [await read_all(reader) for reader in readers]
    assert all(end == ends[0] and len(end) == 1 for end in ends)


async def test_a_late_reader_of_a_log_that_is_over_gets_it_all() -> None:
    log, _ = await opened()
    await log.append([event(1)])
    await seal(log)
    assert log.over
    assert len(await read_all(log.follow())) == 2


async def test_an_event_that_is_not_json_is_refused_before_anything_is_shown() -> None:
    log, store = await opened()
    with pytest.raises(AgentFault):
        await log.append([event(1), {"type": "CUSTOM", "name": "n", "value": object()}])
    assert log.last == 0
    await log.append([event(1)])
    assert [piece.first for piece in await store.read("key", 0, 1000)] == [1]


async def test_a_log_that_grows_too_large_fails_the_run() -> None:
    log, _ = await opened(max_run_log_bytes=5000)
    await log.append([event(1, 3000)])
    with pytest.raises(GatewayError, match="max_run_log_bytes") as refused:
        await log.append([event(2, 3000)])
    assert refused.value.code == "RUN_TOO_LARGE"
    await seal(log)
    assert [number for number, _ in await read_all(log.follow())] == [1, 2, 3], "nothing of it is kept back"


async def test_the_end_is_stored_before_it_is_shown() -> None:
    log, store = await opened()
    show = await log.seal([event(1)], "cancelled")
    assert not log.over
    record = await store.run("r", "me")
    assert record is not None
    assert (record.status, record.events) == ("cancelled", 1)
    show()
    assert log.over


async def test_readers_learn_of_the_end_even_when_the_store_is_broken(caplog: pytest.LogCaptureFixture) -> None:
    log, store = await opened()
    store.broken = True
    with pytest.raises(StoreError):
        await log.append([event(1)])
    await seal(log)
    assert len(await read_all(log.follow())) == 2, "what was shown stays shown"
    assert "could not be stored" in caplog.text


async def test_what_was_shown_is_stored_though_the_run_is_being_stopped() -> None:
    log, store = await opened()
    store.gate = anyio.Event()
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(log.append, [event(1)])
            await log.follow().next()
            tasks.cancel_scope.cancel()
            store.gate.set()
    await seal(log)
    assert [piece.last for piece in await store.read("key", 0, 1000)][-1] == 2


async def test_a_reader_whose_events_are_gone_gets_an_error() -> None:
    log, store = await opened(log_tail_bytes=10)
    await log.append([event(1)])
    await log.append([event(2)])
    await store.delete_thread("agent", "t", "me")
    with pytest.raises(StoreError, match="not in the store any more"):
        await log.follow().next()


async def replayed(status: Status, after: int) -> list[tuple[int, bytes]]:
    log, store = await opened()
    await log.append([event(1), event(2)])
    (await log.seal([event(3)], status))()
    record = await store.run("r", "me")
    assert record is not None
    return await read_all(Replay(record, store, after))


@pytest.mark.parametrize("after", range(5))
async def test_a_run_that_is_over_is_replayed_from_the_store(after: int) -> None:
    assert [number for number, _ in await replayed("finished", after)] == list(range(after + 1, 4))


@pytest.mark.parametrize("after", [3, 4, 1000])
async def test_a_client_that_saw_more_of_a_lost_run_than_was_stored_still_learns_of_its_end(after: int) -> None:
    ((number, line),) = await replayed("lost", after)
    assert number == after + 1
    assert b'"name":"3"' in line


@steady
@given(st.data(), st.lists(st.integers(1, 5), max_size=8), st.integers(1, 3000))
def test_any_reader_gets_every_event_once_and_in_order(data: st.DataObject, sizes: list[int], tail: int) -> None:
    afters = data.draw(st.lists(st.integers(0, sum(sizes)), min_size=1, max_size=3))

    async def scenario() -> None:
        log, _ = await opened(log_tail_bytes=tail)
        early = [log.follow(after) for after in afters]
        for size in sizes:
            await log.append([event(log.last + 1 + number, 100) for number in range(size)])
            if data.draw(st.booleans()):
                early.append(log.follow(data.draw(st.integers(0, log.last))))
                afters.append(early[-1]._after)
        await seal(log)
        for reader, after in zip(early, afters, strict=True):
            assert [number for number, _ in await read_all(reader)] == list(range(after + 1, sum(sizes) + 2))

    anyio.run(scenario)
