"""A run's log: numbered once, serialised once, stored, then shown to any number of readers.

Readers follow the log, never the agent: a slow one is served from the store when it falls behind what is kept in
memory, a second one costs a lookup, a reconnecting one names the last number it has.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Protocol

import anyio

from gateway.errors import GatewayError, StoreError
from gateway.events import Wire
from gateway.jsonio import dumps
from gateway.store.base import Piece, RunRecord, Status, Store

READ_BYTES = 1024 * 1024
"""How much one read of the store brings for a reader that is behind."""
PACKED_CHUNKS = 16
"""So many older chunks become one. The newest ones, up to twice as many, keep their events as objects and what was
encoded, which weighs several times their JSON. A chunk for each word of every live run would be most of what the
garbage collector visits: with 250 runs its pauses were 20 ms, and now and then 400 ms."""
MAX_PACK_BYTES = 64 * 1024
"""Chunks that are larger together stay as they are: there are few of those."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Chunk:
    """Consecutive events, as every reader receives them."""

    first: int
    lines: list[bytes]
    events: list[Wire] | None = None
    """The same as objects, while they are in memory; an encoder that needs them parses `lines` otherwise."""
    encoded: dict[str, bytes] = field(default_factory=dict)
    """Wire format → bytes; filled by the first reader that needs it, used by the others."""
    is_last: bool = False
    """The log ends with it."""

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    def after(self, number: int) -> Chunk:
        """Without the events up to `number`."""
        if number < self.first:
            return self
        skip = number - self.first + 1
        events = self.events[skip:] if self.events else None
        return Chunk(self.first + skip, self.lines[skip:], events, is_last=self.is_last)


