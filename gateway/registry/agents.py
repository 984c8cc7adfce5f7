"""The agents there are: each definition with its driver, or the reason why it has none. They change while they run.

An agent that is replaced or removed is not torn: whoever uses it goes on with it to the end, everybody else has the new
one from now on, and its driver is closed when the last has left.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.registry import ModelRegistry
from gateway.drivers import Driver, make_driver
from gateway.drivers.probe import Availability
from gateway.errors import ConfigError, GatewayError, NotFound, Refused
from gateway.registry.probes import Probes

log = logging.getLogger(__name__)

GONE = "it was replaced or removed meanwhile; ask again"

WORDS = ("identity", "verified", "sources")
"""Of a definition: what people are told, and no driver works by."""

LetGo = Callable[[Driver], Awaitable[None]]
Touch = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Failure:
    """What is wrong with the newest word on an agent; the last good one is kept."""

    error: str
    since: float
    """Seconds since the epoch."""


@dataclass(slots=True)
class Agent:
    definition: AgentDefinition
    driver: Driver | None
    broken: str | None = None
    """Why there is no driver."""
    seen: Availability | None = None
    """What the last look found; None: nobody has looked yet."""
    trouble: Failure | None = None
    """Its file is newer than this, and cannot be read."""
    lost: str | None = None
    """Why the gateway that has it cannot be reached."""
    models: ModelRegistry = field(init=False, repr=False, compare=False)
    _looks: int = field(default=0, init=False, repr=False, compare=False)
    _seen_by: int = field(default=0, init=False, repr=False, compare=False)
    _users: int = field(default=0, init=False, repr=False, compare=False)
    _runs: list[anyio.Event] = field(default_factory=list, init=False, repr=False, compare=False)
    _left: anyio.Event | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.models = ModelRegistry(self.definition)

    @property
    def ready(self) -> Driver:
        if self.driver is None:
            raise Refused(f"the agent {self.definition.id!r} cannot run: {self.broken}", code="AGENT_BROKEN")
        return self.driver

    def redescribed(self, definition: AgentDefinition) -> bool:
        """It is only told of in other words, and goes on with its driver and sessions. False: it is another."""
        words = {name: getattr(definition, name) for name in WORDS}
        if self.driver is None or self.definition == definition:
            return False
        if self.definition.model_copy(update=words) != definition:
            return False
        self.definition = definition
        return True

    async def look(self) -> Availability:
        """Whether it can run, now. Of looks that overlap the one that began last counts: a command may take long."""
        self._looks += 1
        mine = self._looks
        found = Availability("broken", self.broken, "mend the agent's definition")
        if self.lost is not None:
            found = Availability("broken", self.lost, "it is tried again soon")
        elif self.driver is not None:
            found = await self.driver.availability()
        if self.seen is None or mine > self._seen_by:
            self.seen, self._seen_by = found, mine
        return self.seen

    @contextmanager
    def held(self) -> Iterator[None]:
        """For whoever is about to start a run: its driver stays open meanwhile."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if self._left is not None:
                self._left.set()

    def busy_until(self, over: anyio.Event) -> None:
        self._runs = [*(run for run in self._runs if not run.is_set()), over]

    async def unused(self) -> None:
        """Until nobody holds it and its runs are over."""
        while self._users or any(not run.is_set() for run in self._runs):
            for run in self._runs:
                await run.wait()
            if self._users:
                self._left = anyio.Event()
                await self._left.wait()


