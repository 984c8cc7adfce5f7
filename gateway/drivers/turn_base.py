"""What the turns of agents with a process share: the event queue with its limits, the pending interrupts, and the
events that come between turns.

In: events as the agent sends them. Out: batches for the run, and answers for the agent. Never: how an agent is
prompted or cancelled; `drivers.acp.turn` and `drivers.cli.turn` do that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from gateway.drivers.event_queue import EventQueue
from gateway.errors import AgentFault
from gateway.events import Event, TurnEnded, TurnFailed
from gateway.turn import Answer

MAX_PARKED_EVENTS = 100_000
"""Events an agent may send while its turn waits for an answer and no run reads; more fails the turn."""
MAX_UNREAD_EVENTS = 4096
"""Events that may wait for a run that reads; with more the agent waits."""
MAX_LATE_EVENTS = 1000
"""Events that come between turns and are kept for the next one."""

AnswerHandler = Callable[[Answer], None]


class TurnBase:
    """A turn that a run reads and a session feeds."""

    def __init__(self) -> None:
        self._queue = EventQueue()
        self._pending: dict[str, AnswerHandler] = {}
        """Interrupts, and client tool calls, that the turn waits on: id → where the answer goes."""
        self._has_withdrawn = False
        """The agent withdrew an interrupt. The run has ended with it all the same, so no run reads the turn."""

    async def next(self) -> list[Event]:
        return await self._queue.take()

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        self._has_withdrawn = False
        for interrupt_id in answers.keys() & self._pending.keys():
            self._pending.pop(interrupt_id)(answers[interrupt_id])

    async def cancel_pending(self) -> None:
        """Every pending interrupt is answered `cancelled`."""
        await self.answer({interrupt_id: Answer(interrupt_id, "cancelled") for interrupt_id in self._pending})

    async def wait_for_room(self) -> None:
        """Until the run has read its events. A parked turn has no reader until it is answered, even if the agent
        withdrew the interrupt: then `MAX_PARKED_EVENTS` is the limit instead."""
        if len(self._queue) >= MAX_UNREAD_EVENTS and not self._pending and not self._has_withdrawn:
            await self._queue.wait_until_empty()

    @property
    def unread_count(self) -> int:
        return len(self._queue)

    def _enqueue(self, events: list[Event]) -> None:
        self._queue.extend(events)
        if len(self._queue) > MAX_PARKED_EVENTS:
            error = AgentFault("the agent sent more than is kept while its turn waits", code="TURN_OVERFLOW")
            self._queue.close(error)


class Roomy(Protocol):
    """A turn that makes its agent wait."""

    async def wait_for_room(self) -> None: ...


AnyTurn = TypeVar("AnyTurn", bound=Roomy)


class TurnSlot(Generic[AnyTurn]):
    """The turn that a session has under way, and the events that came while it had none."""

    def __init__(self) -> None:
        self._turn: AnyTurn | None = None
        self._late: list[Event] = []

    @property
    def turn(self) -> AnyTurn | None:
        return self._turn

    def set(self, turn: AnyTurn) -> None:
        self._turn = turn

    def clear(self, turn: AnyTurn) -> None:
        """The turn is closed. A turn that was replaced meanwhile changes nothing."""
        if self._turn is turn:
            self._turn = None

    def keep_late(self, events: Sequence[Event]) -> None:
        """Events that belong to no turn: the next one begins with them."""
        if events:
            self._late = [*self._late, *events][-MAX_LATE_EVENTS:]

    def take_late(self) -> list[Event]:
        late, self._late = self._late, []
        return late

    async def wait_for_room(self) -> None:
        if self._turn is not None:
            await self._turn.wait_for_room()


def split_at_end(events: Sequence[Event]) -> tuple[Sequence[Event], TurnEnded | TurnFailed | None, Sequence[Event]]:
    """(the turn's events, the event that ends it, the events after it)."""
    for index, event in enumerate(events):
        if isinstance(event, TurnEnded | TurnFailed):
            return events[:index], event, events[index + 1 :]
    return events, None, ()
