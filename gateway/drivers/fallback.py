"""An agent with several transports (`[[fallback]]`): the first that works is used, and the snapshot names it.

A transport that does not work (its program does not start, does not understand its flags, never becomes ready) is
skipped for some minutes. An agent that requires a sign-in works: it is not skipped.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.fallback import Fallback
from gateway.catalog.trust import Trust
from gateway.drivers.base import Driver, Opening, Session
from gateway.drivers.homes import Home
from gateway.drivers.probe import BEST_FIRST, Availability
from gateway.errors import AgentFault

log = logging.getLogger(__name__)

START_FAILURES = frozenset(("AGENT_DIED", "AGENT_STALLED", "AGENT_PROTOCOL_ERROR", "AGENT_NOT_FOUND"))
"""Error codes of an agent that could not be started; with any other the agent itself has answered."""

SKIP_SECONDS = 300.0
"""After this a skipped transport is tried again: a slow start on a busy machine must not rule it out for good."""

DriverFactory = Callable[[AgentDefinition, Tasks], Driver]


def apply_fallback(definition: AgentDefinition, fallback: Fallback) -> AgentDefinition:
    """The agent as it is through this transport alone."""
    changes = {
        "driver": fallback.driver,
        "command": fallback.command,
        "acp": fallback.acp,
        "cli": fallback.cli,
        "fallback": (),
        "options": definition.options if fallback.options is None else fallback.options,
        "trust": _merge_trust(definition, fallback),
        "capabilities": _merge(definition.capabilities, fallback.capabilities),
    }
    return definition.model_copy(update=changes)


def _merge_trust(definition: AgentDefinition, fallback: Fallback) -> Trust:
    if fallback.trust is None:
        return definition.trust
    return definition.trust.model_copy(
        update={"untrusted": fallback.trust.untrusted, "trusted": fallback.trust.trusted}
    )


class FallbackDriver:
    is_local = True
    remote_proxy = None

    def __init__(self, definition: AgentDefinition, tasks: Tasks, factories: Mapping[str, DriverFactory]) -> None:
        first = definition.model_copy(update={"fallback": ()})
        self._names = [definition.cli.dialect if definition.cli else definition.driver]
        self._names += [fallback.name for fallback in definition.fallback]
        self._layers: list[Mapping[str, Any]] = [{}, *(fallback.capabilities for fallback in definition.fallback)]
        definitions = [first, *(apply_fallback(definition, fallback) for fallback in definition.fallback)]
        self._drivers = [factories[each.driver](each, tasks) for each in definitions]
        self._failed_at: dict[int, float] = {}
        """Index of a skipped driver → when it failed."""
        self.question_window = max(driver.question_window for driver in self._drivers)

    @property
    def _index(self) -> int:
        """The first driver that is not skipped; the last, if all are."""
        limit = time.monotonic() - SKIP_SECONDS
        usable = (index for index in range(len(self._drivers)) if self._failed_at.get(index, limit) <= limit)
        return next(usable, len(self._drivers) - 1)

    @property
    def _current(self) -> Driver:
        return self._drivers[self._index]

    async def handshake_layer(self) -> Mapping[str, Any]:
        """The capabilities that the transport's section states, then the agent's own, then the transport's name."""
        tree = _merge(self._layers[self._index], await self._current.handshake_layer())
        return _merge(tree, {"custom": {"gateway": {"transport": self._names[self._index]}}})

    @property
    def is_probed(self) -> bool:
        return self._current.is_probed

    async def probe(self) -> None:
        await self._use_first_working(lambda driver: driver.probe())

    async def availability(self, home: Home | None = None) -> Availability:
        """Of the transport that is nearest to being ready; among equals, the first."""
        results = [await driver.availability(home) for driver in self._drivers[self._index :]]
        return min(results, key=lambda each: BEST_FIRST.index(each.status))

    async def models(self) -> list[Mapping[str, Any]] | None:
        return await self._current.models()

    async def open(self, opening: Opening) -> Session:
        session: Session = await self._use_first_working(lambda driver: driver.open(opening))
        return session

    async def _use_first_working(self, use: Callable[[Driver], Any]) -> Any:
        for index in range(self._index, len(self._drivers)):
            try:
                result = await use(self._drivers[index])
            except AgentFault as exc:
                if exc.code not in START_FAILURES or index + 1 >= len(self._drivers):
                    raise
                log.warning("%s does not work (%s): trying %s", self._names[index], exc.detail, self._names[index + 1])
                self._failed_at[index] = time.monotonic()
            else:
                self._failed_at.pop(index, None)
                return result
        raise AssertionError("the last driver returns or raises")

    async def aclose(self) -> None:
        for driver in self._drivers:
            await driver.aclose()


def _merge(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Key by key; where both have a value that is no object, the upper one's."""
    tree = dict(lower)
    for key, value in upper.items():
        current = tree.get(key)
        tree[key] = _merge(current, value) if isinstance(current, Mapping) and isinstance(value, Mapping) else value
    return tree
