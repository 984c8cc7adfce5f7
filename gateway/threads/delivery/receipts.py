"""What became of a message: stored together with the receipt among the thread's events."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from gateway.events import Wire
from gateway.identity import ThreadKey
from gateway.store.base import Store
from gateway.store.deliveries import WAITING, DeliveryRecord
from gateway.threads.delivery.queue import QueuedDelivery
from gateway.threads.events import ThreadEvents


class ThreadDeleted(Exception):
    """The thread was deleted, and the delivery with it."""


class Receipts:
    """Every method may raise `StoreError` or `ThreadDeleted`; then nothing was reported and nothing has changed."""

    def __init__(self, store: Store, events: ThreadEvents) -> None:
        self._store = store
        self._events = events

    async def accept(self, record: DeliveryRecord) -> DeliveryRecord:
        """Returns the stored record: another one, if the delivery id is taken already."""
        thread = ThreadKey(*record.thread)
        self._events.observe(thread)
        stored = await self._store.deliveries.accept(record, self._events.to_notes(to_receipt(record)))
        if stored is record:
            self._events.expect_delivery(thread, record.message_id, record.delivery_id)
            self._events.wake_readers(thread)
        return stored

    async def begin(self, delivery: QueuedDelivery, run_id: str) -> None:
        """The message is about to be delivered in this run: if the gateway dies now, the next one looks there."""
        await self._save(replace(delivery.record, run_id=run_id, handed=False), delivery)

    async def mark_handed_over(self, delivery: QueuedDelivery) -> None:
        """The agent is given the message now: from here on it must not be given it again."""
        await self._save(replace(delivery.record, handed=True), delivery)

    async def defer(self, delivery: QueuedDelivery, reason: str, until: str | None = None) -> None:
        """Reported once, with the first reason."""
        if delivery.record.status == "accepted":
            await self.defer_as(delivery, delivery.record.mode, reason, until)
        elif delivery.record.run_id is not None:
            await self._save(replace(delivery.record, run_id=None), delivery)
        delivery.decided.set()

    async def defer_as(self, delivery: QueuedDelivery, mode: str, reason: str, until: str | None = None) -> None:
        """The message waits, from now on with this delivery mode."""
        record = replace(delivery.record, status="deferred", mode=mode, reason=reason, run_id=None)
        await self._save(record, delivery, to_receipt(record, availableAt=until or "on-idle"))
        delivery.decided.set()

    async def deliver(self, delivery: QueuedDelivery, run_id: str | None = None) -> None:
        record = replace(delivery.record, status="delivered", reason=None, run_id=run_id or delivery.record.run_id)
        await self._save(record, delivery, to_receipt(record))
        delivery.decided.set()

    async def fail(self, delivery: QueuedDelivery, reason: str, code: str | None = None) -> None:
        record = replace(delivery.record, status="failed", reason=reason)
        await self._save(record, delivery, to_receipt(record, code=code, retryable=True))
        self._events.drop_delivery(ThreadKey(*record.thread), record.message_id)
        delivery.decided.set()

    async def fail_deleted(self, delivery: QueuedDelivery) -> None:
        """The thread is deleted, and the record with it: only the thread's events report it."""
        delivery.update(replace(delivery.record, status="failed", reason="the thread was deleted", content=b""))
        delivery.decided.set()
        thread = ThreadKey(*delivery.record.thread)
        await self._store.deliveries.append_events(
            thread, self._events.to_notes(to_receipt(delivery.record, retryable=False))
        )
        self._events.wake_readers(thread)

    async def _save(self, record: DeliveryRecord, delivery: QueuedDelivery, *receipts: Wire) -> None:
        record = replace(record, at=time.time(), content=record.content if record.status in WAITING else b"")
        if not await self._store.deliveries.save(record, self._events.to_notes(*receipts)):
            raise ThreadDeleted(record.delivery_id)
        delivery.update(record)
        if receipts:
            self._events.wake_readers(ThreadKey(*record.thread))


def to_receipt(record: DeliveryRecord, **fields: Any) -> Wire:
    """Agent Relay's event."""
    event = {
        "type": f"delivery.{record.status}",
        "deliveryId": record.delivery_id,
        "messageId": record.message_id,
        "mode": record.mode,
        "runId": record.run_id,
        "reason": record.reason,
        **fields,
    }
    return {key: value for key, value in event.items() if value is not None}
