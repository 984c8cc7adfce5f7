"""The current status of a thread: what happens on it now, and what only the store knows."""

from __future__ import annotations

from dataclasses import replace

from gateway.capabilities.views.relay import ThreadStatus
from gateway.identity import ThreadKey
from gateway.runs.engine import Engine
from gateway.runs.thread_activity import ThreadActivity
from gateway.store.base import Store


class ThreadStatuses:
    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine = engine
        self._store = store

    async def read(self, thread: ThreadKey) -> ThreadStatus:
        """The store is read first, because the activity may change meanwhile."""
        exists = await self._store.thread(*thread) is not None
        has_interrupt = exists and bool(await self._engine.open_interrupts(thread))
        return replace(self.read_activity(thread), exists=exists, has_open_interrupt=has_interrupt)

    def read_activity(self, thread: ThreadKey) -> ThreadStatus:
        """As much of the status as is known without the store."""
        return to_status(self._engine.activities.read(thread))


def to_status(activity: ThreadActivity) -> ThreadStatus:
    if activity.run is not None:
        return ThreadStatus(has_live_run=True, is_starting=activity.is_starting)
    return ThreadStatus(is_parked=activity.is_parked, last_outcome=activity.outcome)
