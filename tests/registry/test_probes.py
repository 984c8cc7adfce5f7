"""One probe for all who wait, given up with the last of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest
from anyio.lowlevel import checkpoint

from gateway.drivers import Driver
from gateway.errors import AgentFault
from gateway.registry import probes
from gateway.registry.probes import Probes

pytestmark = pytest.mark.anyio
LIMIT = 5.0


class Agent:
    """A driver that speaks when it is let."""

    def __init__(self) -> None:
        self.let = anyio.Event()
        self.is_probed = False
        self.begun = self.given_up = 0
        self.failure: Exception | None = None

    async def probe(self) -> None:
        self.begun += 1
        try:
            await self.let.wait()
        except BaseException:
            self.given_up += 1
            raise
        if self.failure is not None:
            raise self.failure
        self.is_probed = True


class Waiter:
    def __init__(self, wait: Callable[[], Awaitable[None]]) -> None:
        self._wait = wait
        self.scope = anyio.CancelScope()
        self.came_of_it: Any = None

    async def run(self) -> None:
        with self.scope:
            try:
                await self._wait()
                self.came_of_it = "spoken"
            except Exception as exc:
                self.came_of_it = exc


@asynccontextmanager
async def waiting(agent: Agent, number: int) -> AsyncIterator[list[Waiter]]:
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as gateway, anyio.create_task_group() as tasks:
            probes = Probes(gateway)
            waiters = [Waiter(lambda: probes.wait_until_probed(cast(Driver, agent))) for _ in range(number)]
            for waiter in waiters:
                tasks.start_soon(waiter.run)
            await let_tasks_run()
            yield waiters


async def let_tasks_run() -> None:
    for _ in range(10):
        await checkpoint()


async def test_all_who_wait_share_one_probe() -> None:
    agent = Agent()
    async with waiting(agent, 4) as waiters:
        agent.let.set()
    assert (agent.begun, [waiter.came_of_it for waiter in waiters]) == (1, ["spoken"] * 4)


async def test_it_goes_on_while_anybody_waits() -> None:
    agent = Agent()
    async with waiting(agent, 2) as (first, second):
        first.scope.cancel()
        await let_tasks_run()
        assert agent.given_up == 0
        agent.let.set()
    assert (first.came_of_it, second.came_of_it) == (None, "spoken")


async def test_it_is_given_up_when_no_caller_waits_any_more() -> None:
    agent = Agent()
    async with waiting(agent, 2) as waiters:
        for waiter in waiters:
            waiter.scope.cancel()
        await let_tasks_run()
        assert (agent.begun, agent.given_up) == (1, 1)


async def test_a_client_that_comes_after_that_begins_another() -> None:
    agent = Agent()
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as gateway:
            probes = Probes(gateway)
            with anyio.move_on_after(0.01):
                await probes.wait_until_probed(cast(Driver, agent))
            agent.let.set()
            await probes.wait_until_probed(cast(Driver, agent))
            await probes.wait_until_probed(cast(Driver, agent))  # it has spoken, and is not asked again
    assert (agent.begun, agent.given_up) == (2, 1)


@pytest.mark.parametrize("failure", [AgentFault("no"), RuntimeError("a defect")])
async def test_why_it_failed_is_for_all_who_wait_and_for_no_other(failure: Exception) -> None:
    agent = Agent()
    agent.failure = failure
    async with waiting(agent, 2) as waiters:
        agent.let.set()
    assert [waiter.came_of_it for waiter in waiters] == [failure, failure]


async def test_it_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "PROBE_TIMEOUT_SECONDS", 0.01)
    agent = Agent()
    async with waiting(agent, 1) as [waiter]:
        pass
    assert (waiter.came_of_it.code, agent.given_up) == ("AGENT_STALLED", 1)
