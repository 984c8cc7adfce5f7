"""Messages to threads, each delivered at its moment, with receipts among the thread's events. Never lost, never twice.

In: a message that was checked. Out: a run that begins with it, or the live turn's next step. Until it has reached the
agent the message is in the store, so it survives the gateway; what becomes of it is stored together with the receipt.

- `on-idle`: when the thread is idle; at once if it is.
- `immediate`: now. A live run is cancelled, an open interrupt too, a turn that waits for the client's own tools is
  abandoned; then a run with the message begins.
- `next-tool-call`: handed to the live turn (`LiveTurn.steer`), and delivered when the run's log has it. Where the turn
  ends without it, or no turn is live, the message is treated as `on-idle`.

A message counts as delivered when the agent has been given it. A gateway that dies in between leaves the id of the run
in which the message was about to be delivered: the next gateway looks there (`threads.delivery.recovery`).
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any
from uuid import uuid4

import anyio

from gateway.agui.message_input import MessageInput
from gateway.background import Tasks
from gateway.errors import Busy, Conflict, StoreError
from gateway.identity import Caller, ThreadKey
from gateway.limits import QUEUED, PrincipalLimits
from gateway.registry.agents import Agents
from gateway.runs.admission import STOPPING
from gateway.runs.engine import Engine
from gateway.settings import Settings
from gateway.store.base import Store
from gateway.store.deliveries import DeliveryRecord
from gateway.threads.delivery.queue import DeliveryQueue, QueuedDelivery, to_content
from gateway.threads.delivery.receipts import Receipts, ThreadDeleted
from gateway.threads.delivery.recovery import Arrival, find_arrival
from gateway.threads.delivery.run_starter import RETRY_SECONDS, FindCaller, RunStarter, StartRun
from gateway.threads.delivery.steering import Steering
from gateway.threads.events import ThreadEvents, to_iso_time

log = logging.getLogger(__name__)

DECISION_WAIT_SECONDS = 2.0
"""How long a client that posts a message waits for the run that it begins; after that the thread's events report it."""
EXPIRY_MARGIN_SECONDS = 0.001


