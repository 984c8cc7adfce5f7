"""The running agents: each definition with its driver, or the reason why it has none. Agents change while others run.

In: definitions to add, replace or remove. Out: `Agent` objects by id. A replaced or removed agent is not cut off: runs
that use it go on with it to their end, new requests get the new one, and its driver is closed when the last user has
left.
"""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import orjson
from anyio import to_thread

from gateway.background import Tasks
from gateway.capability_paths import flatten
from gateway.catalog.capability_table import capability_tree
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.registry import ModelRegistry
from gateway.catalog.transports import Transport, list_transports
from gateway.drivers import Driver, make_driver
from gateway.drivers.homes import Home
from gateway.drivers.probe import Availability, find
from gateway.errors import ConfigError, GatewayError, NotFound, Refused
from gateway.events import Layer
from gateway.registry.probes import Probes

log = logging.getLogger(__name__)

REPLACED = "it was replaced or removed meanwhile; send the request again"

DESCRIPTIVE_FIELDS = ("identity", "verified", "sources")
"""Fields of a definition that are shown to people and that no driver depends on."""

CloseSessions = Callable[[Driver], Awaitable[None]]
OnChange = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Failure:
    """What is wrong with the newest definition of an agent. The last good definition stays in use."""

    error: str
    since: float
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Handshake:
    """What an agent announces of itself, flattened."""

    layer: Layer
    fingerprint: bytes | str
    """Changes whenever the announcement changes."""


