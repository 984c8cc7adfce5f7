"""Deliveries and feeds in this process's memory. The contract is `mail.Mail`'s."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.store.deliveries import WAITING, DeliveryRecord, Notes, ThreadName


@dataclass(slots=True)
class Feed:
    last: int = 0
    updated: float = 0.0
    notes: list[tuple[int, float, bytes]] = field(default_factory=list)
    """Number, when, what."""


class MemoryDeliveries:
    def __init__(self, check: Callable[[], None]) -> None:
        """`check`: raises where the store is not open."""
        self._check = check
        self._deliveries: dict[tuple[ThreadName, str], DeliveryRecord] = {}
        self._feeds: dict[ThreadName, Feed] = {}

    async def accept(self, delivery: DeliveryRecord, notes: Notes) -> DeliveryRecord:
        self._check()
        name = delivery.thread, delivery.delivery_id
        if (known := self._deliveries.get(name)) is not None:
            return known
        self._deliveries[name] = delivery
        self._note(delivery.thread, notes)
        return delivery

    async def save(self, delivery: DeliveryRecord, notes: Notes) -> bool:
        self._check()
        name = delivery.thread, delivery.delivery_id
        if name not in self._deliveries:
            return False
        self._deliveries[name] = delivery
        self._note(delivery.thread, notes)
        return True

    async def delivery(self, thread: ThreadName, delivery_id: str) -> DeliveryRecord | None:
        self._check()
        return self._deliveries.get((thread, delivery_id))

    async def waiting(self) -> list[DeliveryRecord]:
        self._check()
        return [delivery for delivery in self._deliveries.values() if delivery.status in WAITING]

    async def note(self, thread: ThreadName, notes: Notes) -> None:
        self._check()
        self._note(thread, notes)

    async def notes(self, thread: ThreadName, after: int, limit: int) -> list[tuple[int, bytes]]:
        self._check()
        kept = self._feeds[thread].notes if thread in self._feeds else []
        return [(number, line) for number, _, line in kept if number > after][:limit]

    async def last_note(self, thread: ThreadName) -> int:
        self._check()
        return self._feeds[thread].last if thread in self._feeds else 0

    async def prune(self, older_than: float, most: int) -> int:
        self._check()
        before = self._count()
        for feed in self._feeds.values():
            feed.notes = [note for note in feed.notes if note[1] >= older_than]
        self._drop_surplus(most)
        final = [name for name, one in self._deliveries.items() if one.status not in WAITING and one.at < older_than]
        for name in final:
            del self._deliveries[name]
        for thread in [name for name, feed in self._feeds.items() if not feed.notes and feed.updated < older_than]:
            del self._feeds[thread]
        return before - self._count()

    def forget(self, thread: ThreadName) -> None:
        """The thread was deleted."""
        for name in [name for name in self._deliveries if name[0] == thread]:
            del self._deliveries[name]
        if thread in self._feeds:
            self._feeds[thread].notes = []

    def _note(self, thread: ThreadName, notes: Notes) -> None:
        if not notes.lines:
            return
        feed = self._feeds.setdefault(thread, Feed())
        feed.notes += [(number, notes.at, line) for number, line in enumerate(notes.lines, feed.last + 1)]
        feed.last, feed.updated = feed.last + len(notes.lines), notes.at
        feed.notes = [note for note in feed.notes if note[0] > feed.last - notes.keep]

    def _count(self) -> int:
        return sum(len(feed.notes) for feed in self._feeds.values())

    def _drop_surplus(self, most: int) -> None:
        stamps = sorted((at, thread, number) for thread, feed in self._feeds.items() for number, at, _ in feed.notes)
        gone = {(thread, number) for _, thread, number in stamps[: max(0, len(stamps) - most)]}
        for thread, feed in self._feeds.items():
            feed.notes = [note for note in feed.notes if (thread, note[0]) not in gone]
