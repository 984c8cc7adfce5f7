"""Deliveries and thread events: the contract of every store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.store import DeliveryRecord, EventBatch, SqliteStore, Store, open_store
from tests.store.make import PLENTY, RUN, a_thread

pytestmark = pytest.mark.anyio

THREAD = ("otter", "thread-1", "ann")
DELIVERY = DeliveryRecord(*THREAD, "d1", "m1", "on-idle", "accepted", "abc", b'{"message":{}}', 100.0)


def events(*lines: bytes, at: float = 100.0, keep: int = 1000) -> EventBatch:
    return EventBatch(lines, at, keep)


async def read_events_of_thread(store: Store, after: int = 0, limit: int = 1000) -> list[tuple[int, bytes]]:
    return await store.deliveries.read_events(THREAD, after, limit)


# -- deliveries


async def test_a_delivery_is_kept_as_it_was_with_its_events(store: Store) -> None:
    delivery = replace(DELIVERY, run_id="run-1", reason="søren is busy", handed=True, content=b"\x00\xff")
    assert await store.deliveries.accept(delivery, events(b"one", b"two")) == delivery
    assert await store.deliveries.delivery(THREAD, "d1") == delivery
    assert await read_events_of_thread(store) == [(1, b"one"), (2, b"two")]


async def test_the_same_id_again_returns_the_first_delivery_and_adds_no_event(store: Store) -> None:
    await store.deliveries.accept(DELIVERY, events(b"one"))
    again = replace(DELIVERY, message_id="m2", digest="other")
    assert await store.deliveries.accept(again, events(b"two")) == DELIVERY
    assert await read_events_of_thread(store) == [(1, b"one")]


async def test_another_thread_or_principal_may_have_the_same_id(store: Store) -> None:
    others = [replace(DELIVERY, thread_id="thread-2"), replace(DELIVERY, principal="bob"), replace(DELIVERY, agent="a")]
    for delivery in (DELIVERY, *others):
        assert await store.deliveries.accept(delivery, events(b"one")) is not None
        assert await store.deliveries.delivery(delivery.thread, "d1") == delivery
    assert await read_events_of_thread(store) == [(1, b"one")]
    assert await store.deliveries.delivery(THREAD, "d2") is None


async def test_what_waits_is_listed_in_the_order_in_which_it_came(store: Store) -> None:
    for name in ("d3", "d1", "d2", "d4"):
        await store.deliveries.accept(replace(DELIVERY, delivery_id=name), events())
    assert await store.deliveries.save(
        replace(DELIVERY, delivery_id="d1", status="delivered", content=b""), events(b"done")
    )
    assert await store.deliveries.save(
        replace(DELIVERY, delivery_id="d3", status="deferred", at=500.0), events(b"later")
    )
    assert [delivery.delivery_id for delivery in await store.deliveries.waiting()] == ["d3", "d2", "d4"]
    assert await read_events_of_thread(store) == [(1, b"done"), (2, b"later")]


async def test_what_is_not_there_any_more_is_not_saved_and_not_reported(store: Store) -> None:
    assert not await store.deliveries.save(DELIVERY, events(b"one"))
    assert (await read_events_of_thread(store), await store.deliveries.waiting()) == ([], [])


# -- feeds


async def test_events_are_numbered_for_each_thread_without_gaps(store: Store) -> None:
    other = ("otter", "thread-2", "ann")
    await store.deliveries.append_events(THREAD, events(b"a", b"b"))
    await store.deliveries.append_events(other, events(b"x"))
    await store.deliveries.append_events(THREAD, events(b"c"))
    assert await read_events_of_thread(store) == [(1, b"a"), (2, b"b"), (3, b"c")]
    assert await store.deliveries.read_events(other, 0, 9) == [(1, b"x")]
    assert [await store.deliveries.last_event_number(name) for name in (THREAD, other, ("otter", "t", "ann"))] == [
        3,
        1,
        0,
    ]


async def test_reading_goes_on_after_any_number_and_within_its_limit(store: Store) -> None:
    await store.deliveries.append_events(THREAD, events(*[b"%d" % number for number in range(1, 11)]))
    assert await read_events_of_thread(store, after=4, limit=3) == [(5, b"5"), (6, b"6"), (7, b"7")]
    assert await read_events_of_thread(store, after=10) == []


async def test_only_the_newest_of_a_thread_are_kept(store: Store) -> None:
    for number in range(1, 8):
        await store.deliveries.append_events(THREAD, events(b"%d" % number, keep=3))
    assert await read_events_of_thread(store) == [(5, b"5"), (6, b"6"), (7, b"7")]


async def test_no_events_make_no_feed(store: Store) -> None:
    await store.deliveries.append_events(THREAD, events())
    assert await store.deliveries.last_event_number(THREAD) == 0


async def test_a_deleted_thread_loses_its_deliveries_and_its_numbering_continues(store: Store) -> None:
    bobs = replace(DELIVERY, principal="bob")
    await store.save_thread(a_thread())
    await store.deliveries.accept(DELIVERY, events(b"a", b"b"))
    await store.deliveries.accept(bobs, events(b"bob's"))
    assert await store.delete_thread(*THREAD)
    assert (await store.deliveries.delivery(THREAD, "d1"), await read_events_of_thread(store)) == (None, [])
    assert await store.deliveries.waiting() == [bobs]
    await store.deliveries.append_events(THREAD, events(b"c"))
    assert await read_events_of_thread(store) == [(3, b"c")]


async def test_pruning_takes_what_is_old_and_leaves_what_waits(store: Store) -> None:
    done = replace(DELIVERY, delivery_id="done", status="delivered", at=10.0)
    for delivery in (replace(DELIVERY, at=1.0), done, replace(done, delivery_id="new", at=200.0)):
        await store.deliveries.accept(delivery, events(b"%f" % delivery.at, at=delivery.at))
    assert await store.deliveries.prune(100.0, PLENTY) == 2
    assert [number for number, _ in await read_events_of_thread(store)] == [3]
    found = [await store.deliveries.delivery(THREAD, name) for name in ("d1", "done", "new")]
    assert [one is not None for one in found] == [True, False, True]


async def test_pruning_takes_the_oldest_while_there_are_too_many(store: Store) -> None:
    other: Any = ("otter", "thread-2", "ann")
    for number in range(3):
        await store.deliveries.append_events(THREAD, events(b"mine", at=10.0 + 2 * number))
        await store.deliveries.append_events(other, events(b"other", at=11.0 + 2 * number))
    assert await store.deliveries.prune(0.0, 3) == 3
    assert [number for number, _ in await read_events_of_thread(store)] == [3]
    assert [number for number, _ in await store.deliveries.read_events(other, 0, 9)] == [2, 3]


async def test_an_old_feed_without_notes_is_forgotten(store: Store) -> None:
    await store.deliveries.append_events(THREAD, events(b"a", b"b", at=1.0))
    await store.deliveries.prune(50.0, PLENTY)
    assert await store.deliveries.last_event_number(THREAD) == 0


async def test_pruning_runs_keeps_deliveries(store: Store) -> None:
    await store.begin(RUN)
    await store.deliveries.accept(DELIVERY, events(b"a"))
    await store.end("k1", "finished", 2.0)
    await store.prune(50.0, 0)
    assert await store.deliveries.waiting() == [DELIVERY]


async def test_mail_is_there_after_the_store_was_opened_again(tmp_path: Path) -> None:
    store = open_store(f"sqlite://{tmp_path}/store.db")
    await store.start()
    await store.deliveries.accept(DELIVERY, events(b"a"))
    await store.aclose()
    again = SqliteStore(tmp_path / "store.db")
    await again.start()
    assert (await again.deliveries.waiting(), await read_events_of_thread(again)) == ([DELIVERY], [(1, b"a")])
    await again.aclose()
