"""The agents there are: each definition with its driver, or the reason why it has none."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

from anyio.abc import TaskGroup

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import Catalog
from gateway.catalog.registry import ModelRegistry
from gateway.drivers import Driver, make_driver
from gateway.drivers.probe import Availability
from gateway.errors import ConfigError, GatewayError, NotFound, Refused

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Agent:
    definition: AgentDefinition
    driver: Driver | None
    broken: str | None = None
    """Why there is no driver."""
    seen: Availability | None = None
    """What the last look found; None: nobody has looked yet."""
    models: ModelRegistry = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.models = ModelRegistry(self.definition)

    @property
    def ready(self) -> Driver:
        if self.driver is None:
            raise Refused(f"the agent {self.definition.id!r} cannot run: {self.broken}", code="AGENT_BROKEN")
        return self.driver

    async def look(self) -> Availability:
        """Whether it can run, now."""
        if self.driver is None:
            self.seen = Availability("broken", self.broken, "mend the agent's file and restart")
        else:
            self.seen = await self.driver.availability()
        return self.seen


class Agents:
    """By id. A definition that cannot be started is listed as broken; it does not keep the others from working."""

    def __init__(self, catalog: Catalog, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._probing: set[str] = set()
        self._agents = {definition.id: _start(definition, tasks) for definition in catalog.values()}

    def __getitem__(self, agent_id: str) -> Agent:
        try:
            return self._agents[agent_id]
        except KeyError:
            known = ", ".join(sorted(self._agents)) or "none"
            raise NotFound(f"there is no agent {agent_id!r}. Known: {known}.", code="UNKNOWN_AGENT") from None

    def __iter__(self) -> Iterator[Agent]:
        return iter(self._agents.values())

    def __contains__(self, agent_id: object) -> bool:
        return agent_id in self._agents

    def probe_soon(self, agent: Agent) -> None:
        """In the background: whoever asks what an agent can do should not wait for it to start."""
        name = agent.definition.id
        if agent.driver is not None and not agent.driver.probed and name not in self._probing:
            self._probing.add(name)
            self._tasks.start_soon(self._probe, agent, agent.driver)

    async def _probe(self, agent: Agent, driver: Driver) -> None:
        try:
            if (await agent.look()).status == "ready":
                await driver.probe()
        except GatewayError as exc:
            log.info("agent %s could not be probed: %s", agent.definition.id, exc.detail)
        finally:
            self._probing.discard(agent.definition.id)

    async def aclose(self) -> None:
        for agent in self:
            if agent.driver is not None:
                await agent.driver.aclose()


def _start(definition: AgentDefinition, tasks: TaskGroup) -> Agent:
    try:
        return Agent(definition, make_driver(definition, tasks))
    except ConfigError as exc:
        log.warning("%s", exc.detail)
        return Agent(definition, None, exc.detail)
