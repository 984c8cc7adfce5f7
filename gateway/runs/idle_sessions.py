"""Idle sessions are closed: after a time, above a number, and when agents use too much memory; the oldest first.

In: the pool of sessions and the settings. Out: calls of `SessionPool.close`. A closed session is resumed by the next
run of its thread. Never: a session that a run uses, or whose turn waits for an answer.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable

import anyio
from anyio import to_thread

from gateway.drivers.process.memory import machine_memory, read_memory
from gateway.identity import ThreadKey
from gateway.runs.session_pool import SessionPool
from gateway.settings import Settings

MAX_CHECK_SECONDS = 5.0
"""Between two checks; shorter where the timeout is short."""
CHECK_SHARE = 0.25
"""Of the timeout."""
MEMORY_SHARE = 0.5
"""Of the machine's memory, where the settings name no bound."""


class IdleSessions:
    def __init__(
        self, pool: SessionPool, settings: Settings, measure: Callable[[], int] = lambda: read_memory(os.getpid())
    ) -> None:
        """`measure`: bytes that the agents' processes use now; blocks."""
        self._pool = pool
        self._settings = settings
        self._measure = measure
        self._max_bytes = settings.max_idle_memory or int(machine_memory() * MEMORY_SHARE) or math.inf

    async def close_for_ever(self) -> None:
        timeout = self._settings.session_idle_timeout
        while True:
            await anyio.sleep(min(MAX_CHECK_SECONDS, timeout * CHECK_SHARE))
            await self.close_unused(time.monotonic() - timeout)
            await self.trim()

    async def close_unused(self, since: float) -> None:
        await self._close_all(self._pool.idle_threads(since), since)

    async def trim(self) -> None:
        """Down to the number and the memory that the settings allow."""
        idle = self._pool.idle_threads()
        excess = max(0, len(idle) - self._settings.max_idle_sessions)
        await self._close_all(idle[:excess], math.inf)
        for thread in idle[excess:]:
            if await to_thread.run_sync(self._measure) <= self._max_bytes:
                return
            await self._pool.close(thread, math.inf)

    async def _close_all(self, threads: list[ThreadKey], since: float) -> None:
        async with anyio.create_task_group() as tasks:  # a session that closes slowly must not delay the others
            for thread in threads:
                tasks.start_soon(self._pool.close, thread, since)