@dataclass(slots=True)
class Agent:
    definition: AgentDefinition
    driver: Driver | None
    broken_reason: str | None = None
    """Why there is no driver."""
    availability: Availability | None = None
    """What the last probe found; None: the agent was not probed yet."""
    failure: Failure | None = None
    """The agent's file is newer than this definition, and invalid."""
    unreachable_reason: str | None = None
    """Why the gateway that has this agent cannot be reached."""
    _transports: tuple[Transport, ...] = field(default=(), init=False, repr=False, compare=False)
    _registries: dict[Path, ModelRegistry] = field(default_factory=dict, init=False, repr=False, compare=False)
    """By the file of a transport: what an agent lists through one protocol may not hold for another."""
    _probes_begun: int = field(default=0, init=False, repr=False, compare=False)
    _newest_probe: int = field(default=0, init=False, repr=False, compare=False)
    """Number of the probe that `availability` is from."""
    _has_program: bool = field(default=False, init=False, repr=False, compare=False)
    """The program of its command was found, by a run or by the newest probe."""
    _has_worked: bool = field(default=False, init=False, repr=False, compare=False)
    """The last run that could tell went well."""
    _handshake: Handshake | None = field(default=None, init=False, repr=False, compare=False)
    _last_complaint: str | None = field(default=None, init=False, repr=False, compare=False)
    _users: int = field(default=0, init=False, repr=False, compare=False)
    _runs: list[anyio.Event] = field(default_factory=list, init=False, repr=False, compare=False)
    _user_left: anyio.Event | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._transports = list_transports(self.definition)

    @property
    def definition_in_use(self) -> AgentDefinition:
        """The agent as it is through the transport in use."""
        return self._transports[0 if self.driver is None else self.driver.transport_index].definition

    @property
    def models(self) -> ModelRegistry:
        """The models of the transport in use."""
        definition = self.definition_in_use
        registry = self._registries.get(definition.source)
        if registry is None:
            registry = self._registries[definition.source] = ModelRegistry(definition)
        return registry

    @property
    def usable_driver(self) -> Driver:
        """Raises `Refused` where there is none."""
        if self.driver is None:
            raise Refused(f"the agent {self.definition.id!r} cannot run: {self.broken_reason}", code="AGENT_BROKEN")
        return self.driver

    def update_description(self, definition: AgentDefinition) -> bool:
        """Takes a definition that differs only in what is shown to people; driver and sessions stay. False: it differs
        in more, or not at all."""
        if self.driver is None or self.definition == definition:
            return False
        described = {name: getattr(definition, name) for name in DESCRIPTIVE_FIELDS}
        if self.definition.model_copy(update=described) != definition:
            return False
        self.definition = definition
        self._transports = list_transports(definition)
        return True

    def set_failure(self, failure: Failure | None) -> bool:
        """True: it has changed."""
        is_new = self.failure != failure
        self.failure = failure
        return is_new

    def set_unreachable(self, reason: str | None) -> bool:
        """True: it has changed."""
        is_new = self.unreachable_reason != reason
        self.unreachable_reason = reason
        return is_new

    def detach_driver(self, reason: str) -> None:
        """From now on the agent refuses runs with this reason."""
        self.driver = None
        self.broken_reason = reason

    # -- can it run?

    async def probe(self) -> Availability:
        """Whether the agent can run now. Of probes that overlap, the one that began last counts: a probe may wait for
        a slow command."""
        self._probes_begun += 1
        number = self._probes_begun
        found = Availability("broken", self.broken_reason, "correct the agent's definition")
        if self.unreachable_reason is not None:
            found = Availability("broken", self.unreachable_reason, "the gateway tries again soon")
        elif self.driver is not None:
            found = await self.driver.availability()
        if self.availability is None or number > self._newest_probe:
            self.availability = self._correct(found)
            self._newest_probe = number
            self._has_program = found.status != "not-installed"
        return self.availability

    def report_success(self) -> None:
        """A run of the agent went well, so whatever it needs to sign in, it has."""
        self._has_worked = True
        if self.availability is not None:
            self.availability = self._correct(self.availability)

    def report_sign_in_needed(self) -> None:
        self._has_worked = False

    def _correct(self, found: Availability) -> Availability:
        """The signs of a sign-in that the probe knows are not all that there are: an agent may use a provider of the
        user's own."""
        if not self._has_worked or found.status != "needs-auth":
            return found
        return replace(found, status="ready", reason=None, hint=None, signed_in=None)

    async def probe_home(self, home: Home) -> Availability:
        """Whether the agent can run now for the principal that has this home."""
        shared = self.availability or await self.probe()
        if self.driver is None or shared.status in ("not-installed", "broken"):
            return shared
        found = await self.driver.availability(home)
        if found.status != "needs-auth":
            return found
        command = f"agui-gateway login {self.definition.id} --principal {shlex.quote(home.principal)}"
        hint = f"where the gateway runs: `{command}`" + (f" ({found.hint})" if found.hint else "")
        return replace(found, reason=f"{home.principal!r} is not signed in: {found.reason}", hint=hint)

    async def require_program(self) -> None:
        """Raises `Refused`, with the way to install it, where the program of the agent's command is missing. A program
        that was found once is not searched for again, until a probe misses it."""
        definition = self.definition
        if definition.command is None or self._has_program:
            return
        if await to_thread.run_sync(find, definition, os.environ) is not None:
            self._has_program = True
            return
        found = await self.probe()
        self.check_installed(found)

    def check_installed(self, found: Availability) -> None:
        """Raises `Refused`, with the way to install it, where a probe missed the agent."""
        if found.status != "not-installed":
            return
        advice = f"Install it: {found.hint}" if found.hint else "Install it, or correct its definition"
        detail = f"{self.definition.id!r} cannot run here: {found.reason}, stated by the probe. {advice}"
        raise Refused(detail, code="AGENT_NOT_INSTALLED", source="probe", availability=found.to_json())

    # -- what does it announce?

    async def read_handshake(self) -> Handshake:
        """What the agent announces now. An announcement that fails or is invalid counts as none: the rest of the
        snapshot stands, and the operator reads why in the log."""
        announced = await self._read_announcement()
        fingerprint = fingerprint_of(announced)
        if self._handshake is None or self._handshake.fingerprint != fingerprint:
            self._handshake = Handshake(self._flatten(announced), fingerprint)
        return self._handshake

    async def _read_announcement(self) -> Mapping[str, Any] | None:
        if self.driver is None:
            return None
        try:
            return await self.driver.handshake_layer()
        except Exception as exc:  # an author's function may raise anything
            self._complain(f"its capabilities cannot be read: {type(exc).__name__}: {exc}")
            return None

    def _flatten(self, announced: Mapping[str, Any] | None) -> Layer:
        try:
            return flatten(capability_tree(announced)) if announced else {}
        except ValueError as exc:
            self._complain(f"it announces what is not a capability: {exc}")
            return {}

    def _complain(self, reason: str) -> None:
        """Logs each reason once: announcements are read often."""
        if self._last_complaint != reason:
            self._last_complaint = reason
            log.warning("agent %s: %s", self.definition.id, reason)

    # -- who uses it?

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keeps the driver open for a request that is about to start a run or to open a session."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if self._user_left is not None:
                self._user_left.set()

    def add_run(self, over: anyio.Event) -> None:
        """The agent is in use until `over` is set."""
        self._runs = [*(run for run in self._runs if not run.is_set()), over]

    async def wait_until_unused(self) -> None:
        while self._users or any(not run.is_set() for run in self._runs):
            for run in self._runs:
                await run.wait()
            if self._users:
                self._user_left = anyio.Event()
                await self._user_left.wait()


