"""Messages to threads, each delivered at its boundary, with receipts on the thread's feed. Never lost, never twice.

In: a message that was checked. Out: a run that begins with it, or the live turn's next step. Until that is seen it is
in the store, so it outlives the gateway, and what becomes of it is written together with the receipt.

- `on-idle`: when the thread is idle; at once if it is.
- `immediate`: now. A live run is cancelled, an open question given up, a turn that waits for the client's tools goes on
  without them; then a run with the message begins.
- `next-tool-call`: handed to the turn under way (`LiveTurn.steer`), and delivered when the run's log has it; where the
  turn ends without it, or there is none, it is as `on-idle`.

A message counts as delivered when the agent has been given it. A gateway that dies in between leaves a note of the run
in which it was about to be: the next one looks there whether it arrived (`threads.delivery.recovery`).
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup

from gateway.agui.message_input import MessageInput, to_turn
from gateway.background import Tasks
from gateway.errors import Busy, Conflict, GatewayError, NotFound, StoreError
from gateway.registry.agents import Agent, Agents
from gateway.runs.admission import STOPPING
from gateway.runs.engine import Engine
from gateway.runs.history import read_history
from gateway.runs.readiness import Precondition
from gateway.runs.run import Run
from gateway.runs.thread_state import ThreadKey
from gateway.settings import Settings
from gateway.store.base import Store
from gateway.store.deliveries import DeliveryRecord
from gateway.threads.delivery.queue import DeliveryQueue, QueuedDelivery, content_of
from gateway.threads.delivery.receipts import Receipts, ThreadDeleted
from gateway.threads.delivery.recovery import AlreadyInRun, Arrived, arrived, brought_by, last_words
from gateway.threads.delivery.steering import Steering
from gateway.threads.events import ThreadEvents, moment
from gateway.turn import Turn

log = logging.getLogger(__name__)

DECIDED = 2.0
"""How long whoever posts a message waits for the run that it begins; longer, and the feed tells of it."""
AGAIN = 0.5
"""Between two tries, where nobody says when there is room again."""
ABSENT = 5.0
"""How long after the start an agent may be missing: those of other gateways appear in their own time."""
NOW = 0.0
KNOWN = "MESSAGE_KNOWN"

Begin = Callable[[Agent, Turn, str, Precondition], Awaitable[Run]]


class Dispatcher:
    def __init__(
        self, settings: Settings, store: Store, tasks: Tasks, engine: Engine, agents: Agents, feeds: ThreadEvents
    ) -> None:
        self._settings, self._store, self._tasks = settings, store, tasks
        self._engine, self._agents, self._feeds = engine, agents, feeds
        self._receipts = Receipts(store, feeds)
        self._boxes: dict[ThreadKey, DeliveryQueue] = {}
        self._steering = Steering(self._receipts, self._boxes, self._spawn, self._put)
        self._numbers = count()
        self._started = time.monotonic()
        self._working = 0
        self._rested = anyio.Event()
        self._closing = False
        self._begin: Begin | None = None
        engine.thread_changed = self._heed
        feeds.heard, feeds.run_over = self._steering.heard, self._steering.over

    async def start(self, begin: Begin) -> int:
        """Takes up what the last gateway left. `begin`: checks a turn and starts its run. How many wait."""
        self._begin = begin
        waiting = await self._store.mail.waiting()
        for record in waiting:
            await self._take_up(record)
        return len(waiting)

    def close(self) -> None:
        """Nothing more is begun: what waits stays in the store."""
        self._closing = True
        for box in self._boxes.values():
            box.woken.set()

    async def settled(self) -> None:
        """After `close`, until all that was under way is noted."""
        while self._working:
            self._rested = anyio.Event()
            await self._rested.wait()

    # -- accepting

    async def accept(self, thread: ThreadKey, posted: MessageInput) -> DeliveryRecord:
        """What became of it so far. The same `deliveryId` again: of the first one. Raises before anything is kept."""
        digest = hashlib.sha256(posted.identity_bytes()).hexdigest()
        if posted.delivery_id is not None:
            known = await self._store.mail.delivery(thread, posted.delivery_id)
            if known is not None:
                return _same(known, digest)
        box = self._boxes.setdefault(thread, DeliveryQueue())
        self._make_room(box, posted)
        try:
            kept = await self._keep(thread, posted, digest)
        finally:
            box.expected(posted.message["id"])
            self._tidy(thread, box)
        if isinstance(kept, DeliveryRecord):
            return _same(kept, digest)
        with anyio.move_on_after(DECIDED):
            await kept.decided.wait()
        return kept.record

    def _make_room(self, box: DeliveryQueue, posted: MessageInput) -> None:
        """Without awaiting, so that two cannot have the last place."""
        settings, waiting = self._settings, sum(map(len, self._boxes.values()))
        if self._closing or self._engine.draining:
            raise Busy("the gateway is shutting down; post the message again when it is back", code=STOPPING[0])
        if box.has(posted.message["id"]):
            raise _known_message(posted.message["id"])
        if len(box) >= settings.max_queued_per_thread:
            raise _full(
                f"{len(box)} messages wait for this thread already (max_queued_per_thread)",
                settings.max_queued_per_thread,
            )
        if waiting >= settings.max_queued:
            raise _full(f"{waiting} messages wait for threads already (max_queued)", settings.max_queued)
        box.expect(posted.message["id"])

    async def _keep(self, thread: ThreadKey, posted: MessageInput, digest: str) -> QueuedDelivery | DeliveryRecord:
        """The letter; or the record of another, that was quicker with the same id."""
        if posted.has_client_id and posted.message["id"] in (await self._engine.history(thread))[0].known_ids():
            raise _known_message(posted.message["id"])
        content = content_of(posted.message, posted.forwarded_props)
        names = posted.delivery_id or uuid4().hex, posted.message["id"]
        record = DeliveryRecord(*thread, *names, posted.delivery, "accepted", digest, content, time.time())
        kept = await self._receipts.accept(record)
        if kept is not record:
            return kept
        delivery = QueuedDelivery(record, next(self._numbers))
        self._put(thread, delivery)
        return delivery

    # -- the boundary

    def _put(self, thread: ThreadKey, delivery: QueuedDelivery) -> None:
        box = self._boxes.setdefault(thread, DeliveryQueue())
        box.put(delivery)
        if not box.pumping and not self._closing:
            box.pumping = True
            self._spawn(self._pump, thread, box)

    def _tidy(self, thread: ThreadKey, box: DeliveryQueue) -> None:
        if not len(box) and not box.pumping and self._boxes.get(thread) is box:
            del self._boxes[thread]

    def _heed(self, thread: ThreadKey) -> None:
        self._feeds.thread_changed(thread)
        if (box := self._boxes.get(thread)) is not None:
            box.woken.set()

    def _spawn(self, work: Callable[..., Awaitable[None]], *args: Any) -> None:
        async def do() -> None:
            try:
                await work(*args)
            finally:
                self._working -= 1
                self._rested.set()

        self._working += 1
        self._tasks.start_soon(do)

    async def _pump(self, thread: ThreadKey, box: DeliveryQueue) -> None:
        """The thread's task, as long as something waits for it."""
        try:
            while box.waiting and not self._closing:
                box.woken = anyio.Event()
                with anyio.move_on_after(await self._try(thread, box)):
                    await box.woken.wait()
        finally:
            box.pumping = False
            self._tidy(thread, box)

    async def _try(self, thread: ThreadKey, box: DeliveryQueue) -> float:
        try:
            return await self._step(thread, box)
        except ThreadDeleted:
            return AGAIN
        except Exception as exc:  # whatever it was, the messages wait on, and somebody is told
            told = exc.detail if isinstance(exc, StoreError) else ""
            log.error("thread %s: nothing is delivered now: %s", thread.thread_id, told, exc_info=not told)
        return AGAIN

    async def _step(self, thread: ThreadKey, box: DeliveryQueue) -> float:
        """As much as can be done now; then how long it may take until there is more to do, if nobody says so before."""
        if (first := box.interrupting()) is not None:
            return await self._interrupt(thread, box, first)
        run = self._engine.live_run(thread)
        if run is not None and run.steerable:
            for delivery in box.steerable():
                await self._steering.steer(thread, box, delivery, run)
        if not box.waiting:
            return NOW
        found = await self._engine.find_blocker(thread)
        if found is None:
            return await self._start_run(thread, box, box.waiting[0], goes_on=False)
        for delivery in box.untold():
            await self._receipts.defer(delivery, found.reason, None if found.until is None else moment(found.until))
        return math.inf if found.until is None else max(0.0, found.until - time.time()) + 0.001

    async def _interrupt(self, thread: ThreadKey, box: DeliveryQueue, delivery: QueuedDelivery) -> float:
        if (run := self._engine.live_run(thread)) is not None:
            await self._engine.stop(run)
            await run.over.wait()
            return NOW
        found = await self._engine.find_blocker(thread)
        if found is None or found.kind == "calls":
            return await self._start_run(thread, box, delivery, goes_on=True)
        if found.kind == "question" and await self._engine.give_up(thread, found.run_id):
            return NOW
        return AGAIN

    # -- by a run of its own

    async def _start_run(
        self, thread: ThreadKey, box: DeliveryQueue, delivery: QueuedDelivery, *, goes_on: bool
    ) -> float:
        try:
            run = await self._begun(thread, delivery, goes_on)
        except StoreError:
            raise
        except Conflict as exc:  # somebody else has begun one
            await self._receipts.defer(delivery, exc.detail)
            return AGAIN
        except Busy as exc:
            await self._receipts.defer(delivery, exc.detail)
            return AGAIN
        except NotFound as exc:
            if time.monotonic() - self._started < ABSENT:
                return AGAIN
            await self._receipts.fail(delivery, exc.detail, exc.code)
        except GatewayError as exc:
            await self._receipts.fail(delivery, exc.detail, exc.code)
        except ThreadDeleted:
            delivery.decided.set()
        except AlreadyInRun as exc:
            await self._receipts.deliver(delivery, exc.run_id)
        else:
            box.take(delivery)
            delivery.decided.set()
            await self._see_begun(delivery, run)
        box.take(delivery)
        return NOW

    async def _begun(self, thread: ThreadKey, delivery: QueuedDelivery, goes_on: bool) -> Run:
        assert self._begin is not None
        agent = self._agents[thread.agent]
        newest = await self._store.thread_runs(*thread, 1)
        history = await read_history(self._store, *thread)
        if delivery.record.message_id in history.known_ids() and (
            run_id := await brought_by(self._store, delivery.record)
        ):
            raise AlreadyInRun(run_id)
        turn = to_turn(delivery.message, delivery.forwarded_props, thread.thread_id, f"run-{uuid4().hex}")
        before = [message for message in history.messages if message["id"] != delivery.record.message_id]
        turn = replace(turn, messages=[*before, *turn.messages], state=history.state)
        await self._receipts.begin(delivery, turn.run_id)
        handing = partial(self._receipts.hand, delivery)
        calm = Precondition(newest[0].key if newest else None, goes_on, handing)
        return await self._begin(agent, turn, thread.principal, calm)

    async def _see_begun(self, delivery: QueuedDelivery, run: Run) -> None:
        """Until the agent has it, or the run is over without."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_end_after, run.over, tasks)
            tasks.start_soon(_end_after, run.driven, tasks)
        try:
            if run.driven.is_set():
                await self._receipts.deliver(delivery)
            else:
                await self._receipts.fail(delivery, await last_words(run))
        except ThreadDeleted:
            pass

    # -- threads that go, gateways that come back

    async def forget(self, thread: ThreadKey, delete: Callable[[], Awaitable[Any]]) -> None:
        """The thread is deleted: what waits for it fails, and whoever reads its feed is told."""
        box = self._boxes.get(thread)
        deliveries = [] if box is None else box.take_all()
        try:
            await delete()
        except BaseException:
            for delivery in deliveries:
                self._put(thread, delivery)
            raise
        for delivery in deliveries:
            await self._receipts.fail_deleted(delivery)
        self._feeds.forget(thread)
        self._heed(thread)

    def waits(self, thread: ThreadKey) -> bool:
        return len(self._boxes.get(thread, ())) > 0

    async def _take_up(self, record: DeliveryRecord) -> None:
        """What the last gateway did not get done."""
        thread, delivery = ThreadKey(*record.thread), QueuedDelivery(record, next(self._numbers))
        channel = self._feeds.observe(thread)
        match await arrived(self._store, record):
            case Arrived.YES:
                await self._receipts.deliver(delivery)
            case Arrived.UNSURE:
                reason = f"the gateway died while the agent was about to be given it: see the run {record.run_id!r}"
                await self._receipts.fail(delivery, reason)
            case Arrived.NO:
                channel.deliveries[record.message_id] = record.delivery_id
                await self._receipts.defer(delivery, "the gateway was restarted")
                self._put(thread, delivery)


async def _end_after(event: anyio.Event, tasks: TaskGroup) -> None:
    await event.wait()
    tasks.cancel_scope.cancel()


def _same(known: DeliveryRecord, digest: str) -> DeliveryRecord:
    if known.digest != digest:
        raise Conflict(
            f"{known.delivery_id!r} is the deliveryId of another message to this thread: give every message its own",
            code="DELIVERY_ID_IN_USE",
            deliveryId=known.delivery_id,
        )
    return known


def _known_message(message_id: str) -> Conflict:
    detail = f"the thread has a message {message_id!r} already, or one waits for it: give this one another id, or none"
    return Conflict(detail, code=KNOWN, messageId=message_id)


def _full(what: str, limit: int) -> Busy:
    advice = "post it again when some were delivered; the thread's feed tells of each"
    return Busy(f"{what}: {advice}", code="QUEUE_FULL", limit=limit)
