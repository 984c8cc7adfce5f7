"""An agent with several transports (`[[fallback]]`, `transport_of`): the first that works is used.

In: the transports of an agent, the best first. Out: one driver. A transport whose program is missing is passed over,
and used as soon as the program is there. One that does not work (its program does not start, does not understand its
flags, never becomes ready) is skipped for some minutes; the snapshot says which one is used instead, and why. An agent
that requires a sign-in works: it is not skipped. A run whose options the next transport does not take is refused.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.background import Tasks
from gateway.capability_paths import OPTIONS
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.options import may_take, set_options
from gateway.catalog.transports import Transport, list_transports
from gateway.drivers.base import Driver, Opening, Session
from gateway.drivers.homes import Home
from gateway.drivers.probe import BEST_FIRST, Availability, find
from gateway.errors import AgentFault, NotCapable

log = logging.getLogger(__name__)

START_FAILURES = frozenset(("AGENT_DIED", "AGENT_STALLED", "AGENT_PROTOCOL_ERROR"))
"""Error codes of an agent that could not be started; with any other the agent itself has answered."""
NOT_FOUND = "AGENT_NOT_FOUND"

SKIP_SECONDS = 300.0
"""After this a skipped transport is tried again: a slow start on a busy machine must not rule it out for good."""

DriverFactory = Callable[[AgentDefinition, Tasks], Driver]


@dataclass(slots=True)
class Way:
    """One transport with its driver."""

    transport: Transport
    driver: Driver
    is_installed: bool = False
    """Its program was found; only then it is not searched for again."""
    failed_at: float | None = None
    failure: str = ""
    """What was wrong when it was last tried."""

    @property
    def is_skipped(self) -> bool:
        return self.failed_at is not None and time.monotonic() - self.failed_at < SKIP_SECONDS

    def find_program(self) -> bool:
        if not self.is_installed:
            self.is_installed = find(self.transport.definition, os.environ) is not None
        return self.is_installed

    def to_json(self, in_use: bool) -> dict[str, Any]:
        definition = self.transport.definition
        state = "failed" if self.is_skipped else "missing" if not self.is_installed else "ready"
        state = "in-use" if in_use and state == "ready" else state
        described = {"name": self.transport.name, "driver": definition.driver, "state": state}
        return {**described, "reason": self.failure} if self.is_skipped else described


class FallbackDriver:
    is_local = True
    remote_proxy = None

    def __init__(self, definition: AgentDefinition, tasks: Tasks, factories: Mapping[str, DriverFactory]) -> None:
        self._ways = [
            Way(transport, factories[transport.definition.driver](transport.definition, tasks))
            for transport in list_transports(definition)
        ]
        self.question_window = max(way.driver.question_window for way in self._ways)

    @property
    def transport_index(self) -> int:
        """The first transport that is installed and not skipped. Where none is installed, the first of all: nothing
        is stated of the others."""
        usable = [index for index, way in enumerate(self._ways) if not way.is_skipped]
        installed = (index for index in usable if self._ways[index].find_program())
        return next(installed, usable[0] if usable else len(self._ways) - 1)

    @property
    def _current(self) -> Driver:
        return self._ways[self.transport_index].driver

    async def handshake_layer(self) -> Mapping[str, Any]:
        """The agent's own statement, and which transport it is reached by."""
        index = self.transport_index
        tree = dict(await self._ways[index].driver.handshake_layer())
        transports = [way.to_json(number == index) for number, way in enumerate(self._ways)]
        custom = dict(tree.get("custom") or {})
        stated = {"transport": self._ways[index].transport.name, "transports": transports}
        return {**tree, "custom": {**custom, "gateway": {**(custom.get("gateway") or {}), **stated}}}

    @property
    def is_probed(self) -> bool:
        return self._current.is_probed

    async def probe(self) -> None:
        await self._use_first_working(lambda way: way.driver.probe())

    async def availability(self, home: Home | None = None) -> Availability:
        """Of the transport that is nearest to being ready; among equals, the first."""
        results = []
        for way in self._ways:
            found = await way.driver.availability(home)
            way.is_installed = found.status != "not-installed"
            if not way.is_skipped:
                results.append(found)
        return min(results or [found], key=lambda each: BEST_FIRST.index(each.status))

    async def models(self) -> list[Mapping[str, Any]] | None:
        return await self._current.models()

    async def open(self, opening: Opening) -> Session:
        checked = self.transport_index

        async def open_by(way: Way) -> Session:
            if way is not self._ways[checked]:
                _check_options(opening, way.transport, self._ways[checked])
            return await way.driver.open(opening)

        def is_usable(way: Way) -> bool:
            """What was decided about an untrusted folder holds for agents that start there in the same way."""
            trust = way.transport.definition.trust.untrusted_start
            return (
                opening.confinement.is_trusted
                or trust == self._ways[checked].transport.definition.trust.untrusted_start
            )

        session: Session = await self._use_first_working(open_by, is_usable)
        return session

    async def _use_first_working(
        self, use: Callable[[Way], Any], is_usable: Callable[[Way], bool] = lambda way: True
    ) -> Any:
        usable = [way for way in self._ways if not way.is_skipped and is_usable(way)]
        ways = [way for way in usable if way.find_program()] or usable[:1] or [self._ways[self.transport_index]]
        fault: AgentFault | None = None
        for way in ways:
            try:
                result = await use(way)
            except AgentFault as exc:
                if exc.code not in START_FAILURES and exc.code != NOT_FOUND:
                    raise
                if exc.code == NOT_FOUND:
                    way.is_installed = False
                else:
                    log.warning("%s does not work: %s", way.transport.name, exc.detail)
                    way.failed_at, way.failure = time.monotonic(), exc.detail
                fault = _worse(fault, exc)
            else:
                way.failed_at = None
                return result
        raise fault or AssertionError("at least one transport was tried")

    async def aclose(self) -> None:
        for way in self._ways:
            await way.driver.aclose()


def _check_options(opening: Opening, transport: Transport, checked: Way) -> None:
    """The run was checked against another transport, which then did not start. Raises `NotCapable`."""
    definition = transport.definition
    for option in set_options(opening.options):
        if not may_take(definition, option):
            raise NotCapable(
                f"Agent '{definition.id}' is reached by {transport.name!r} now, which does not take the option "
                f"{option!r}: {checked.transport.name!r} does not work ({checked.failure or 'it is not installed'}). "
                f"Leave the option out, or mend {checked.transport.name!r}.",
                agent=definition.id,
                capability=f"{OPTIONS}.{option}",
                source=f"profile ({definition.source.name})",
                transport=transport.name,
            )


def _worse(first: AgentFault | None, second: AgentFault) -> AgentFault:
    """The failure that tells the user more: of a program that ran rather than of one that is missing, otherwise the
    earlier one, which is of the better transport."""
    if first is None or (first.code == NOT_FOUND and second.code != NOT_FOUND):
        return second
    return first
