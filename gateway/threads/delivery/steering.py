"""Messages for a turn under way: handed to it, and watched for in its run's log.

In: a letter and the live run. Out: it was heard, or it goes back to wait until the thread is idle. The log alone tells
which: an agent's word that it takes a message is no receipt, and a turn that ends without having heard it never will.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio

from gateway.errors import GatewayError, StoreError
from gateway.identity import ThreadKey
from gateway.runs.run import Run
from gateway.threads.delivery.queue import DeliveryQueue, QueuedDelivery
from gateway.threads.delivery.receipts import Receipts, ThreadDeleted

log = logging.getLogger(__name__)

STEER_LIMIT = 10.0
"""Of the agent's word on a message: past this only the run's log tells whether it was taken up."""

Spawn = Callable[..., None]
PutBack = Callable[[ThreadKey, QueuedDelivery], None]


class Steering:
    def __init__(
        self, receipts: Receipts, boxes: dict[ThreadKey, DeliveryQueue], spawn: Spawn, put_back: PutBack
    ) -> None:
        """`spawn`: begins a task; `put_back`: lets a letter wait again."""
        self._receipts, self._boxes, self._spawn, self._put_back = receipts, boxes, spawn, put_back

    async def steer(self, thread: ThreadKey, box: DeliveryQueue, delivery: QueuedDelivery, run: Run) -> None:
        await self._receipts.begin(delivery, run.record.run_id)
        box.steer(delivery, run)
        taken: bool | None = None
        try:
            with anyio.move_on_after(STEER_LIMIT):
                taken = await run.steer(delivery.record.message_id, delivery.text)
        except GatewayError as exc:
            log.info("run %s: a message could not be handed to its turn: %s", run.record.run_id, exc.detail)
            taken = False
        if taken is False and box.heard(delivery.record.message_id, run) is delivery:
            await self._fall_back(thread, delivery, "the turn under way takes no message any more")
        delivery.decided.set()

    def heard(self, thread: ThreadKey, run: Run, message_id: str) -> None:
        """The run's log has it."""
        box = self._boxes.get(thread)
        delivery = None if box is None else box.heard(message_id, run)
        if delivery is not None:
            self._spawn(self._deliver, delivery)

    def over(self, thread: ThreadKey, run: Run) -> None:
        """All of the run's log was read."""
        box = self._boxes.get(thread)
        for delivery in [] if box is None else box.unheard(run):
            self._spawn(self._fall_back, thread, delivery, "the turn ended before it took the message up")

    async def _deliver(self, delivery: QueuedDelivery) -> None:
        await self._noted(self._receipts.deliver(delivery), delivery)

    async def _fall_back(self, thread: ThreadKey, delivery: QueuedDelivery, reason: str) -> None:
        told = f"{reason}: it is delivered when the thread is idle"
        if await self._noted(self._receipts.defer_again(delivery, "on-idle", told), delivery):
            delivery.record = replace(delivery.record, mode="on-idle", run_id=None)
            self._put_back(thread, delivery)

    async def _noted(self, writing: Any, delivery: QueuedDelivery) -> bool:
        """False: there is no such delivery any more."""
        try:
            await writing
        except StoreError as exc:
            log.error("delivery %s: what became of it is not noted: %s", delivery.record.delivery_id, exc)
        except ThreadDeleted:
            return False
        return True