class Log:
    """The log of one live run. When the run is over, readers may still finish; new ones read from the store."""

    def __init__(self, key: str, store: Store, log_tail_bytes: int, max_run_log_bytes: int) -> None:
        self._key = key
        self._store = store
        self._max_tail_bytes = log_tail_bytes
        self._max_run_bytes = max_run_log_bytes
        self._tail: deque[Chunk] = deque()
        self._sizes: deque[int] = deque()
        self._tail_bytes = 0
        self._unpacked = 0
        self._written_bytes = 0
        self._last = 0
        self._grown = asyncio.Event()
        self.over = False

    @property
    def last(self) -> int:
        return self._last

    async def append(self, events: list[Wire]) -> None:
        """Serialises, shows, stores. Raises before anything is shown when an event is not JSON, and afterwards when the
        log has become too large."""
        if events:
            await self._keep(self._number(events))

    async def append_lines(self, lines: list[bytes]) -> None:
        """At least one event, serialised already."""
        await self._keep(Chunk(self._last + 1, lines))

    async def seal(self, events: list[Wire], status: Status) -> Callable[[], None]:
        """The terminal events. They are durable before any reader sees them, so that a run that a client has seen end
        stays ended. Returns a function that shows them: the caller first frees what the next run needs."""
        chunk = self._number(events)
        try:
            await self._store.append(self._key, Piece(chunk.first, chunk.lines))
            await self._store.end(self._key, status, time.time())
        except StoreError as exc:
            # Readers still see the end; only a restart would find the run without it.
            log.error("run %s: its end could not be stored: %s", self._key, exc)
        return lambda: self._show(chunk, last=True)

    def _number(self, events: list[Wire]) -> Chunk:
        return Chunk(self._last + 1, [dumps(event) for event in events], events)

    async def _keep(self, chunk: Chunk) -> None:
        self._written_bytes += sum(map(len, chunk.lines))
        self._show(chunk)
        piece = Piece(chunk.first, chunk.lines)
        if self._store.is_full:
            with anyio.CancelScope(shield=True):  # what was shown must be stored, or the store refuses later pieces
                await self._store.append(self._key, piece)
        else:
            await self._store.append(self._key, piece)  # does not wait, so it cannot be cancelled
        # Only now: the events that close the run refer to those that were appended.
        if self._written_bytes > self._max_run_bytes:
            raise GatewayError(f"the run's log passed max_run_log_bytes ({self._max_run_bytes})", code="RUN_TOO_LARGE")

    def _show(self, chunk: Chunk, *, last: bool = False) -> None:
        self.over = chunk.is_last = last
        size = sum(map(len, chunk.lines))
        self._last = chunk.last
        self._tail.append(chunk)
        self._sizes.append(size)
        self._tail_bytes += size
        self._unpacked += 1
        if self._unpacked == 2 * PACKED_CHUNKS:
            self._pack()
        while self._tail_bytes > self._max_tail_bytes and len(self._tail) > 1:
            self._tail.popleft()
            self._tail_bytes -= self._sizes.popleft()
        self._unpacked = min(self._unpacked, len(self._tail))
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()

    def _pack(self) -> None:
        """The older half of the newest chunks. Never changes a chunk's lines: readers may have it."""
        newest = [(self._tail.pop(), self._sizes.pop()) for _ in range(PACKED_CHUNKS)][::-1]
        older = [(self._tail.pop(), self._sizes.pop()) for _ in range(PACKED_CHUNKS)][::-1]
        size = sum(size for _, size in older)
        if size <= MAX_PACK_BYTES:
            older = [(Chunk(older[0][0].first, [line for chunk, _ in older for line in chunk.lines]), size)]
        for chunk, size in older:
            chunk.events = None
            chunk.encoded = {}
            self._tail.append(chunk)
            self._sizes.append(size)
        self._tail += [chunk for chunk, _ in newest]
        self._sizes += [size for _, size in newest]
        self._unpacked = PACKED_CHUNKS

    def follow(self, after: int = 0) -> Follower:
        return Follower(self, after)

    async def newer(self, after: int) -> list[Chunk]:
        """The events above `after`: from memory if it reaches back so far, else from the store."""
        if after >= self._last:
            return []
        if self._tail and self._tail[0].first <= after + 1:
            return self._from_tail(after)
        pieces = await self._store.read(self._key, after, READ_BYTES)
        if not pieces:
            raise StoreError(f"the events above {after} are not in the store any more")
        return [Chunk(piece.first, piece.lines) for piece in pieces]

    def _from_tail(self, after: int) -> list[Chunk]:
        """No more than one read of the store would bring: a slow reader holds it until it is written."""
        pairs = zip(reversed(self._tail), reversed(self._sizes), strict=True)
        newer = list(takewhile(lambda pair: pair[0].last > after, pairs))[::-1]
        count = 1
        size = newer[0][1]
        while count < len(newer) and size + newer[count][1] <= READ_BYTES:
            size += newer[count][1]
            count += 1
        return [chunk.after(after) for chunk, _ in newer[:count]]

    async def wait(self) -> None:
        """Until there is more, or the end."""
        if not self.over:
            await self._grown.wait()


class Reader(Protocol):
    """One reader's place in a run's log."""

    async def next(self) -> list[Chunk]:
        """The next chunks, at least one; [] at the end. May be cancelled and called again: nothing is lost."""


class Follower:
    """Reads a live run: everything above `after`, then what comes, until the end."""

    def __init__(self, log: Log, after: int) -> None:
        self._log = log
        self._after = after

    async def next(self) -> list[Chunk]:
        while True:
            if chunks := await self._log.newer(self._after):
                self._after = chunks[-1].last
                return chunks
            if self._log.over:
                return []
            await self._log.wait()


class Replay:
    """Reads a run that is over from the store."""

    def __init__(self, record: RunRecord, store: Store, after: int) -> None:
        self._record = record
        self._store = store
        self._after = after
        # The reader has events that the gateway lost when it died; it must still read the end.
        self._is_beyond_end = record.status == "lost" and after >= record.events

    async def next(self) -> list[Chunk]:
        if self._is_beyond_end:
            self._is_beyond_end = False
            pieces = await self._store.read(self._record.key, self._record.events - 1, READ_BYTES)
            return [Chunk(self._after + 1, pieces[-1].lines[-1:])] if pieces else []
        pieces = await self._store.read(self._record.key, self._after, READ_BYTES)
        if pieces:
            self._after = pieces[-1].last
        return [Chunk(piece.first, piece.lines) for piece in pieces]
