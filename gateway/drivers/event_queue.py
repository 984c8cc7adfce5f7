"""Where an in-process agent's events wait to be taken, as batches.

The agent's side never waits for the reader while there is room, so everything it says before it next pauses is one
batch; the reader's side never sees an event later than the agent's next pause. Bounded: a full inbox makes it wait.
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
"""Past this the agent gives way to the reader: large enough that the hand-over costs nothing per event."""
BATCH_SECONDS = 0.005
"""…or past this, so that an agent that computes without a pause is still seen to stream."""
LARGE = 16 * 1024
"""…or past an event with more text than this, so that a batch of long ones is not hundreds of megabytes."""

SMALL = frozenset(
    (TextMessageEnd, ReasoningMessageEnd, ToolCallStart, ToolCallEnd, StepStarted, StepFinished, TokenUsage)
)
"""Events that are never long."""


def is_long(event: Event) -> bool:
    """Open data is taken for long without looking: it is rare."""
    text: object = "" if type(event) in SMALL else None
    if type(event) is AguiEvent:
        text = event.event.get("delta") if type(event.event) is dict else getattr(event.event, "delta", None)
    elif isinstance(event, TextMessageContent | ReasoningMessageContent):
        text = event.text
    elif type(event) is ToolCallArgs:
        text = event.delta
    return type(text) is not str or len(text) > LARGE


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
        """True when the producer should call `room` before it goes on. Closed, it takes nothing any more."""
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
        elif type(event.text) is str and len(event.text) > LARGE:  # nearly every event: not worth a call
            return True
        # The clock is read once in sixteen events: it costs as much as all the rest here.
        return len(events) >= BATCH_EVENTS or (len(events) & 15 == 0 and monotonic() > self._full_at)

    def extend(self, events: list[Event]) -> None:
        """Many at once, for a producer that looks after the bound itself."""
        if events:
            self._wake_reader()
            self._events.extend(events)

    async def room(self) -> None:
        """Until the reader has taken what there is."""
        if self._closed:
            await asyncio.sleep(0)  # a producer that goes on without a pause must not hold up everybody else
        while self._events and not self._closed:
            self._writer = asyncio.get_running_loop().create_future()
            await self._writer

    async def take(self) -> list[Event]:
        """At least one event, or [] once the producer has closed; raises what the producer failed with."""
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
        """No more will come. What is there is still taken, then the error is raised."""
        if not self._closed:
            self._closed, self._error = True, error
            self._wake_reader()
            self._wake_writer()

    def __len__(self) -> int:
        return len(self._events)

    @property
    def closed(self) -> bool:
        return self._closed

    def _wake_reader(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _wake_writer(self) -> None:
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)


class ThreadProducer:
    """The producer's side of an inbox for a producer in a thread."""

    def __init__(self, queue: EventQueue) -> None:
        self._queue = queue
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Event] = deque()
        self._called = self._full = False

    def put(self, event: Event) -> None:
        """From the thread. Returns when there is room for more."""
        self._waiting.append(event)
        if not self._called:
            self._called = True
            self._loop.call_soon_threadsafe(self.carry)
        if self._full or len(self._waiting) >= BATCH_EVENTS or is_long(event):
            asyncio.run_coroutine_threadsafe(self._room(), self._loop).result()

    def carry(self) -> None:
        """On the loop. The flag falls before the queue is looked at: an event put meanwhile calls again."""
        self._called = False
        while self._waiting:
            self._full |= self._queue.put(self._waiting.popleft())

    async def _room(self) -> None:
        self.carry()
        await self._queue.room()
        self._full = False
