"""Whether an agent's program is installed: searched for before its first run, and not again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from gateway.catalog.definition import AgentDefinition
from gateway.drivers import Driver
from gateway.drivers.homes import Home
from gateway.drivers.probe import Availability
from gateway.errors import Refused
from gateway.registry import agents
from gateway.registry.agents import Agent
from tests.catalog.example_agent import otter

pytestmark = pytest.mark.anyio


class CountingSearch:
    """Stands in for the search of the executable, and counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.finds: object | None = object()
        monkeypatch.setattr(agents, "find", self)

    def __call__(self, definition: AgentDefinition, environ: Mapping[str, str]) -> object | None:
        self.count += 1
        return self.finds


class CountingDriver:
    def __init__(self, *results: Availability) -> None:
        self._results = list(results)
        self.probes = 0

    async def availability(self, home: Home | None = None) -> Availability:
        self.probes += 1
        return self._results.pop(0)


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> CountingSearch:
    return CountingSearch(monkeypatch)


def agent_with(driver: CountingDriver) -> Agent:
    agent = Agent(otter(), cast(Driver, driver))
    assert agent.definition.command is not None
    return agent


async def test_a_program_that_was_found_is_not_searched_for_again(search: CountingSearch) -> None:
    driver = CountingDriver()
    agent = agent_with(driver)
    for _ in range(3):
        await agent.require_program()
    assert (search.count, driver.probes) == (1, 0)


async def test_a_run_after_a_probe_that_found_the_program_searches_nothing(search: CountingSearch) -> None:
    driver = CountingDriver(Availability("needs-auth"))
    agent = agent_with(driver)
    await agent.probe()
    await agent.require_program()
    assert (search.count, driver.probes) == (0, 1)


async def test_a_missing_program_is_refused_until_it_is_there(search: CountingSearch) -> None:
    missing = Availability("not-installed", "otter is not on the PATH", "npm install otter")
    driver = CountingDriver(missing)
    agent = agent_with(driver)
    search.finds = None
    with pytest.raises(Refused, match="npm install otter"):
        await agent.require_program()
    search.finds = object()
    for _ in range(2):
        await agent.require_program()
    assert (search.count, driver.probes) == (2, 1), "the search that succeeds is remembered"


async def test_a_probe_that_misses_the_program_makes_the_next_run_search(search: CountingSearch) -> None:
    missing: Any = Availability("not-installed", "it was removed")
    agent = agent_with(CountingDriver(missing))
    await agent.require_program()
    await agent.probe()
    await agent.require_program()
    assert search.count == 2
