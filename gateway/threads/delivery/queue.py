"""The messages that wait for one thread, and whose turn it is. Pure: nothing here waits, writes or sends.

Those that interrupt go before the others; beside that they go in the order in which they were accepted, also one that
was meant for a turn under way, which ended without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from gateway.events import Json, Wire
from gateway.jsonio import dumps, loads
from gateway.runs.run import Run
from gateway.store.deliveries import DeliveryRecord
from gateway.turn import text_of


@dataclass(slots=True, eq=False)
class QueuedDelivery:
    """One delivery that is not final yet."""

    record: DeliveryRecord
    number: int
    """In the order of acceptance."""
    decided: anyio.Event = field(default_factory=anyio.Event)
    """It is on its way, waits, or has failed: whoever posted it can be told."""

    @property
    def message(self) -> Wire:
        found: Wire = loads(self.record.content)["message"]
        return found

    @property
    def forwarded_props(self) -> Json:
        return loads(self.record.content).get("forwardedProps")

    @property
    def text(self) -> str:
        return text_of(self.message["content"])


def content_of(message: Wire, forwarded_props: Json) -> bytes:
    whole: dict[str, Any] = {"message": message}
    return dumps(whole if forwarded_props is None else {**whole, "forwardedProps": forwarded_props})


class DeliveryQueue:
    """Of one thread."""

    def __init__(self) -> None:
        self._waiting: list[QueuedDelivery] = []
        self._steered: dict[str, tuple[QueuedDelivery, Run]] = {}
        self._accepting: set[str] = set()
        """Messages that are being accepted."""
        self.pumping = False
        self.woken = anyio.Event()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._steered) + len(self._accepting)

    @property
    def waiting(self) -> Sequence[QueuedDelivery]:
        return list(self._waiting)

    def has(self, message_id: str) -> bool:
        waiting = any(delivery.record.message_id == message_id for delivery in self._waiting)
        return waiting or message_id in self._steered or message_id in self._accepting

    def expect(self, message_id: str) -> None:
        self._accepting.add(message_id)

    def expected(self, message_id: str) -> None:
        self._accepting.discard(message_id)

    def put(self, delivery: QueuedDelivery) -> None:
        self._waiting.append(delivery)
        self._waiting.sort(key=lambda delivery: delivery.number)
        self.woken.set()

    def take(self, delivery: QueuedDelivery) -> None:
        if delivery in self._waiting:
            self._waiting.remove(delivery)

    def take_all(self) -> list[QueuedDelivery]:
        steered = [delivery for delivery, _ in self._steered.values()]
        found = sorted([*self._waiting, *steered], key=lambda delivery: delivery.number)
        self._waiting, self._steered = [], {}
        return found

    def interrupting(self) -> QueuedDelivery | None:
        return next((delivery for delivery in self._waiting if delivery.record.mode == "immediate"), None)

    def steerable(self) -> list[QueuedDelivery]:
        return [delivery for delivery in self._waiting if delivery.record.mode == "next-tool-call"]

    def untold(self) -> list[QueuedDelivery]:
        """Those that nobody was told of that they wait."""
        return [delivery for delivery in self._waiting if delivery.record.status == "accepted"]

    # -- messages that are with a turn under way, until it is seen whether it heard them

    def steer(self, delivery: QueuedDelivery, run: Run) -> None:
        self.take(delivery)
        self._steered[delivery.record.message_id] = delivery, run

    def heard(self, message_id: str, run: Run) -> QueuedDelivery | None:
        delivery, at = self._steered.get(message_id, (None, None))
        if delivery is None or at is not run:
            return None
        del self._steered[message_id]
        return delivery

    def unheard(self, run: Run) -> list[QueuedDelivery]:
        """The run is over: what it did not hear."""
        left = [delivery for delivery, at in self._steered.values() if at is run]
        for delivery in left:
            del self._steered[delivery.record.message_id]
        return left
