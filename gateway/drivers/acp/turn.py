"""One `session/prompt`, from the request to its answer and a little beyond."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio
from anyio import CancelScope

from gateway.drivers.acp.steering import Steering
from gateway.drivers.event_queue import EventQueue
from gateway.errors import AgentFault
from gateway.events import (
    ClientToolCall,
    ClientToolsCalled,
    Event,
    Interrupt,
    InterruptRequested,
    TurnEnded,
    TurnFailed,
    UserMessageAccepted,
)
from gateway.turn import Answer, Turn

if TYPE_CHECKING:
    from gateway.drivers.acp.session import AcpSession

log = logging.getLogger(__name__)

PARKED_LIMIT = 100_000
"""Events an agent may send while its turn waits for an answer and nobody reads; more fails the turn."""
FULL = 4096
"""Events that may wait for a run that reads."""
CANCEL_LIMIT = 1.0
"""An agent that does not read is not waited for: its turn ends by the run's own bound."""


class AcpTurn:
    """Read by a run, fed by the connection's reader."""

    def __init__(self, session: AcpSession, turn: Turn, blocks: list[dict[str, Any]]) -> None:
        self._session, self._blocks, self.turn = session, blocks, turn
        self._queue = EventQueue()
        self._steering: Steering | None = session.steering()
        """None: the agent cannot be steered."""
        self._scope = CancelScope()
        self._questions: dict[str, anyio.Event] = {}
        """What it waits for: questions, and calls of the client's own tools."""
        self._answers: dict[str, Answer] = {}
        self._withdrawn = False
        self._ended = anyio.Event()
        self.answered = False
        """The agent has ended it; what still comes is let in for a moment."""
        self.cancelled = False
        self.over = anyio.Event()

    # -- as a LiveTurn

    async def next(self) -> list[Event]:
        return await self._queue.take()

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        self._withdrawn = False
        for question_id in answers.keys() & self._questions.keys():
            self._answers[question_id] = answers[question_id]
            self._questions[question_id].set()

    async def steer(self, message_id: str, text: str) -> bool:
        past = self.cancelled or self.answered or self.over.is_set() or self._ended.is_set()
        if self._steering is None or past:
            return False
        return await self._steering.say(self._session.id, UserMessageAccepted(message_id, text))

    async def cancel(self) -> None:
        """The agent's own way; every question that waits is answered `cancelled`, as the protocol wants it."""
        self.cancelled = True
        await self.answer({question_id: Answer(question_id, "cancelled") for question_id in self._questions})
        try:
            with anyio.move_on_after(CANCEL_LIMIT):
                await self._session.cancel_prompt()
        except AgentFault as exc:
            log.info("a turn could not be cancelled: %s", exc.detail)

    async def aclose(self) -> None:
        """A turn that is not over by now will not end by itself: the session goes with it."""
        if not self.over.is_set() and not self._ended.is_set():
            self.cancelled = True
            self._scope.cancel()
            self._queue.close()
            await self._session.abandon()
        self._session.turn_closed(self)

    # -- as the session sees it

    def put(self, events: list[Event]) -> list[Event]:
        """Gives back what came after the turn's end."""
        if self._ended.is_set() or self._queue.closed:
            return events
        late: list[Event] = []
        if self._steering is not None and self._steering.words:
            events = self._steering.placed(events, cancelled=self.cancelled)
            self._session.heard(events)
        if self._session.ends_by_update:
            events, late = self._to_the_end(events)
        self._queue.extend(events)
        if len(self._queue) > PARKED_LIMIT:
            self._queue.close(AgentFault("the agent sent more than is kept while its turn waits", code="TURN_OVERFLOW"))
        return late

    def _to_the_end(self, events: list[Event]) -> tuple[list[Event], list[Event]]:
        for number, event in enumerate(events, 1):
            if isinstance(event, TurnEnded | TurnFailed):
                self._ended.set()
                return events[:number], events[number:]
        return events, []

    async def room(self) -> None:
        """A turn that asked has no reader until it is answered, even if it took the question back: then the bound above
        holds instead."""
        if len(self._queue) >= FULL and not self._questions and not self._withdrawn:
            await self._queue.room()

    @property
    def unread(self) -> int:
        return len(self._queue)

    async def ask(self, question: Interrupt) -> Answer:
        """Puts the question to the run and waits, however long it takes."""
        return await self._answer_to(question.id, InterruptRequested((question,)))

    async def call(self, call: ClientToolCall) -> Answer:
        """The same with a call of a tool of the client's own."""
        return await self._answer_to(call.id, ClientToolsCalled((call,)))

    @property
    def takes_calls(self) -> bool:
        return not self.cancelled and not self.answered and not self.over.is_set() and not self._ended.is_set()

    async def _answer_to(self, name: str, asked: InterruptRequested | ClientToolsCalled) -> Answer:
        waiting = self._questions[name] = anyio.Event()
        self._queue.put(asked)
        try:
            if self.cancelled:
                return Answer(name, "cancelled")
            await waiting.wait()
            return self._answers.pop(name)
        finally:
            self._withdrawn = not waiting.is_set()
            del self._questions[name]

    def fail(self, error: AgentFault) -> None:
        """The agent is gone. A turn that it had ended by then has ended well."""
        if not self.answered:
            self._queue.close(error)
            self.over.set()

    async def play(self) -> None:
        """The turn's task."""
        error: AgentFault | None = None
        try:
            with self._scope:
                last = await self._session.prompt(self._blocks, self)
                if self._steering is not None:
                    await self._steering.settled()
                self.put(last)
                if self._session.ends_by_update:
                    await self._ended.wait()
        except AgentFault as exc:
            error = exc
        except Exception:  # a defect here must not take the whole gateway along
            log.exception("a turn failed inside the gateway")
            error = AgentFault("the gateway itself failed; its log says how", code="INTERNAL_ERROR")
        finally:
            self._queue.close(error)
            self.over.set()
