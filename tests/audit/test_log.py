"""The audit log: written behind, or before the action takes effect; a store that fails for a while loses nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import anyio
import pytest

from gateway.audit import AuditFilter, AuditLog
from gateway.audit.log import MAX_PENDING
from gateway.errors import StoreError
from gateway.store import AuditRecord, MemoryStore

pytestmark = pytest.mark.anyio

ALL = AuditFilter()


class FlakyStore(MemoryStore):
    """Its audit log can be made to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = False
        self._write = self.audit.write
        self.audit.write = self._flaky_write  # type: ignore[method-assign]

    async def _flaky_write(self, records: Sequence[AuditRecord]) -> int:
        if self.fails:
            raise StoreError("the disk is full")
        return await self._write(records)


@pytest.fixture
async def store() -> AsyncIterator[FlakyStore]:
    store = FlakyStore()
    await store.start()
    yield store
    await store.aclose()


async def actions(store: FlakyStore) -> list[str]:
    return [record.action for record in await store.audit.read(0, 100_000)]


async def test_what_is_recorded_is_written_within_a_moment_in_its_order(store: FlakyStore) -> None:
    log = AuditLog(store)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(log.write_for_ever)
        reader = log.follow(0, ALL)
        log.record("run.start", "ann", agent="otter", thread="t", run="r", detail={"model": "m"})
        log.record("run.cancel", "ann")
        found: list[AuditRecord] = []
        with anyio.fail_after(5):
            while len(found) < 2:
                found += await reader.next()
        tasks.cancel_scope.cancel()
    first = found[0]
    assert [record.action for record in found] == ["run.start", "run.cancel"]
    assert (first.principal, first.agent, first.thread_id, first.run_id) == ("ann", "otter", "t", "r")
    assert first.detail == b'{"model":"m"}'


async def test_a_durable_entry_is_stored_on_return_after_those_before_it(store: FlakyStore) -> None:
    log = AuditLog(store)
    log.record("run.start", "ann")
    await log.record_durably("interrupt.approve", "ann")
    assert await actions(store) == ["run.start", "interrupt.approve"]


async def test_when_the_store_fails_a_durable_entry_raises_and_others_wait(store: FlakyStore) -> None:
    log = AuditLog(store)
    store.fails = True
    log.record("run.start", "ann")
    with pytest.raises(StoreError):
        await log.record_durably("interrupt.approve", "ann")
    store.fails = False
    await log.record_durably("interrupt.deny", "ann")
    assert await actions(store) == ["run.start", "interrupt.deny"]


async def test_what_a_failing_store_cannot_take_is_counted(store: FlakyStore) -> None:
    log = AuditLog(store)
    for _ in range(MAX_PENDING + 7):
        log.record("run.start", "ann")
    await log.record_durably("thread.set", "ann")
    records = await store.audit.read(MAX_PENDING, 9)
    assert [(record.action, record.detail) for record in records] == [
        ("thread.set", b"{}"),
        ("audit.lose", b'{"count":7}'),
    ]


async def test_the_gateways_end_writes_the_rest(store: FlakyStore) -> None:
    log = AuditLog(store)
    for _ in range(3):
        log.record_refusal("eve", "UNAUTHORIZED", "GET /agents", 401)
    log.close_readers()
    await log.aclose()
    records = await store.audit.read(0, 9)
    assert [record.detail for record in records] == [
        b'{"code":"UNAUTHORIZED","route":"GET /agents","status":401,"count":1}',
        b'{"code":"UNAUTHORIZED","route":"GET /agents","status":401,"count":2}',
    ]
    assert await log.follow(0, ALL).next() == []


async def test_a_principal_connects_once_a_day(store: FlakyStore) -> None:
    now = 1000.0
    log = AuditLog(store, clock=lambda: now)
    for _ in range(5):
        log.record_connection("ann")
    log.record_connection("bob")
    now += 86400.0
    log.record_connection("ann")
    await log.aclose()
    records = await store.audit.read(0, 9)
    assert [(record.at, record.principal) for record in records] == [(1000.0, "ann"), (1000.0, "bob"), (now, "ann")]
