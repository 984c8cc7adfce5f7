"""A queued message delivered by a run of its own: the thread's history and the message become a turn.

In: a delivery that is next, and a thread that is free. Out: a run, and the receipt of what became of the message. The
run starts only if the thread has not gone on meanwhile (`runs.readiness.Precondition`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeAlias
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup

from gateway.agui.message_input import to_turn
from gateway.errors import Busy, Conflict, Forbidden, GatewayError, LimitReached, NotFound, StoreError
from gateway.identity import Caller, ThreadKey
from gateway.registry.agents import Agent, Agents
from gateway.runs.history import read_history
from gateway.runs.readiness import Precondition
from gateway.runs.run import Run
from gateway.store.base import Store
from gateway.threads.delivery.queue import DeliveryQueue, QueuedDelivery
from gateway.threads.delivery.receipts import Receipts, ThreadDeleted
from gateway.threads.delivery.recovery import AlreadyInRun, find_run_with, read_end
from gateway.turn import Turn

RETRY_SECONDS = 0.5
"""Between two tries, where no activity says that the thread is free again."""
MAX_RETRY_SECONDS = 60.0
"""Between two tries of a principal that is at one of its limits. Its limit for a day is over at midnight."""
AGENT_START_SECONDS = 5.0
"""How long after the gateway's start an agent may be missing: agents of mounted gateways appear later."""


class StartRun(Protocol):
    """Checks a turn against the agent's capabilities and starts its run."""

    async def __call__(
        self, agent: Agent, turn: Turn, caller: Caller, precondition: Precondition | None = None
    ) -> Run: ...


FindCaller: TypeAlias = Callable[[str], Caller | None]
"""Principal → the caller that it is now; None: it does not exist any more."""


class RunStarter:
    def __init__(
        self, store: Store, agents: Agents, receipts: Receipts, start_run: StartRun, find_caller: FindCaller
    ) -> None:
        self._find_caller = find_caller
        self._store = store
        self._agents = agents
        self._receipts = receipts
        self._start_run = start_run
        self._started = time.monotonic()

    async def deliver(
        self, thread: ThreadKey, queue: DeliveryQueue, delivery: QueuedDelivery, *, may_abandon_turn: bool
    ) -> float:
        """Returns the seconds after which to try again, if nothing happens on the thread before."""
        try:
            run = await self._start(thread, delivery, may_abandon_turn)
        except StoreError:
            raise
        except (Conflict, Busy) as exc:  # another client has started a run, or too many runs are live
            await self._receipts.defer(delivery, exc.detail)
            return RETRY_SECONDS
        except LimitReached as exc:
            await self._receipts.defer(delivery, exc.detail)
            return min(exc.retry_after, MAX_RETRY_SECONDS)
        except NotFound as exc:
            if time.monotonic() - self._started < AGENT_START_SECONDS:
                return RETRY_SECONDS
            await self._receipts.fail(delivery, exc.detail, exc.code)
        except GatewayError as exc:
            await self._receipts.fail(delivery, exc.detail, exc.code)
        except ThreadDeleted:
            delivery.decided.set()
        except AlreadyInRun as exc:
            await self._receipts.deliver(delivery, exc.run_id)
        else:
            queue.remove(delivery)
            delivery.decided.set()
            await self._report_start(delivery, run)
        queue.remove(delivery)
        return 0.0

    async def _start(self, thread: ThreadKey, delivery: QueuedDelivery, may_abandon_turn: bool) -> Run:
        agent = self._agents[thread.agent]
        if (caller := self._find_caller(thread.principal)) is None:
            detail = f"the principal {thread.principal!r}, who posted it, does not exist any more"
            raise Forbidden(f"{detail}: its token was revoked or has expired", code="PRINCIPAL_GONE")
        message_id = delivery.record.message_id
        newest = await self._store.thread_runs(*thread, 1)
        history = await read_history(self._store, *thread)
        if message_id in history.known_ids() and (run_id := await find_run_with(self._store, delivery.record)):
            raise AlreadyInRun(run_id)
        turn = to_turn(delivery.message, delivery.forwarded_props, thread.thread_id, f"run-{uuid4().hex}")
        earlier = [message for message in history.messages if message["id"] != message_id]
        turn = replace(turn, messages=[*earlier, *turn.messages], state=history.state)
        await self._receipts.begin(delivery, turn.run_id)
        precondition = Precondition(
            latest_run=newest[0].key if newest else None,
            may_abandon_turn=may_abandon_turn,
            before_prompt=partial(self._receipts.mark_handed_over, delivery),
        )
        return await self._start_run(agent, turn, caller, precondition)

    async def _report_start(self, delivery: QueuedDelivery, run: Run) -> None:
        """Waits until the agent has the message, or the run is over without it."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_after, run.over, tasks)
            tasks.start_soon(_cancel_after, run.prompted, tasks)
        try:
            if run.prompted.is_set():
                await self._receipts.deliver(delivery)
            else:
                await self._receipts.fail(delivery, await read_end(run))
        except ThreadDeleted:
            pass


async def _cancel_after(event: anyio.Event, tasks: TaskGroup) -> None:
    await event.wait()
    tasks.cancel_scope.cancel()