class Dispatcher:
    def __init__(
        self,
        settings: Settings,
        store: Store,
        tasks: Tasks,
        engine: Engine,
        agents: Agents,
        events: ThreadEvents,
        start_run: StartRun,
        limits: PrincipalLimits,
        find_caller: FindCaller = Caller,
    ) -> None:
        """`find_caller`: by which a message of a principal that does not exist any more fails."""
        self._settings = settings
        self._store = store
        self._tasks = tasks
        self._engine = engine
        self._events = events
        self._limits = limits
        self._receipts = Receipts(store, events)
        self._starter = RunStarter(store, agents, self._receipts, start_run, find_caller)
        self._queues: dict[ThreadKey, DeliveryQueue] = {}
        self.steering = Steering(self._receipts, self._queues, self._start_task, self._put)
        self._activities = engine.activities.subscribe()
        self._numbers = count()
        self._running_tasks = 0
        self._task_ended = anyio.Event()
        self._is_closed = False

    async def watch_threads(self) -> None:
        """Wakes the queue of each thread on which something happens. Runs until cancelled."""
        while True:
            activity = await self._activities.next()
            if (queue := self._queues.get(activity.thread)) is not None:
                queue.wake()

    async def recover(self) -> int:
        """Takes up what the last gateway left. Returns how many messages there were."""
        records = await self._store.deliveries.waiting()
        for record in records:
            await self._recover_delivery(record)
        return len(records)

    def close(self) -> None:
        """Starts no more runs: queued messages stay in the store."""
        self._is_closed = True
        for queue in self._queues.values():
            queue.wake()

    async def wait_until_stored(self) -> None:
        """After `close`, until what became of each message is stored."""
        while self._running_tasks:
            self._task_ended = anyio.Event()
            await self._task_ended.wait()

    # -- accepting

    async def accept(self, thread: ThreadKey, posted: MessageInput) -> DeliveryRecord:
        """What became of the message so far; for a `deliveryId` that is known, of the first message that had it. Raises
        before anything is stored."""
        digest = hashlib.sha256(posted.identity_bytes()).hexdigest()
        if posted.delivery_id is not None:
            known = await self._store.deliveries.delivery(thread, posted.delivery_id)
            if known is not None:
                return _check_same(known, digest)
        message_id = posted.message["id"]
        queue = self._queue(thread)
        try:
            self._check_room(thread, queue, message_id)
            queue.begin_accepting(message_id)
            try:
                accepted = await self._store_message(thread, posted, digest)
            finally:
                queue.end_accepting(message_id)
        finally:
            self._drop_empty(thread, queue)
        if isinstance(accepted, DeliveryRecord):
            return _check_same(accepted, digest)
        with anyio.move_on_after(DECISION_WAIT_SECONDS):
            await accepted.decided.wait()
        return accepted.record

    def _check_room(self, thread: ThreadKey, queue: DeliveryQueue, message_id: str) -> None:
        """Without awaiting, so that two messages cannot both have the last place."""
        settings = self._settings
        queued = sum(map(len, self._queues.values()))
        own = sum(len(each) for other, each in self._queues.items() if other.principal == thread.principal)
        if self._is_closed or self._engine.is_draining:
            raise Busy("the gateway is shutting down; post the message again when it is back", code=STOPPING[0])
        if queue.has(message_id):
            raise _known_message(message_id)
        if len(queue) >= settings.max_queued_per_thread:
            detail = f"{len(queue)} messages wait for this thread already (max_queued_per_thread)"
            raise _queue_full(detail, settings.max_queued_per_thread)
        self._limits.check_count(QUEUED, thread.principal, own)
        if queued >= settings.max_queued:
            raise _queue_full(f"{queued} messages wait for threads already (max_queued)", settings.max_queued)

    async def _store_message(
        self, thread: ThreadKey, posted: MessageInput, digest: str
    ) -> QueuedDelivery | DeliveryRecord:
        """The queued delivery; or the record of another message that took the delivery id first."""
        message_id = posted.message["id"]
        if posted.has_client_id and message_id in (await self._engine.history(thread))[0].known_ids():
            raise _known_message(message_id)
        content = to_content(posted.message, posted.forwarded_props)
        delivery_id = posted.delivery_id or uuid4().hex
        record = DeliveryRecord(
            *thread, delivery_id, message_id, posted.delivery, "accepted", digest, content, time.time()
        )
        stored = await self._receipts.accept(record)
        if stored is not record:
            return stored
        delivery = QueuedDelivery(record, next(self._numbers), posted.forwarded_props)
        self._put(thread, delivery)
        return delivery

    # -- queues

    def _queue(self, thread: ThreadKey) -> DeliveryQueue:
        self._activities.add(thread)
        return self._queues.setdefault(thread, DeliveryQueue())

    def _put(self, thread: ThreadKey, delivery: QueuedDelivery) -> None:
        queue = self._queue(thread)
        queue.put(delivery)
        if not self._is_closed and queue.start_pump():
            self._start_task(self._pump, thread, queue)

    def _drop_empty(self, thread: ThreadKey, queue: DeliveryQueue) -> None:
        if not len(queue) and not queue.is_pumped and self._queues.get(thread) is queue:
            del self._queues[thread]
            self._activities.discard(thread)

    def _start_task(self, func: Callable[..., Awaitable[None]], *args: Any) -> None:
        async def run() -> None:
            try:
                await func(*args)
            finally:
                self._running_tasks -= 1
                self._task_ended.set()

        self._running_tasks += 1
        self._tasks.start_soon(run)

    async def _pump(self, thread: ThreadKey, queue: DeliveryQueue) -> None:
        """The thread's task, as long as messages wait for it."""
        try:
            while queue.waiting and not self._is_closed:
                changed = queue.watch()
                with anyio.move_on_after(await self._try_deliver(thread, queue)):
                    await changed.wait()
        finally:
            queue.end_pump()
            self._drop_empty(thread, queue)

    async def _try_deliver(self, thread: ThreadKey, queue: DeliveryQueue) -> float:
        try:
            return await self._deliver_next(thread, queue)
        except ThreadDeleted:
            return RETRY_SECONDS
        except StoreError as exc:
            log.error("thread %s: no message can be delivered now: %s", thread.thread_id, exc.detail)
        except Exception:  # the messages stay queued, and the operator reads why
            log.exception("thread %s: no message can be delivered now", thread.thread_id)
        return RETRY_SECONDS

    async def _deliver_next(self, thread: ThreadKey, queue: DeliveryQueue) -> float:
        """As much as can be done now. Returns the seconds after which to try again, if nothing happens before."""
        if (first := queue.first_immediate()) is not None:
            return await self._interrupt(thread, queue, first)
        run = self._engine.live_run(thread)
        if run is not None and run.is_steerable:
            for delivery in queue.for_live_turn():
                await self.steering.steer(thread, queue, delivery, run)
        if not queue.waiting:
            return 0.0
        blocker = await self._engine.find_blocker(thread)
        if blocker is None:
            return await self._starter.deliver(thread, queue, queue.waiting[0], may_abandon_turn=False)
        until = None if blocker.until is None else to_iso_time(blocker.until)
        for delivery in queue.without_receipt():
            await self._receipts.defer(delivery, blocker.reason, until)
        if blocker.until is None:
            return math.inf
        return max(0.0, blocker.until - time.time()) + EXPIRY_MARGIN_SECONDS

    async def _interrupt(self, thread: ThreadKey, queue: DeliveryQueue, delivery: QueuedDelivery) -> float:
        if (run := self._engine.live_run(thread)) is not None:
            await self._engine.stop(run)
            await run.over.wait()
            return 0.0
        blocker = await self._engine.find_blocker(thread)
        if blocker is None or blocker.kind == "calls":
            return await self._starter.deliver(thread, queue, delivery, may_abandon_turn=True)
        if blocker.kind == "interrupt" and await self._engine.cancel_parked(thread, blocker.run_id):
            return 0.0
        return RETRY_SECONDS

    # -- deleted threads, restarted gateways

    async def fail_queued(self, thread: ThreadKey, delete: Callable[[], Awaitable[Any]]) -> None:
        """Deletes the thread. Its queued messages fail, and readers of its events are informed."""
        queue = self._queues.get(thread)
        deliveries = [] if queue is None else queue.remove_all()
        try:
            await delete()
        except BaseException:
            for delivery in deliveries:
                self._put(thread, delivery)
            raise
        for delivery in deliveries:
            await self._receipts.fail_deleted(delivery)
        self._events.forget(thread)

    def has_queued(self, thread: ThreadKey) -> bool:
        return len(self._queues.get(thread, ())) > 0

    async def _recover_delivery(self, record: DeliveryRecord) -> None:
        """What the last gateway did not finish."""
        thread = ThreadKey(*record.thread)
        delivery = QueuedDelivery(record, next(self._numbers))
        self._events.observe(thread)
        match await find_arrival(self._store, record):
            case Arrival.YES:
                await self._receipts.deliver(delivery)
            case Arrival.UNSURE:
                reason = f"the gateway died while the agent was about to be given it: see the run {record.run_id!r}"
                await self._receipts.fail(delivery, reason)
            case Arrival.NO:
                self._events.expect_delivery(thread, record.message_id, record.delivery_id)
                await self._receipts.defer(delivery, "the gateway was restarted")
                self._put(thread, delivery)


def _check_same(known: DeliveryRecord, digest: str) -> DeliveryRecord:
    if known.digest != digest:
        raise Conflict(
            f"{known.delivery_id!r} is the deliveryId of another message to this thread: give every message its own",
            code="DELIVERY_ID_IN_USE",
            deliveryId=known.delivery_id,
        )
    return known


def _known_message(message_id: str) -> Conflict:
    detail = f"the thread has a message {message_id!r} already, or one waits for it: give this one another id, or none"
    return Conflict(detail, code="MESSAGE_KNOWN", messageId=message_id)


def _queue_full(detail: str, limit: int) -> Busy:
    advice = "post it again when some were delivered; the events of the thread report each"
    return Busy(f"{detail}: {advice}", code="QUEUE_FULL", limit=limit)
