"""Deliveries and feeds: what every store keeps to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.store import DeliveryRecord, Notes, SqliteStore, Store, open_store
from tests.store.make import PLENTY, RUN, a_thread

pytestmark = pytest.mark.anyio

THREAD = ("otter", "thread-1", "ann")
DELIVERY = DeliveryRecord(*THREAD, "d1", "m1", "on-idle", "accepted", "abc", b'{"message":{}}', 100.0)


def notes(*lines: bytes, at: float = 100.0, keep: int = 1000) -> Notes:
    return Notes(lines, at, keep)


async def read(store: Store, after: int = 0, limit: int = 1000) -> list[tuple[int, bytes]]:
    return await store.mail.notes(THREAD, after, limit)


# -- deliveries


async def test_a_delivery_is_kept_as_it_was_with_the_notes_that_tell_of_it(store: Store) -> None:
    delivery = replace(DELIVERY, run_id="run-1", reason="søren is busy", handed=True, content=b"\x00\xff")
    assert await store.mail.accept(delivery, notes(b"one", b"two")) == delivery
    assert await store.mail.delivery(THREAD, "d1") == delivery
    assert await read(store) == [(1, b"one"), (2, b"two")]


async def test_the_same_id_again_is_the_delivery_there_is_and_reports_nothing_new(store: Store) -> None:
    await store.mail.accept(DELIVERY, notes(b"one"))
    again = replace(DELIVERY, message_id="m2", digest="other")
    assert await store.mail.accept(again, notes(b"two")) == DELIVERY
    assert await read(store) == [(1, b"one")]


async def test_another_thread_or_principal_may_have_the_same_id(store: Store) -> None:
    others = [replace(DELIVERY, thread_id="thread-2"), replace(DELIVERY, principal="bob"), replace(DELIVERY, agent="a")]
    for delivery in (DELIVERY, *others):
        assert await store.mail.accept(delivery, notes(b"one")) is not None
        assert await store.mail.delivery(delivery.thread, "d1") == delivery
    assert await read(store) == [(1, b"one")]
    assert await store.mail.delivery(THREAD, "d2") is None


async def test_what_waits_is_listed_in_the_order_in_which_it_came(store: Store) -> None:
    for name in ("d3", "d1", "d2", "d4"):
        await store.mail.accept(replace(DELIVERY, delivery_id=name), notes())
    assert await store.mail.save(replace(DELIVERY, delivery_id="d1", status="delivered", content=b""), notes(b"done"))
    assert await store.mail.save(replace(DELIVERY, delivery_id="d3", status="deferred", at=500.0), notes(b"later"))
    assert [delivery.delivery_id for delivery in await store.mail.waiting()] == ["d3", "d2", "d4"]
    assert await read(store) == [(1, b"done"), (2, b"later")]


async def test_what_is_not_there_any_more_is_not_saved_and_not_reported(store: Store) -> None:
    assert not await store.mail.save(DELIVERY, notes(b"one"))
    assert (await read(store), await store.mail.waiting()) == ([], [])


# -- feeds


async def test_notes_are_numbered_for_each_thread_without_gaps(store: Store) -> None:
    other = ("otter", "thread-2", "ann")
    await store.mail.note(THREAD, notes(b"a", b"b"))
    await store.mail.note(other, notes(b"x"))
    await store.mail.note(THREAD, notes(b"c"))
    assert await read(store) == [(1, b"a"), (2, b"b"), (3, b"c")]
    assert await store.mail.notes(other, 0, 9) == [(1, b"x")]
    assert [await store.mail.last_note(name) for name in (THREAD, other, ("otter", "t", "ann"))] == [3, 1, 0]


async def test_reading_goes_on_after_any_number_and_within_its_limit(store: Store) -> None:
    await store.mail.note(THREAD, notes(*[b"%d" % number for number in range(1, 11)]))
    assert await read(store, after=4, limit=3) == [(5, b"5"), (6, b"6"), (7, b"7")]
    assert await read(store, after=10) == []


async def test_only_the_newest_of_a_thread_are_kept(store: Store) -> None:
    for number in range(1, 8):
        await store.mail.note(THREAD, notes(b"%d" % number, keep=3))
    assert await read(store) == [(5, b"5"), (6, b"6"), (7, b"7")]


async def test_nothing_to_tell_makes_no_feed(store: Store) -> None:
    await store.mail.note(THREAD, notes())
    assert await store.mail.last_note(THREAD) == 0


async def test_a_deleted_thread_takes_its_mail_along_and_its_numbers_go_on(store: Store) -> None:
    bobs = replace(DELIVERY, principal="bob")
    await store.save_thread(a_thread())
    await store.mail.accept(DELIVERY, notes(b"a", b"b"))
    await store.mail.accept(bobs, notes(b"bob's"))
    assert await store.delete_thread(*THREAD)
    assert (await store.mail.delivery(THREAD, "d1"), await read(store)) == (None, [])
    assert await store.mail.waiting() == [bobs]
    await store.mail.note(THREAD, notes(b"c"))
    assert await read(store) == [(3, b"c")]


async def test_pruning_takes_what_is_old_and_leaves_what_waits(store: Store) -> None:
    done = replace(DELIVERY, delivery_id="done", status="delivered", at=10.0)
    for delivery in (replace(DELIVERY, at=1.0), done, replace(done, delivery_id="new", at=200.0)):
        await store.mail.accept(delivery, notes(b"%f" % delivery.at, at=delivery.at))
    assert await store.mail.prune(100.0, PLENTY) == 2
    assert [number for number, _ in await read(store)] == [3]
    found = [await store.mail.delivery(THREAD, name) for name in ("d1", "done", "new")]
    assert [one is not None for one in found] == [True, False, True]


async def test_pruning_takes_the_oldest_while_there_are_too_many(store: Store) -> None:
    other: Any = ("otter", "thread-2", "ann")
    for number in range(3):
        await store.mail.note(THREAD, notes(b"mine", at=10.0 + 2 * number))
        await store.mail.note(other, notes(b"other", at=11.0 + 2 * number))
    assert await store.mail.prune(0.0, 3) == 3
    assert [number for number, _ in await read(store)] == [3]
    assert [number for number, _ in await store.mail.notes(other, 0, 9)] == [2, 3]


async def test_an_old_feed_without_notes_is_forgotten(store: Store) -> None:
    await store.mail.note(THREAD, notes(b"a", b"b", at=1.0))
    await store.mail.prune(50.0, PLENTY)
    assert await store.mail.last_note(THREAD) == 0


async def test_pruning_runs_leaves_the_mail(store: Store) -> None:
    await store.begin(RUN)
    await store.mail.accept(DELIVERY, notes(b"a"))
    await store.end("k1", "finished", 2.0)
    await store.prune(50.0, 0)
    assert await store.mail.waiting() == [DELIVERY]


async def test_mail_is_there_after_the_store_was_opened_again(tmp_path: Path) -> None:
    store = open_store(f"sqlite://{tmp_path}/store.db")
    await store.start()
    await store.mail.accept(DELIVERY, notes(b"a"))
    await store.aclose()
    again = SqliteStore(tmp_path / "store.db")
    await again.start()
    assert (await again.mail.waiting(), await read(again)) == ([DELIVERY], [(1, b"a")])
    await again.aclose()
