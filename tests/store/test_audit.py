"""The audit log: the contract of every store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.store import AuditFilter, AuditRecord, Store

pytestmark = pytest.mark.anyio

ENTRY = AuditRecord(100.0, "run.start", "ann", "otter", "thread-1", "run-1", b'{"mode":"plan"}')


async def test_an_entry_is_kept_as_it_was_with_a_number(store: Store) -> None:
    bare = AuditRecord(101.0, "request.refuse", "søren")
    assert await store.audit.write([ENTRY, bare]) == 2
    assert await store.audit.read(0, 9) == [replace(ENTRY, number=1), replace(bare, number=2)]
    assert await store.audit.last_number() == 2


async def test_a_reader_goes_on_after_the_last_number_that_it_has(store: Store) -> None:
    await store.audit.write([ENTRY] * 5)
    assert [entry.number for entry in await store.audit.read(0, 2)] == [1, 2]
    assert [entry.number for entry in await store.audit.read(2, 9)] == [3, 4, 5]
    assert await store.audit.read(5, 9) == []


@pytest.mark.parametrize(
    ("where", "numbers"),
    [
        (AuditFilter(), [1, 2, 3, 4]),
        (AuditFilter(since=150.0), [3, 4]),
        (AuditFilter(principal="bob"), [2, 3]),
        (AuditFilter(action="run.start"), [1]),
        (AuditFilter(action="run"), [1, 2]),
        (AuditFilter(action="ru"), []),
        (AuditFilter(action="%"), []),
        (AuditFilter(since=150.0, principal="bob", action="thread"), [3]),
    ],
)
async def test_a_filter_selects(store: Store, where: AuditFilter, numbers: list[int]) -> None:
    await store.audit.write(
        [
            ENTRY,
            replace(ENTRY, action="run.cancel", principal="bob"),
            replace(ENTRY, action="thread.delete", principal="bob", at=150.0),
            replace(ENTRY, action="running", at=200.0),
        ]
    )
    assert [entry.number for entry in await store.audit.read(0, 9, where)] == numbers


async def test_retention_deletes_the_old_and_numbers_are_never_used_again(store: Store) -> None:
    await store.audit.write([ENTRY, replace(ENTRY, at=200.0), replace(ENTRY, at=50.0)])
    assert await store.audit.prune(150.0) == 2
    assert [entry.number for entry in await store.audit.read(0, 9)] == [2]
    assert await store.audit.prune(999.0) == 1
    assert (await store.audit.last_number(), await store.audit.prune(999.0)) == (3, 0)
    assert await store.audit.write([ENTRY]) == 4


async def test_nothing_to_write_changes_nothing(store: Store) -> None:
    assert await store.audit.write([]) == 0
    assert await store.audit.last_number() == 0