class Agents:
    """By id. A definition that cannot be started is listed as broken; it does not keep the others from working."""

    def __init__(self, tasks: Tasks, close_driver_sessions: LetGo, touch: Touch = lambda agent_id: None) -> None:
        """`close_driver_sessions`: closes a driver's sessions, each when its turn is over. `touch`: is told of every
        change."""
        self._tasks, self._let_go, self._touch = tasks, close_driver_sessions, touch
        self._probes = Probes(tasks)
        self._probing: set[tuple[Driver, bool]] = set()
        self._leaving: list[Driver] = []
        self._agents: dict[str, Agent] = {}

    def __getitem__(self, agent_id: str) -> Agent:
        try:
            return self._agents[agent_id]
        except KeyError:
            known = ", ".join(sorted(self._agents)) or "none"
            raise NotFound(f"there is no agent {agent_id!r}. Known: {known}.", code="UNKNOWN_AGENT") from None

    def __iter__(self) -> Iterator[Agent]:
        """Over those that there are now, whatever changes meanwhile."""
        return iter(list(self._agents.values()))

    def __contains__(self, agent_id: object) -> bool:
        return agent_id in self._agents

    def put(self, definition: AgentDefinition, broken: str | None = None) -> None:
        """Adds it, or replaces the one that has the id; nothing happens where nothing differs. `broken`: it is listed
        with this reason, and cannot run."""
        old = self._agents.get(definition.id)
        if old is not None and broken is None and old.redescribed(definition):
            self._touch(definition.id)
            return
        same = old is not None and old.definition == definition
        if old is not None and same and broken is None and old.driver is not None:
            return
        # One that could not be started is tried again: what it lacked may be there now.
        new = _start(definition, self._tasks) if broken is None else Agent(definition, None, broken)
        if old is not None and same and new.driver is None and new.broken == old.broken:
            return
        if new.broken is not None:
            log.warning("agent %s: %s", definition.id, new.broken)
        self._agents[definition.id] = new
        self._retire(old)
        self._touch(definition.id)

    def remove(self, agent_id: str) -> None:
        self._retire(self._agents.pop(agent_id, None))
        self._touch(agent_id)

    def report(self, agent_id: str, trouble: Failure | None) -> None:
        agent = self._agents.get(agent_id)
        if agent is not None and agent.trouble != trouble:
            agent.trouble = trouble
            self._touch(agent_id)

    def lose(self, agent_id: str, why: str | None) -> None:
        """`why`: the gateway that has it cannot be reached; None: it can."""
        agent = self._agents.get(agent_id)
        if agent is not None and agent.lost != why:
            agent.lost = why
            self._touch(agent_id)

    def _retire(self, agent: Agent | None) -> None:
        if agent is not None and agent.driver is not None:
            self._leaving.append(agent.driver)
            self._tasks.start_soon(self._see_out, agent, agent.driver)

    async def _see_out(self, agent: Agent, driver: Driver) -> None:
        await agent.unused()
        # At once, so that nobody who found it before can begin with it after this.
        agent.driver, agent.broken = None, GONE
        try:
            await self._let_go(driver)
            await driver.aclose()
        except Exception:  # it is leaving anyway, and must not take the gateway along
            log.exception("agent %s: its old driver could not be closed cleanly", agent.definition.id)
        self._leaving.remove(driver)

    def probe_soon(self, agent: Agent, *, ready: bool = False) -> None:
        """In the background: whoever asks what an agent can do should not wait for it to start. `ready`: that it can
        run is known already, and need not be asked of a command that may take long."""
        if agent.driver is not None and not agent.driver.is_probed and (agent.driver, ready) not in self._probing:
            self._probing.add((agent.driver, ready))
            self._tasks.start_soon(self._probe, agent, agent.driver, ready)

    async def wait_until_probed(self, agent: Agent) -> None:
        """Until the agent itself has told what it can do. Raises `AgentFault` when it cannot."""
        if agent.driver is not None:
            with agent.held():
                await self._probes.wait_until_probed(agent.driver)

    async def _probe(self, agent: Agent, driver: Driver, ready: bool) -> None:
        try:
            with agent.held():
                if ready or (await agent.look()).status == "ready":
                    await self._probes.wait_until_probed(driver)
        except GatewayError as exc:
            log.info("agent %s could not be probed: %s", agent.definition.id, exc.detail)
        finally:
            self._probing.discard((driver, ready))
            self._touch(agent.definition.id)

    async def aclose(self) -> None:
        drivers = [agent.driver for agent in self if agent.driver is not None]
        for driver in [*drivers, *self._leaving]:
            await driver.aclose()


def _start(definition: AgentDefinition, tasks: Tasks) -> Agent:
    try:
        return Agent(definition, make_driver(definition, tasks))
    except ConfigError as exc:
        return Agent(definition, None, exc.detail)
