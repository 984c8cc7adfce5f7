"""What became of a message: written into the store together with the receipt that the thread's feed tells of it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from gateway.events import Wire
from gateway.runs.thread_state import ThreadKey
from gateway.store.base import Store
from gateway.store.deliveries import WAITING, DeliveryRecord
from gateway.threads.delivery.queue import QueuedDelivery
from gateway.threads.events import ThreadEvents


class ThreadDeleted(Exception):
    """Its thread was deleted, and the delivery with it."""


class Receipts:
    """Every method may raise `StoreError`, or `ThreadDeleted`; then nothing was told, and nothing is another."""

    def __init__(self, store: Store, feeds: ThreadEvents) -> None:
        self._store, self._feeds = store, feeds

    async def accept(self, record: DeliveryRecord) -> DeliveryRecord:
        """The one that is kept: another, if there is one of this id already."""
        thread = ThreadKey(*record.thread)
        channel = self._feeds.observe(thread)
        kept = await self._store.deliveries.accept(record, self._feeds.notes(receipt(record)))
        if kept is record:
            channel.deliveries[record.message_id] = record.delivery_id
            self._feeds.grown(thread)
        return kept

    async def begin(self, delivery: QueuedDelivery, run_id: str) -> None:
        """It is about to be delivered in this run: a gateway that dies now leaves word where to look."""
        await self._save(replace(delivery.record, run_id=run_id, handed=False), delivery)

    async def hand(self, delivery: QueuedDelivery) -> None:
        """The agent is given it now: from here on it must not be given again."""
        await self._save(replace(delivery.record, handed=True), delivery)

    async def defer(self, delivery: QueuedDelivery, reason: str, until: str | None = None) -> None:
        """Told once, with the first reason."""
        if delivery.record.status == "accepted":
            await self.defer_again(delivery, delivery.record.mode, reason, until)
        elif delivery.record.run_id is not None:
            await self._save(replace(delivery.record, run_id=None), delivery)
        delivery.decided.set()

    async def defer_again(self, delivery: QueuedDelivery, mode: str, reason: str, until: str | None = None) -> None:
        record = replace(delivery.record, status="deferred", mode=mode, reason=reason, run_id=None)
        await self._save(record, delivery, receipt(record, availableAt=until or "on-idle"))
        delivery.decided.set()

    async def deliver(self, delivery: QueuedDelivery, run_id: str | None = None) -> None:
        record = replace(delivery.record, status="delivered", reason=None, run_id=run_id or delivery.record.run_id)
        await self._save(record, delivery, receipt(record))
        delivery.decided.set()

    async def fail(self, delivery: QueuedDelivery, reason: str, code: str | None = None) -> None:
        record = replace(delivery.record, status="failed", reason=reason)
        await self._save(record, delivery, receipt(record, code=code, retryable=True))
        self._feeds.observe(ThreadKey(*record.thread)).deliveries.pop(record.message_id, None)
        delivery.decided.set()

    async def fail_deleted(self, delivery: QueuedDelivery) -> None:
        """Its thread is gone, and the record with it: only the feed tells."""
        delivery.record = replace(delivery.record, status="failed", reason="the thread was deleted", content=b"")
        delivery.decided.set()
        thread = ThreadKey(*delivery.record.thread)
        await self._store.deliveries.append_events(thread, self._feeds.notes(receipt(delivery.record, retryable=False)))
        self._feeds.grown(thread)

    async def _save(self, record: DeliveryRecord, delivery: QueuedDelivery, *told: Wire) -> None:
        record = replace(record, at=time.time(), content=record.content if record.status in WAITING else b"")
        if not await self._store.deliveries.save(record, self._feeds.notes(*told)):
            raise ThreadDeleted(record.delivery_id)
        delivery.record = record
        if told:
            self._feeds.grown(ThreadKey(*record.thread))


def receipt(record: DeliveryRecord, **more: Any) -> Wire:
    """Agent Relay's event."""
    told = {
        "type": f"delivery.{record.status}",
        "deliveryId": record.delivery_id,
        "messageId": record.message_id,
        "mode": record.mode,
        "runId": record.run_id,
        "reason": record.reason,
        **more,
    }
    return {key: value for key, value in told.items() if value is not None}
