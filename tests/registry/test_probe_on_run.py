"""Looks at an agent that overlap: the one that began last counts, whichever ends last."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from gateway.drivers.homes import Home
from gateway.drivers.probe import Availability
from gateway.registry.agents import Agent
from tests.catalog.example_agent import otter

pytestmark = pytest.mark.anyio

BEFORE, AFTER = Availability("needs-auth"), Availability("ready")


class Slow:
    """A driver whose first look waits for a command."""

    def __init__(self) -> None:
        self.answer = anyio.Event()
        self.probes = 0

    async def availability(self, home: Home | None = None) -> Availability:
        self.probes += 1
        if self.probes > 1:
            return AFTER
        await self.answer.wait()
        return BEFORE


async def test_a_look_that_began_earlier_does_not_undo_a_later_one() -> None:
    driver: Any = Slow()
    agent = Agent(otter(), driver)
    found: list[Availability] = []

    async def look() -> None:
        found.append(await agent.probe())

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(look)
            await anyio.wait_all_tasks_blocked()
            await look()
            assert agent.availability == AFTER
            driver.answer.set()
    assert (agent.availability, found) == (AFTER, [AFTER, AFTER])


async def test_the_first_look_counts_as_long_as_there_is_no_other() -> None:
    driver: Any = Slow()
    driver.answer.set()
    agent = Agent(otter(), driver)
    assert await agent.probe() == agent.availability == BEFORE
