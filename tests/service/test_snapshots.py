"""The one way to a snapshot: kept while its facts hold, computed again when one changes, taken once for a run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from gateway.capabilities.agent_facts import CurrentSnapshot
from gateway.drivers.probe import Availability
from gateway.identity import Caller, ThreadKey
from gateway.registry.agents import Agent
from gateway.service.snapshots import Snapshots
from gateway.turn import Turn
from tests.behaviour.delivery.in_process import ME, Scene, scene

pytestmark = pytest.mark.anyio

STATUS = "custom.gateway.availability.status"


@pytest.fixture
async def on() -> AsyncIterator[Scene]:
    async with scene() as each:
        yield each


def played(on: Scene) -> Agent:
    return on.gateway.agents["played"]


async def test_a_snapshot_is_kept_while_its_facts_hold(on: Scene) -> None:
    first = await on.gateway.snapshots.take(played(on))
    second = await on.gateway.snapshots.take(played(on))
    assert second.entry is first.entry


async def test_a_probe_with_another_result_makes_another_snapshot(on: Scene) -> None:
    agent = played(on)
    before = await on.gateway.snapshots.take(agent)
    agent.availability = Availability("needs-auth")
    after = await on.gateway.snapshots.take(agent)
    assert before.snapshot.get(STATUS) is None
    assert after.snapshot.get(STATUS) == "needs-auth"


async def test_a_thread_without_a_session_has_the_agents_snapshot(on: Scene) -> None:
    of_agent = await on.gateway.snapshots.take(played(on))
    of_thread = await on.gateway.snapshots.take(played(on), ThreadKey("played", "new", ME))
    assert of_thread.entry is of_agent.entry


async def test_a_run_takes_its_snapshot_once(on: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Any] = []
    take = Snapshots.take

    async def counting(self: Snapshots, *args: Any) -> CurrentSnapshot:
        taken.append(args)
        return await take(self, *args)

    monkeypatch.setattr(Snapshots, "take", counting)
    on.driver.by_itself = True
    run = await on.gateway.checked_runs.start(played(on), Turn("t", "run-1"), Caller(ME))
    await run.over.wait()
    assert len(taken) == 1


async def test_a_run_that_the_gateway_starts_itself_carries_its_id(on: Scene) -> None:
    on.driver.by_itself = True
    run = await on.gateway.checked_runs.start(played(on), Turn("t", "run-1"), Caller(ME))
    await run.over.wait()
    assert run.turn.hops == (on.gateway.id,)
