"""Messages for a live turn: handed to it, then looked for in its run's log.

In: a queued delivery and the live run. Out: the message was accepted, or it is queued again until the thread is idle.
Only the log says which: that an agent takes a message is no receipt, and a turn that ends without having taken it up
never will.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from gateway.errors import GatewayError, StoreError
from gateway.identity import ThreadKey
from gateway.runs.run import Run
from gateway.threads.delivery.queue import DeliveryQueue, QueuedDelivery
from gateway.threads.delivery.receipts import Receipts, ThreadDeleted

log = logging.getLogger(__name__)

STEER_TIMEOUT_SECONDS = 10.0
"""How long the agent may take to answer; after this only the run's log says whether it took the message up."""

StartTask = Callable[..., None]
PutBack = Callable[[ThreadKey, QueuedDelivery], None]


class Steering:
    def __init__(
        self, receipts: Receipts, queues: dict[ThreadKey, DeliveryQueue], start_task: StartTask, put_back: PutBack
    ) -> None:
        """`put_back`: queues a delivery again."""
        self._receipts = receipts
        self._queues = queues
        self._start_task = start_task
        self._put_back = put_back

    async def steer(self, thread: ThreadKey, queue: DeliveryQueue, delivery: QueuedDelivery, run: Run) -> None:
        await self._receipts.begin(delivery, run.record.run_id)
        queue.mark_steered(delivery, run)
        is_taken: bool | None = None
        try:
            with anyio.move_on_after(STEER_TIMEOUT_SECONDS):
                is_taken = await run.steer(delivery.record.message_id, delivery.text)
        except GatewayError as exc:
            log.info("run %s: a message could not be handed to its turn: %s", run.record.run_id, exc.detail)
            is_taken = False
        if is_taken is False and queue.take_steered(delivery.record.message_id, run) is delivery:
            await self._fall_back(thread, delivery, "the turn under way takes no message any more")
        delivery.decided.set()

    def message_accepted(self, thread: ThreadKey, run: Run, message_id: str) -> None:
        """The run's log has the message."""
        queue = self._queues.get(thread)
        delivery = None if queue is None else queue.take_steered(message_id, run)
        if delivery is not None:
            self._start_task(self._deliver, delivery)

    def run_read(self, thread: ThreadKey, run: Run) -> None:
        """All of the run's log was read."""
        queue = self._queues.get(thread)
        for delivery in [] if queue is None else queue.take_all_steered(run):
            self._start_task(self._fall_back, thread, delivery, "the turn ended before it took the message up")

    async def _deliver(self, delivery: QueuedDelivery) -> None:
        await self._store(self._receipts.deliver(delivery), delivery)

    async def _fall_back(self, thread: ThreadKey, delivery: QueuedDelivery, reason: str) -> None:
        full_reason = f"{reason}: it is delivered when the thread is idle"
        if await self._store(self._receipts.defer_as(delivery, "on-idle", full_reason), delivery):
            delivery.update(replace(delivery.record, mode="on-idle", run_id=None))
            self._put_back(thread, delivery)

    async def _store(self, receipt: Awaitable[None], delivery: QueuedDelivery) -> bool:
        """False: the delivery does not exist any more."""
        try:
            await receipt
        except StoreError as exc:
            log.error("delivery %s: what became of it could not be stored: %s", delivery.record.delivery_id, exc)
        except ThreadDeleted:
            return False
        return True
