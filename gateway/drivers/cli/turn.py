"""One turn of a command-line agent: from the prompt to its end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import anyio

from gateway.drivers.turn_base import TurnBase
from gateway.errors import AgentFault
from gateway.events import ClientToolsCalled, Event, InterruptRequested, UserMessageAccepted
from gateway.turn import Answer


class TurnControl(Protocol):
    """The session, as its turn sees it."""

    def answer(self, interrupt_id: str, answer: Answer) -> None: ...

    def steer(self, message_id: str, text: str) -> bool: ...

    def add_accepted(self, message: UserMessageAccepted) -> None:
        """The agent accepted a user message during the turn."""

    def cancel(self) -> None: ...

    async def abandon(self) -> None:
        """The turn did not end after its cancellation: its process is ended."""

    def turn_closed(self, turn: CliTurn) -> None: ...


class CliTurn(TurnBase):
    """Read by a run, fed by its session."""

    def __init__(self, control: TurnControl, first_events: Sequence[Event]) -> None:
        """`first_events`: of the gateway, or from before the turn. They are no output of this turn."""
        super().__init__()
        self._control = control
        self._is_over = False
        self._has_output = False
        self._add(first_events)

    # -- as a LiveTurn

    async def steer(self, message_id: str, text: str) -> bool:
        return not self._is_over and self._control.steer(message_id, text)

    async def cancel(self) -> None:
        """By the dialect, or by a signal. Every pending interrupt is answered `cancelled` first."""
        await self.cancel_pending()
        self._control.cancel()

    async def aclose(self) -> None:
        """A turn that is not over by now will not end on its own: its process is ended with it."""
        if not self._is_over:
            self._is_over = True
            self._queue.close()
            await self._control.abandon()
        self._control.turn_closed(self)

    # -- as its session sees it

    def put(self, events: Sequence[Event]) -> None:
        if events and self.takes_events:
            self._has_output = True
            self._add(events)

    def _add(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is InterruptRequested:
                self._wait_for(*(interrupt.id for interrupt in event.interrupts))
            elif type(event) is ClientToolsCalled:
                self._wait_for(*(call.id for call in event.calls))
            elif type(event) is UserMessageAccepted:
                self._control.add_accepted(event)
        self._enqueue(list(events))
        self._is_over = self._is_over or self._queue.is_closed

    def _wait_for(self, *interrupt_ids: str) -> None:
        for interrupt_id in interrupt_ids:
            self._pending[interrupt_id] = partial(self._control.answer, interrupt_id)

    def finish(self, last: Event) -> None:
        self._is_over = True
        self._queue.extend([last])
        self._queue.close()

    async def finish_late(self, last: Event, seconds: float) -> None:
        """Events of the next `seconds` still belong to the turn."""
        self._is_over = True
        await anyio.sleep(seconds)
        self.finish(last)

    def fail(self, error: AgentFault) -> None:
        self._is_over = True
        self._queue.close(error)

    @property
    def is_over(self) -> bool:
        return self._is_over

    @property
    def has_output(self) -> bool:
        """The agent has sent an event of this turn."""
        return self._has_output

    @property
    def takes_events(self) -> bool:
        return not self._queue.is_closed
