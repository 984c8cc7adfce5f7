"""One turn of a command-line agent: from the prompt to its end."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import anyio

from gateway.drivers.event_queue import EventQueue
from gateway.errors import AgentFault
from gateway.events import ClientToolsCalled, Event, InterruptRequested, TurnEnded, TurnFailed, UserMessageAccepted
from gateway.turn import Answer

if TYPE_CHECKING:
    from gateway.drivers.cli.session import CliSession

log = logging.getLogger(__name__)

PARKED_LIMIT = 100_000
"""Events an agent may send while nobody reads; more fails the turn."""
FULL = 4096
"""Events that may wait for a run that reads."""


class CliTurn:
    """Read by a run, fed by its session."""

    def __init__(self, session: CliSession) -> None:
        self._session = session
        self._queue = EventQueue()
        self._questions: set[str] = set()
        """What it waits for: questions, and calls of the client's own tools."""
        self._ended = False
        self.said = False
        """Anything at all."""

    # -- as a LiveTurn

    async def next(self) -> list[Event]:
        return await self._queue.take()

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        for question_id in answers.keys() & self._questions:
            self._questions.discard(question_id)
            self._session.answer(question_id, answers[question_id])

    async def steer(self, message_id: str, text: str) -> bool:
        return not self._ended and self._session.steer(message_id, text)

    async def cancel(self) -> None:
        """The agent's own way first; every question that waits is answered `cancelled`."""
        await self.answer({question_id: Answer(question_id, "cancelled") for question_id in self._questions})
        self._session.cancel()

    async def aclose(self) -> None:
        """A turn that is not over by now will not end by itself: its process goes with it."""
        if not self._ended:
            self._ended = True
            self._queue.close()
            await self._session.abandon()
        self._session.turn_closed(self)

    # -- as its session sees it

    def put(self, events: Sequence[Event]) -> None:
        if not events or self._queue.closed:
            return
        self.said = True
        for event in events:
            if type(event) is InterruptRequested:
                self._questions.update(question.id for question in event.interrupts)
            elif type(event) is ClientToolsCalled:
                self._questions.update(call.id for call in event.calls)
            elif type(event) is UserMessageAccepted:
                self._session.knows(event)
        self._queue.extend(list(events))
        if len(self._queue) > PARKED_LIMIT:
            self.fail(AgentFault("the agent sent more than is kept while its turn waits", code="TURN_OVERFLOW"))

    def finish(self, last: Event) -> None:
        self._ended = True
        self._queue.extend([last])
        self._queue.close()

    async def finish_late(self, last: Event, seconds: float) -> None:
        """For so long what comes still belongs to it."""
        self._ended = True
        await anyio.sleep(seconds)
        self.finish(last)

    def fail(self, error: AgentFault) -> None:
        self._ended = True
        self._queue.close(error)

    @property
    def over(self) -> bool:
        return self._ended

    @property
    def open(self) -> bool:
        """It takes events."""
        return not self._queue.closed

    async def room(self) -> None:
        """A turn that asked has no reader until it is answered: then the bound above holds instead."""
        if len(self._queue) >= FULL and not self._questions:
            await self._queue.room()


def to_the_end(events: Sequence[Event]) -> tuple[Sequence[Event], TurnEnded | TurnFailed | None, Sequence[Event]]:
    """The turn's events, the one that ends it, and what came after."""
    for number, event in enumerate(events):
        if isinstance(event, TurnEnded | TurnFailed):
            return events[:number], event, events[number + 1 :]
    return events, None, ()
