"""The second half of a store's contract: queued messages and thread events.

A *delivery* is one message on its way to a thread. A *thread event* is one event of the thread's feed, already JSON,
numbered from 1 for each thread. A change of a delivery and the events that report it are one write. A store reads
neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

ThreadName: TypeAlias = tuple[str, str, str]
"""Agent, thread id, principal."""

DeliveryStatus = Literal["accepted", "deferred", "delivered", "failed"]
"""The last two are final."""
WAITING: tuple[DeliveryStatus, ...] = ("accepted", "deferred")


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """One message on its way to a thread."""

    agent: str
    thread_id: str
    principal: str
    delivery_id: str
    message_id: str
    mode: str
    status: DeliveryStatus
    digest: str
    """Of the request: the same id with another message is refused."""
    content: bytes
    """The message and its options as JSON; only `threads` reads it. Empty once the status is final."""
    at: float
    """When the status was set, in seconds since the epoch."""
    run_id: str | None = None
    """The run in which it is, or was, delivered."""
    reason: str | None = None
    """Why it waits or failed."""
    handed: bool = False
    """The agent may have received it in that run."""

    @property
    def thread(self) -> ThreadName:
        return self.agent, self.thread_id, self.principal


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events to add to a thread's feed. Afterwards only its newest `keep` events are kept."""

    lines: Sequence[bytes]
    at: float
    keep: int


class Deliveries(Protocol):
    """Every method may raise `errors.StoreError`. Every write is durable on return."""

    async def accept(self, delivery: DeliveryRecord, events: EventBatch) -> DeliveryRecord:
        """Adds the delivery and its events. If the thread has one with this id, that one is returned instead."""

    async def save(self, delivery: DeliveryRecord, events: EventBatch) -> bool:
        """Replaces the delivery and adds the events; False, without a write, if it was deleted."""

    async def delivery(self, thread: ThreadName, delivery_id: str) -> DeliveryRecord | None:
        """The delivery; None: there is none."""

    async def waiting(self) -> list[DeliveryRecord]:
        """All deliveries that are not final, in the order in which they were accepted."""

    async def append_events(self, thread: ThreadName, events: EventBatch) -> None:
        """Adds events to the thread."""

    async def read_events(self, thread: ThreadName, after: int, limit: int) -> list[tuple[int, bytes]]:
        """Up to `limit` events with numbers above `after`, in order. Missing numbers were deleted. Numbering continues
        after the thread was deleted."""

    async def last_event_number(self, thread: ThreadName) -> int:
        """The number of the newest event; 0 if there never was one."""

    async def prune(self, older_than: float, max_events: int) -> int:
        """Deletes older events and older final deliveries, then the oldest events above `max_events`. Waiting
        deliveries are kept. Returns how many events were deleted."""