class Agents:
    """The agents by id. One that cannot be started is listed as broken and does not affect the others."""

    def __init__(
        self, tasks: Tasks, close_sessions: CloseSessions, on_change: OnChange = lambda agent_id: None
    ) -> None:
        """`close_sessions`: closes a driver's sessions, each when its turn is over. `on_change`: called with the id of
        every agent that has changed."""
        self._tasks = tasks
        self._close_sessions = close_sessions
        self._on_change = on_change
        self._probes = Probes(tasks)
        self._probing: set[tuple[Driver, bool]] = set()
        self._retired: list[Driver] = []
        self._agents: dict[str, Agent] = {}

    def __getitem__(self, agent_id: str) -> Agent:
        try:
            return self._agents[agent_id]
        except KeyError:
            known = ", ".join(sorted(self._agents)) or "none"
            raise NotFound(f"there is no agent {agent_id!r}. Known: {known}.", code="UNKNOWN_AGENT") from None

    def __iter__(self) -> Iterator[Agent]:
        """Over the agents of this moment, whatever changes meanwhile."""
        return iter(list(self._agents.values()))

    def __contains__(self, agent_id: object) -> bool:
        return agent_id in self._agents

    def put(self, definition: AgentDefinition, broken_reason: str | None = None) -> None:
        """Adds the agent, or replaces the one that has its id; does nothing where nothing differs. `broken_reason`:
        the agent is listed with this reason and cannot run."""
        old = self._agents.get(definition.id)
        if old is not None and broken_reason is None and old.update_description(definition):
            self._on_change(definition.id)
            return
        is_same = old is not None and old.definition == definition
        if old is not None and is_same and broken_reason is None and old.driver is not None:
            return
        # One that could not be started is tried again: what it lacked may be there now.
        new = _start(definition, self._tasks) if broken_reason is None else Agent(definition, None, broken_reason)
        if old is not None and is_same and new.driver is None and new.broken_reason == old.broken_reason:
            return
        if new.broken_reason is not None:
            log.warning("agent %s: %s", definition.id, new.broken_reason)
        self._agents[definition.id] = new
        self._retire(old)
        self._on_change(definition.id)

    def remove(self, agent_id: str) -> None:
        self._retire(self._agents.pop(agent_id, None))
        self._on_change(agent_id)

    def report_failure(self, agent_id: str, failure: Failure | None) -> None:
        """What is wrong with the newest definition; None: nothing any more."""
        agent = self._agents.get(agent_id)
        if agent is not None and agent.set_failure(failure):
            self._on_change(agent_id)

    def report_unreachable(self, agent_id: str, reason: str | None) -> None:
        """Why the gateway that has the agent cannot be reached; None: it can."""
        agent = self._agents.get(agent_id)
        if agent is not None and agent.set_unreachable(reason):
            self._on_change(agent_id)

    def _retire(self, agent: Agent | None) -> None:
        if agent is not None and agent.driver is not None:
            self._retired.append(agent.driver)
            self._tasks.start_soon(self._close_retired, agent, agent.driver)

    async def _close_retired(self, agent: Agent, driver: Driver) -> None:
        await agent.wait_until_unused()
        # Without awaiting in between, so that no request that found the agent before can begin a run after this.
        agent.detach_driver(REPLACED)
        try:
            await self._close_sessions(driver)
            await driver.aclose()
        except Exception:  # the driver is retired in any case, and its failure must not end the gateway
            log.exception("agent %s: its old driver could not be closed cleanly", agent.definition.id)
        self._retired.remove(driver)

    def probe_soon(self, agent: Agent, *, is_ready: bool = False) -> None:
        """Probes in the background: a client that reads capabilities does not wait for the agent to start. `is_ready`:
        the agent is known to be able to run, so that no slow command is needed to find out."""
        if agent.driver is not None and not agent.driver.is_probed and (agent.driver, is_ready) not in self._probing:
            self._probing.add((agent.driver, is_ready))
            self._tasks.start_soon(self._probe, agent, agent.driver, is_ready)

    async def wait_until_probed(self, agent: Agent) -> None:
        """Until the agent itself has announced what it can do. Raises `AgentFault` when it cannot."""
        if agent.driver is not None:
            with agent.in_use():
                await self._probes.wait_until_probed(agent.driver)

    async def _probe(self, agent: Agent, driver: Driver, is_ready: bool) -> None:
        try:
            with agent.in_use():
                if is_ready or (await agent.probe()).status == "ready":
                    await self._probes.wait_until_probed(driver)
        except GatewayError as exc:
            log.info("agent %s could not be probed: %s", agent.definition.id, exc.detail)
        finally:
            self._probing.discard((driver, is_ready))
            self._on_change(agent.definition.id)

    async def aclose(self) -> None:
        drivers = [agent.driver for agent in self if agent.driver is not None]
        for driver in [*drivers, *self._retired]:
            await driver.aclose()


def _start(definition: AgentDefinition, tasks: Tasks) -> Agent:
    try:
        return Agent(definition, make_driver(definition, tasks))
    except ConfigError as exc:
        return Agent(definition, None, exc.detail)


def fingerprint_of(value: Mapping[str, Any] | None) -> bytes | str:
    """Not the object itself: its author may return the same object again after changing it."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return repr(value)
