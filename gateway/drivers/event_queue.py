"""The bounded queue between an agent and the run that reads its events, in batches.

In: events of one producer. Out: lists of them. The producer does not wait while there is room, so everything it sends
before its next pause is one batch; the reader gets an event no later than the producer's next pause. A full queue makes
the producer wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic

from gateway.events import (
    AguiEvent,
    Event,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    StepFinished,
    StepStarted,
    TextMessageContent,
    TextMessageEnd,
    TokenUsage,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallStart,
)

BATCH_EVENTS = 512
"""After so many events the producer waits for the reader: so many that the change of tasks costs nothing per event."""
BATCH_SECONDS = 0.005
"""…or after this time, so that an agent that computes without a pause still streams."""
MAX_SHORT_CHARS = 16 * 1024
"""…or after an event with more text than this, so that a batch of long ones is not hundreds of megabytes."""

ALWAYS_SHORT = frozenset(
    (TextMessageEnd, ReasoningMessageEnd, ToolCallStart, ToolCallEnd, StepStarted, StepFinished, TokenUsage)
)
"""Event types that hold no long text."""


def is_long(event: Event) -> bool:
    """Open data (a snapshot, a custom value) counts as long without a look at it: such events are rare."""
    text: object = "" if type(event) in ALWAYS_SHORT else None
    if type(event) is AguiEvent:
        text = event.event.get("delta") if type(event.event) is dict else getattr(event.event, "delta", None)
    elif isinstance(event, TextMessageContent | ReasoningMessageContent):
        text = event.text
    elif type(event) is ToolCallArgs:
        text = event.delta
    return type(text) is not str or len(text) > MAX_SHORT_CHARS


class EventQueue:
    """One producer, one consumer, one event loop."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._closed = False
        self._error: BaseException | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        self._full_at = 0.0

    def put(self, event: Event) -> bool:
        """Add an event. True: the producer must await `wait_until_empty` before the next. A closed queue drops it."""
        if self._closed:
            return True
        events = self._events
        if not events:
            self._full_at = monotonic() + BATCH_SECONDS
            self._wake_reader()
        events.append(event)
        if type(event) is not TextMessageContent:
            if is_long(event):
                return True
        elif (
            type(event.text) is str and len(event.text) > MAX_SHORT_CHARS
        ):  # nearly every event: a call would cost too much
            return True
        # The clock is read once in sixteen events: one reading costs as much as the rest of this method.
        return len(events) >= BATCH_EVENTS or (len(events) & 15 == 0 and monotonic() > self._full_at)

    def extend(self, events: list[Event]) -> None:
        """Add many events, for a producer that keeps the bound itself."""
        if events:
            self._wake_reader()
            self._events.extend(events)

    async def wait_until_empty(self) -> None:
        """Until the reader has taken all events."""
        if self._closed:
            await asyncio.sleep(0)  # a producer that does not pause must still let other tasks run
        while self._events and not self._closed:
            self._writer = asyncio.get_running_loop().create_future()
            await self._writer

    async def take(self) -> list[Event]:
        """At least one event; [] once the queue is closed and empty, or the error that it was closed with is raised."""
        while not self._events and not self._closed:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        events, self._events = self._events, []
        self._wake_writer()
        if not events and self._error is not None:
            error, self._error = self._error, None
            raise error
        return events

    def close(self, error: BaseException | None = None) -> None:
        """No further events. The reader still takes those that are there, then gets the error."""
        if not self._closed:
            self._closed = True
            self._error = error
            self._wake_reader()
            self._wake_writer()

    def __len__(self) -> int:
        return len(self._events)

    @property
    def is_closed(self) -> bool:
        return self._closed

    def _wake_reader(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _wake_writer(self) -> None:
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)


class ThreadProducer:
    """The producer's side of a queue, for a producer in a thread of its own."""

    def __init__(self, queue: EventQueue) -> None:
        self._queue = queue
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Event] = deque()
        self._is_scheduled = False
        self._is_full = False

    def put(self, event: Event) -> None:
        """Called in the thread. Returns when there is room for another event."""
        self._waiting.append(event)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon_threadsafe(self.transfer)
        if self._is_full or len(self._waiting) >= BATCH_EVENTS or is_long(event):
            asyncio.run_coroutine_threadsafe(self._wait_for_room(), self._loop).result()

    def transfer(self) -> None:
        """Called on the event loop. The flag is cleared before the events are read: an event put meanwhile sets it
        again."""
        self._is_scheduled = False
        while self._waiting:
            self._is_full |= self._queue.put(self._waiting.popleft())

    async def _wait_for_room(self) -> None:
        self.transfer()
        await self._queue.wait_until_empty()
        self._is_full = False
