"""The messages that are queued for one thread, and which is next. Pure: it never waits, writes or sends.

Messages that interrupt go before the others. Otherwise the order of acceptance holds, also for a message that was meant
for a live turn which ended without it. Secrets among a message's options are kept in memory only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from gateway.agui.option_secrets import mask_secrets
from gateway.errors import Refused
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
    unmasked_props: Json = None
    """The options as the client posted them, if they have secrets: the store has them without."""
    decided: anyio.Event = field(default_factory=anyio.Event)
    """The message was delivered, deferred or failed: the client that posted it can be answered."""

    @property
    def message(self) -> Wire:
        message: Wire = loads(self.record.content)["message"]
        return message

    @property
    def forwarded_props(self) -> Json:
        """Raises `Refused` for options whose secrets were lost with an earlier gateway."""
        content = loads(self.record.content)
        if not content.get("masked"):
            return content.get("forwardedProps")
        if self.unmasked_props is None:
            raise Refused(
                "the gateway was restarted while the message waited, and it stores no secrets of MCP servers "
                "(headers, env): post the message again with its mcpServers",
                code="SECRETS_NOT_STORED",
            )
        return self.unmasked_props

    @property
    def text(self) -> str:
        return text_of(self.message["content"])

    def update(self, record: DeliveryRecord) -> None:
        self.record = record


def to_content(message: Wire, forwarded_props: Json) -> bytes:
    """What is stored of a message until it is delivered. `masked`: its options have secrets, which are left out."""
    content: dict[str, Any] = {"message": message}
    if forwarded_props is not None:
        content["forwardedProps"] = mask_secrets(forwarded_props)
        content |= {"masked": True} if content["forwardedProps"] != forwarded_props else {}
    return dumps(content)


class DeliveryQueue:
    """The queue of one thread."""

    def __init__(self) -> None:
        self._waiting: list[QueuedDelivery] = []
        self._steered: dict[str, tuple[QueuedDelivery, Run]] = {}
        """Messages that were handed to a live turn, until its log shows whether the agent took them up."""
        self._accepting: set[str] = set()
        """Ids of messages that are being accepted."""
        self._changed = anyio.Event()
        self.is_pumped = False

    def __len__(self) -> int:
        return len(self._waiting) + len(self._steered) + len(self._accepting)

    @property
    def waiting(self) -> Sequence[QueuedDelivery]:
        return list(self._waiting)

    def wake(self) -> None:
        """Something has changed, in the queue or on its thread."""
        self._changed.set()

    def watch(self) -> anyio.Event:
        """An event that the next change sets."""
        self._changed = anyio.Event()
        return self._changed

    def start_pump(self) -> bool:
        """False: the queue has a pump already."""
        was_pumped = self.is_pumped
        self.is_pumped = True
        return not was_pumped

    def end_pump(self) -> None:
        self.is_pumped = False

    def has(self, message_id: str) -> bool:
        is_waiting = any(delivery.record.message_id == message_id for delivery in self._waiting)
        return is_waiting or message_id in self._steered or message_id in self._accepting

    def begin_accepting(self, message_id: str) -> None:
        """Takes a place for a message that is being stored."""
        self._accepting.add(message_id)

    def end_accepting(self, message_id: str) -> None:
        self._accepting.discard(message_id)

    def put(self, delivery: QueuedDelivery) -> None:
        self._waiting.append(delivery)
        self._waiting.sort(key=lambda delivery: delivery.number)
        self.wake()

    def remove(self, delivery: QueuedDelivery) -> None:
        if delivery in self._waiting:
            self._waiting.remove(delivery)

    def remove_all(self) -> list[QueuedDelivery]:
        steered = [delivery for delivery, _ in self._steered.values()]
        deliveries = sorted([*self._waiting, *steered], key=lambda delivery: delivery.number)
        self._waiting = []
        self._steered = {}
        return deliveries

    def first_immediate(self) -> QueuedDelivery | None:
        return next((delivery for delivery in self._waiting if delivery.record.mode == "immediate"), None)

    def for_live_turn(self) -> list[QueuedDelivery]:
        return [delivery for delivery in self._waiting if delivery.record.mode == "next-tool-call"]

    def without_receipt(self) -> list[QueuedDelivery]:
        """Those whose client has no receipt yet that they wait."""
        return [delivery for delivery in self._waiting if delivery.record.status == "accepted"]

    # -- messages that were handed to a live turn

    def mark_steered(self, delivery: QueuedDelivery, run: Run) -> None:
        self.remove(delivery)
        self._steered[delivery.record.message_id] = delivery, run

    def take_steered(self, message_id: str, run: Run) -> QueuedDelivery | None:
        delivery, steered_run = self._steered.get(message_id, (None, None))
        if delivery is None or steered_run is not run:
            return None
        del self._steered[message_id]
        return delivery

    def take_all_steered(self, run: Run) -> list[QueuedDelivery]:
        """The run is over: the messages that it has not taken up."""
        deliveries = [delivery for delivery, steered_run in self._steered.values() if steered_run is run]
        for delivery in deliveries:
            del self._steered[delivery.record.message_id]
        return deliveries
