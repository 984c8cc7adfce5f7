"""Making agents say what they can do: one probe of each at a time, however many wait for it.

In: a driver, and whoever wants it to have spoken. Out: it has, or why it has not. A probe is bounded in time, belongs
to none of those who wait, and is given up when nobody waits any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
from anyio import CancelScope

from gateway.background import Tasks
from gateway.drivers import Driver
from gateway.errors import AgentFault

LIMIT = 60.0
"""Agents take seconds to start, and some wait for a network that is not there."""


@dataclass(slots=True, eq=False)
class Probe:
    waiting: int = 0
    scope: CancelScope = field(default_factory=CancelScope)
    over: anyio.Event = field(default_factory=anyio.Event)
    failure: Exception | None = None


class Probes:
    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._running: dict[Driver, Probe] = {}

    async def wait_until_probed(self, driver: Driver) -> None:
        """Until the agent has told what it can do. Raises `AgentFault` when it cannot."""
        if driver.is_probed:
            return
        probe = self._running.get(driver) or self._begin(driver)
        probe.waiting += 1
        try:
            await probe.over.wait()
        finally:
            probe.waiting -= 1
            if not probe.waiting:
                self._forget(driver, probe)
                probe.scope.cancel()
        if probe.failure is not None:
            raise probe.failure

    def _begin(self, driver: Driver) -> Probe:
        probe = self._running[driver] = Probe()
        self._tasks.start_soon(self._run, driver, probe)
        return probe

    async def _run(self, driver: Driver, probe: Probe) -> None:
        with probe.scope:
            try:
                with anyio.fail_after(LIMIT):
                    await driver.probe()
            except TimeoutError:
                detail = f"the agent did not answer within {LIMIT:g} seconds"
                probe.failure = AgentFault(detail, code="AGENT_STALLED")
            except Exception as exc:  # whatever it is, it is for those who wait
                probe.failure = exc
            finally:
                self._forget(driver, probe)
                probe.over.set()

    def _forget(self, driver: Driver, probe: Probe) -> None:
        """Whoever comes now begins another."""
        if self._running.get(driver) is probe:
            del self._running[driver]
