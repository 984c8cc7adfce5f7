"""One observed thread: its readers, woken in batches, and what they read, read once for all that are at the same place.

In: that the thread has new events. Out: readers that look for them. A thread may have a thousand readers: waking all at
once would keep every other client waiting until each was written to, so other tasks have their turn between batches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from gateway.runs.log import Chunk

WAKE_BATCH = 32
"""Readers that are woken before other tasks have their turn."""
MAX_SHARED_READS = 8
"""Places in the feed whose events are kept in memory until there are newer ones."""


@dataclass(slots=True)
class SharedRead:
    """One read of the store, for all readers that are at the same place."""

    done: anyio.Event = field(default_factory=anyio.Event)
    chunks: list[Chunk] | None = None
    """None: it is not done, or failed."""


@dataclass(slots=True)
class Channel:
    """One observed thread."""

    users: int = 0
    """Readers, and tasks that follow its runs."""
    deliveries: dict[str, str] = field(default_factory=dict)
    """Message id → delivery id, of messages that have not reached the agent yet."""
    version: int = 0
    """Grows with each `wake`."""
    _waiting: list[anyio.Event] = field(default_factory=list)
    _reads: dict[int, SharedRead] = field(default_factory=dict)
    """The number after which was read → what came."""

    @property
    def is_idle(self) -> bool:
        return not (self.users or self.deliveries)

    def add_user(self) -> None:
        self.users += 1

    def remove_user(self) -> None:
        self.users -= 1

    def wake(self) -> None:
        """There are new events."""
        self.version += 1
        self._reads = {}
        waiting, self._waiting = self._waiting, []
        _wake_batch(waiting)

    async def wait(self, version: int) -> None:
        """Until the version is another than this one."""
        if self.version == version:
            woken = anyio.Event()
            self._waiting.append(woken)
            try:
                await woken.wait()
            finally:
                if not woken.is_set() and woken in self._waiting:
                    self._waiting.remove(woken)

    async def read(self, after: int, load: Callable[[], Awaitable[list[Chunk]]]) -> list[Chunk]:
        """The events above `after`, as they are now. `load`: reads them. Raises what it raises."""
        while (read := self._reads.get(after)) is not None:
            await read.done.wait()
            if read.chunks is not None:
                return read.chunks
        read = SharedRead()
        reads = self._reads
        if len(reads) >= MAX_SHARED_READS:
            del reads[next(iter(reads))]
        reads[after] = read
        try:
            read.chunks = await load()
            return read.chunks
        finally:
            if read.chunks is None and reads.get(after) is read:
                del reads[after]  # the next reader tries
            read.done.set()


def _wake_batch(waiting: list[anyio.Event]) -> None:
    for woken in waiting[:WAKE_BATCH]:
        woken.set()
    if len(waiting) > WAKE_BATCH:
        asyncio.get_running_loop().call_soon(_wake_batch, waiting[WAKE_BATCH:])
