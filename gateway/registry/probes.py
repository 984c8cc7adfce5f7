"""Probes that make agents announce what they can do: one at a time per driver, however many callers wait for it.

In: a driver, and callers that wait for its announcement. Out: it was made, or why not. A probe is bounded in time,
belongs to none of the callers, and is cancelled when no caller waits any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
from anyio import CancelScope

from gateway.background import Tasks
from gateway.drivers import Driver
from gateway.errors import AgentFault

PROBE_TIMEOUT_SECONDS = 60.0
"""Agents take seconds to start, and some wait for a network that is not there."""


@dataclass(slots=True, eq=False)
class Probe:
    callers: int = 0
    scope: CancelScope = field(default_factory=CancelScope)
    over: anyio.Event = field(default_factory=anyio.Event)
    failure: Exception | None = None


class Probes:
    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._running: dict[Driver, Probe] = {}

    async def wait_until_probed(self, driver: Driver) -> None:
        """Until the agent has announced what it can do. Raises `AgentFault` when it cannot."""
        if driver.is_probed:
            return
        probe = self._running.get(driver) or self._start(driver)
        probe.callers += 1
        try:
            await probe.over.wait()
        finally:
            probe.callers -= 1
            if not probe.callers:
                self._forget(driver, probe)
                probe.scope.cancel()
        if probe.failure is not None:
            raise probe.failure

    def _start(self, driver: Driver) -> Probe:
        probe = self._running[driver] = Probe()
        self._tasks.start_soon(self._run, driver, probe)
        return probe

    async def _run(self, driver: Driver, probe: Probe) -> None:
        with probe.scope:
            try:
                with anyio.fail_after(PROBE_TIMEOUT_SECONDS):
                    await driver.probe()
            except TimeoutError:
                detail = f"the agent did not answer within {PROBE_TIMEOUT_SECONDS:g} seconds"
                probe.failure = AgentFault(detail, code="AGENT_STALLED")
            except Exception as exc:  # raised again in every caller
                probe.failure = exc
            finally:
                self._forget(driver, probe)
                probe.over.set()

    def _forget(self, driver: Driver, probe: Probe) -> None:
        """The next caller starts another probe."""
        if self._running.get(driver) is probe:
            del self._running[driver]
