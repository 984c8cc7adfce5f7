"""An agent with several ways in: the first that works is used, and the snapshot says which.

A way that cannot be had (its program does not start, does not understand its flags, never becomes ready) is passed
over for some minutes. An agent that wants a sign-in works: that is not passed over.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Fallback
from gateway.drivers.base import Driver, Opening, Session
from gateway.drivers.probe import BEST_FIRST, Availability
from gateway.errors import AgentFault

log = logging.getLogger(__name__)

PASSED_OVER = frozenset(("AGENT_DIED", "AGENT_STALLED", "AGENT_PROTOCOL_ERROR", "AGENT_NOT_FOUND"))
"""Of an agent that could not be started; anything else is an answer."""

LONG_AGO = 300.0
"""Seconds after which a way that was passed over is tried again."""

Make = Callable[[AgentDefinition, Tasks], Driver]


def through(definition: AgentDefinition, fallback: Fallback) -> AgentDefinition:
    """The agent as it is through this fallback, and through no other."""
    changed = {
        "driver": fallback.driver,
        "command": fallback.command,
        "acp": fallback.acp,
        "cli": fallback.cli,
        "fallback": (),
        "options": definition.options if fallback.options is None else fallback.options,
        "capabilities": _over(definition.capabilities, fallback.capabilities),
    }
    return definition.model_copy(update=changed)


class FallbackDriver:
    def __init__(self, definition: AgentDefinition, tasks: Tasks, makers: Mapping[str, Make]) -> None:
        first = definition.model_copy(update={"fallback": ()})
        self._names = [definition.cli.dialect if definition.cli else definition.driver]
        self._names += [fallback.name for fallback in definition.fallback]
        told = [first, *(through(definition, fallback) for fallback in definition.fallback)]
        self._layers: list[Mapping[str, Any]] = [{}, *(fallback.capabilities for fallback in definition.fallback)]
        self._drivers = [makers[each.driver](each, tasks) for each in told]
        self._passed_over: dict[int, float] = {}
        """Way → when."""
        self.local, self.remote_proxy = True, None
        self.question_window = max(driver.question_window for driver in self._drivers)

    @property
    def _at(self) -> int:
        """The first that was not passed over, or long ago: a slow start on a busy machine is no reason for ever."""
        old = time.monotonic() - LONG_AGO
        fresh = (at for at in range(len(self._drivers)) if self._passed_over.get(at, old) <= old)
        return next(fresh, len(self._drivers) - 1)

    @property
    def _now(self) -> Driver:
        return self._drivers[self._at]

    async def handshake_layer(self) -> Mapping[str, Any]:
        """What differs through the way that is used, under what the agent itself says."""
        told = _over(self._layers[self._at], await self._now.handshake_layer())
        return _over(told, {"custom": {"gateway": {"way": self._names[self._at]}}})

    @property
    def probed(self) -> bool:
        return self._now.probed

    async def probe(self) -> None:
        await self._first_that_works(lambda driver: driver.probe())

    async def availability(self) -> Availability:
        """Of the one that is nearest to being ready; of several, the first."""
        found = [await driver.availability() for driver in self._drivers[self._at :]]
        return min(found, key=lambda each: BEST_FIRST.index(each.status))

    async def models(self) -> list[Mapping[str, Any]] | None:
        return await self._now.models()

    async def open(self, opening: Opening) -> Session:
        session: Session = await self._first_that_works(lambda driver: driver.open(opening))
        return session

    async def _first_that_works(self, use: Callable[[Driver], Any]) -> Any:
        for at in range(self._at, len(self._drivers)):
            try:
                found = await use(self._drivers[at])
            except AgentFault as exc:
                if exc.code not in PASSED_OVER or at + 1 >= len(self._drivers):
                    raise
                log.warning("%s cannot be had (%s): %s is tried", self._names[at], exc.detail, self._names[at + 1])
                self._passed_over[at] = time.monotonic()
            else:
                self._passed_over.pop(at, None)
                return found
        raise AssertionError("the last way returns or raises")

    async def aclose(self) -> None:
        for driver in self._drivers:
            await driver.aclose()


def _over(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Key by key."""
    tree = dict(under)
    for key, value in over.items():
        held = tree.get(key)
        tree[key] = _over(held, value) if isinstance(held, Mapping) and isinstance(value, Mapping) else value
    return tree
