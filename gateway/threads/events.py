"""The events of threads, by Agent Relay's names: numbered, stored, and followed by any number of readers.

In: events of a thread. Out: numbered lines in the store, and for every reader the ones it has not had yet, read from
there. A reader that is slow, or comes back later, costs one read of the store; readers that are at the same place share
one read (`threads.channel`).

Only observed threads have events: those whose events were read, or to which a message was posted. They stay observed
for the life of the gateway, the last `MAX_OBSERVED_THREADS` of them. `run_follower` writes what their runs do.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from gateway.errors import Busy, StoreError
from gateway.events import Wire
from gateway.identity import ThreadKey
from gateway.jsonio import dumps
from gateway.limits import THREAD_FEEDS, PrincipalLimits
from gateway.runs.log import Chunk
from gateway.runs.thread_activity import ThreadActivities
from gateway.settings import Settings
from gateway.store.base import Store
from gateway.store.deliveries import EventBatch
from gateway.threads.channel import Channel

log = logging.getLogger(__name__)

MAX_OBSERVED_THREADS = 4096
"""Of more threads, the oldest one without users is no longer observed."""
READ_EVENTS = 200
"""Events that a reader receives at once."""


class ThreadEvents:
    def __init__(self, settings: Settings, store: Store, activities: ThreadActivities, limits: PrincipalLimits) -> None:
        self._settings = settings
        self._store = store
        self._activities = activities
        self._limits = limits
        self.subscription = activities.subscribe()
        """What happens on observed threads; read by `RunFollower`."""
        self._channels: dict[ThreadKey, Channel] = {}
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    # -- observed threads

    def observe(self, thread: ThreadKey) -> Channel:
        channel = self._channels.pop(thread, None)
        is_new = channel is None
        channel = channel or Channel()
        self._channels[thread] = channel
        if is_new:
            self._drop_oldest()
            self.subscription.add(thread)
            self._activities.publish(thread)
        return channel

    def find(self, thread: ThreadKey) -> Channel | None:
        return self._channels.get(thread)

    def _drop_oldest(self) -> None:
        if len(self._channels) > MAX_OBSERVED_THREADS:
            oldest = next((thread for thread, channel in self._channels.items() if channel.is_idle), None)
            if oldest is not None:
                del self._channels[oldest]
                self.subscription.discard(oldest)

    def forget(self, thread: ThreadKey) -> None:
        """The thread was deleted."""
        if (channel := self._channels.get(thread)) is not None:
            channel.deliveries.clear()

    # -- deliveries

    def expect_delivery(self, thread: ThreadKey, message_id: str, delivery_id: str) -> None:
        """When the message reaches the agent, its event names the delivery."""
        self.observe(thread).deliveries[message_id] = delivery_id

    def drop_delivery(self, thread: ThreadKey, message_id: str) -> None:
        self.observe(thread).deliveries.pop(message_id, None)

    def _add_delivery_ids(self, thread: ThreadKey, events: Sequence[Wire]) -> Sequence[Wire]:
        channel = self._channels.get(thread)
        if channel is not None and channel.deliveries:
            for event in events:
                if event["type"] == "message.received" and event["messageId"] in channel.deliveries:
                    event["deliveryId"] = channel.deliveries.pop(event["messageId"])
        return events

    # -- writing

    def to_notes(self, *events: Wire) -> EventBatch:
        """To be written together with what they report. To be followed by `wake_readers`."""
        now = time.time()
        return EventBatch([_to_line(event, now) for event in events], now, self._settings.retain_thread_events)

    def wake_readers(self, thread: ThreadKey) -> None:
        if (channel := self._channels.get(thread)) is not None:
            channel.wake()

    async def write(self, thread: ThreadKey, events: Sequence[Wire]) -> None:
        """Does nothing where the thread is not observed."""
        if not events or thread not in self._channels:
            return
        try:
            await self._store.deliveries.append_events(thread, self.to_notes(*self._add_delivery_ids(thread, events)))
        except StoreError as exc:
            log.error("thread %s: its events could not be stored: %s", thread.thread_id, exc)
        self.wake_readers(thread)

    # -- reading

    @asynccontextmanager
    async def read(self, thread: ThreadKey, after: int) -> AsyncIterator[ThreadEventReader]:
        """`after`: the number of the last event that the reader has. Raises `LimitReached` or `Busy`."""
        if self._is_closed:
            raise Busy("the gateway is shutting down; read again when it is back")
        with self._limits.acquire(THREAD_FEEDS, thread.principal):
            channel = self.observe(thread)
            channel.add_user()
            try:
                last_number = await self._store.deliveries.last_event_number(thread)
                # A higher number is from events that were deleted since.
                yield ThreadEventReader(self, self._store, thread, channel, after if after <= last_number else 0)
            finally:
                channel.remove_user()

    def close(self) -> None:
        """The gateway stops: every reader's stream ends."""
        self._is_closed = True
        for channel in self._channels.values():
            channel.wake()


class ThreadEventReader:
    """One reader's place. Numbers have no gaps, except for events that are not kept any more."""

    def __init__(self, events: ThreadEvents, store: Store, thread: ThreadKey, channel: Channel, after: int) -> None:
        self._events = events
        self._store = store
        self._thread = thread
        self._channel = channel
        self._after = after

    async def next(self) -> list[Chunk]:
        while not self._events.is_closed:
            version = self._channel.version
            try:
                chunks = await self._channel.read(self._after, self._load)
            except StoreError as exc:  # the stream ends; a reader that comes back misses nothing
                log.error("thread %s: its events cannot be read: %s", self._thread.thread_id, exc)
                return []
            if chunks:
                self._after = chunks[-1].last
                return chunks
            await self._channel.wait(version)
        return []

    async def _load(self) -> list[Chunk]:
        return list(_to_chunks(await self._store.deliveries.read_events(self._thread, self._after, READ_EVENTS)))


def _to_chunks(notes: Iterable[tuple[int, bytes]]) -> Iterable[Chunk]:
    chunk: Chunk | None = None
    for number, line in notes:
        if chunk is None or number != chunk.last + 1:
            if chunk is not None:
                yield chunk
            chunk = Chunk(number, [])
        chunk.lines.append(line)
    if chunk is not None:
        yield chunk


def _to_line(event: Wire, now: float) -> bytes:
    at = to_iso_time(now)
    if event["type"] == "transcript.chunk":
        event = {**event, "chunk": {**event["chunk"], "at": at}}
    return dumps({**event, "at": at})


def to_iso_time(seconds: float) -> str:
    """Seconds since the epoch → ISO 8601, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
