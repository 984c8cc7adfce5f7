"""Messages that wait for a thread, and the thread's feed: what must outlive a process beside run logs.

A *delivery* is one message on its way; a *note* is one event of the thread's feed, already JSON, numbered from 1 for
each thread. What changes a delivery and the notes that tell of it are one write. The store never looks inside either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

ThreadName: TypeAlias = tuple[str, str, str]
"""Agent, thread, principal."""

DeliveryStatus = Literal["accepted", "deferred", "delivered", "failed"]
"""The last two are final."""
WAITING: tuple[DeliveryStatus, ...] = ("accepted", "deferred")


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    agent: str
    thread_id: str
    principal: str
    delivery_id: str
    message_id: str
    mode: str
    status: DeliveryStatus
    digest: str
    """Of what was asked: the same id with another message is a mistake."""
    content: bytes
    """The message and what goes with it, as JSON; only `runs` reads it. Empty once it is final."""
    at: float
    """When it came to be as it is. Seconds since the epoch."""
    run_id: str | None = None
    """The run that it is, or was, delivered in."""
    reason: str | None = None
    """Why it waits, or failed."""
    handed: bool = False
    """The agent may have been given it in that run."""

    @property
    def thread(self) -> ThreadName:
        return self.agent, self.thread_id, self.principal


@dataclass(frozen=True, slots=True)
class Notes:
    """Events for a thread's feed. Of those there are, the newest `keep` stay."""

    lines: Sequence[bytes]
    at: float
    keep: int


class Deliveries(Protocol):
    """Every method may raise `errors.StoreError`. Whatever writes is durable on return."""

    async def accept(self, delivery: DeliveryRecord, notes: Notes) -> DeliveryRecord:
        """Adds it with its notes. If the thread has one of this id, nothing happens: that one is returned."""

    async def save(self, delivery: DeliveryRecord, notes: Notes) -> bool:
        """Replaces it, and adds the notes; False if there is none any more: then neither is done."""

    async def delivery(self, thread: ThreadName, delivery_id: str) -> DeliveryRecord | None: ...

    async def waiting(self) -> list[DeliveryRecord]:
        """All that are not final, in the order in which they were accepted."""

    async def note(self, thread: ThreadName, notes: Notes) -> None: ...

    async def notes(self, thread: ThreadName, after: int, limit: int) -> list[tuple[int, bytes]]:
        """Up to `limit` with numbers above `after`, in order. A gap is what is not kept any more. Numbers go on where
        they were when a thread is deleted."""

    async def last_note(self, thread: ThreadName) -> int:
        """The number of the newest; 0 if there never was any."""

    async def prune(self, older_than: float, most: int) -> int:
        """Deletes notes, and final deliveries, that are older; then the oldest notes while there are more than `most`.
        What waits stays. Returns how many notes went."""
