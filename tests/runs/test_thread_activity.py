"""What happens on a thread, published: in order, as it was at that moment, and only to those who subscribed to it."""

from __future__ import annotations

from typing import cast

import anyio
import pytest

from gateway.identity import ThreadKey
from gateway.limits import PrincipalLimits
from gateway.runs.admission import Admission
from gateway.runs.outcomes import LastOutcomes
from gateway.runs.parked_turns import ParkedTurn, ParkedTurns
from gateway.runs.session_pool import SessionPool
from gateway.runs.thread_activity import ThreadActivities
from gateway.settings import Settings
from gateway.store.memory import MemoryStore

pytestmark = pytest.mark.anyio

THREAD = ThreadKey("otter", "t", "ann")
OTHER = ThreadKey("otter", "u", "ann")


class World:
    def __init__(self) -> None:
        self.parked = ParkedTurns()
        self.outcomes = LastOutcomes()
        admission = Admission(Settings(), MemoryStore(), PrincipalLimits(Settings()))
        pool = cast(SessionPool, None)  # read only while a run is live
        self.activities = ThreadActivities(admission, self.parked, self.outcomes, pool)


async def test_an_activity_is_read_as_it_was_when_it_was_published() -> None:
    world = World()
    subscription = world.activities.subscribe()
    subscription.add(THREAD)
    world.outcomes.session_released(THREAD)
    world.activities.publish(THREAD)
    world.outcomes.thread_deleted(THREAD)
    world.activities.publish(THREAD)
    assert [(await subscription.next()).outcome for _ in range(2)] == ["released", "offline"]
    assert subscription.take() is None


async def test_only_subscribed_threads_are_published() -> None:
    world = World()
    subscription = world.activities.subscribe()
    subscription.add(THREAD)
    world.activities.publish(OTHER)
    assert subscription.take() is None
    subscription.discard(THREAD)
    world.activities.publish(THREAD)
    assert subscription.take() is None


async def test_every_subscription_reads_for_itself() -> None:
    world = World()
    subscriptions = [world.activities.subscribe() for _ in range(2)]
    for subscription in subscriptions:
        subscription.add(THREAD)
    world.activities.publish(THREAD)
    assert [(await each.next()).thread for each in subscriptions] == [THREAD, THREAD]


async def test_a_reader_waits_for_the_next_activity() -> None:
    world = World()
    world.parked.put(THREAD, cast(ParkedTurn, object()))
    subscription = world.activities.subscribe()
    subscription.add(THREAD)
    is_parked: list[bool] = []

    async def read() -> None:
        is_parked.append((await subscription.next()).is_parked)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            world.activities.publish(THREAD)
    assert is_parked == [True]
