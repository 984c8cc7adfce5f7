"""Where threads are: what is under way, and what only the store knows."""

from __future__ import annotations

from dataclasses import replace

from gateway.capabilities.views.relay import ThreadStatus
from gateway.runs.engine import Engine
from gateway.runs.phase import Phase
from gateway.runs.thread_state import ThreadKey
from gateway.store.base import Store


class ThreadStatuses:
    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine, self._store = engine, store

    async def of(self, thread: ThreadKey) -> ThreadStatus:
        """What the store knows first, for what is under way may change meanwhile."""
        known = await self._store.thread(*thread) is not None
        asked = known and bool(await self._engine.open_interrupts(thread))
        return replace(self.under_way(thread), exists=known, has_open_interrupt=asked)

    def under_way(self, thread: ThreadKey) -> ThreadStatus:
        """As much of it as is known without the store."""
        run = self._engine.live_run(thread)
        if run is None:
            return ThreadStatus(
                is_parked=self._engine.waiting_run(thread) is not None, last_outcome=self._engine.left(thread)
            )
        starting = run.phase is Phase.QUEUED and self._engine.session(thread) is None
        return ThreadStatus(has_live_run=True, is_starting=starting)
