"""One `session/prompt`, from the request to its response and a little beyond."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol

import anyio
from anyio import CancelScope

from gateway.drivers.acp.steering import Steering
from gateway.drivers.turn_base import TurnBase, split_at_end
from gateway.errors import AgentFault
from gateway.events import (
    ClientToolCall,
    ClientToolsCalled,
    Event,
    Interrupt,
    InterruptRequested,
    UserMessageAccepted,
)
from gateway.turn import Answer, Approvals, Turn
from gateway.wire.acp.session import SessionReader

log = logging.getLogger(__name__)

CANCEL_TIMEOUT_SECONDS = 1.0
"""To send `session/cancel`: an agent that does not read is not waited for, and its turn ends by the run's own limit."""


class TurnHost(Protocol):
    """The session, as `client_methods` and `client_tools` see it."""

    @property
    def reader(self) -> SessionReader: ...

    @property
    def turn(self) -> AcpTurn | None:
        """The turn under way."""


class PromptSession(Protocol):
    """The session, as its turn sees it."""

    @property
    def id(self) -> str: ...

    @property
    def ends_by_update(self) -> bool:
        """A turn ends by an update, not by the response to `session/prompt` (protocol version 2)."""

    async def prompt(self, blocks: list[dict[str, Any]], turn: AcpTurn) -> list[Event]:
        """Prompt the agent. The turn's last events."""

    async def cancel_prompt(self) -> None: ...

    def end_commands(self, turn: AcpTurn) -> None:
        """The turn was cancelled: its commands end, too."""

    def new_steering(self) -> Steering | None: ...

    def add_accepted(self, events: Sequence[Event]) -> None:
        """The agent accepted user messages that are among these events."""

    def last_warnings(self) -> list[Event]:
        """Warnings that are due before the turn's end."""

    async def abandon(self) -> None:
        """The turn did not end after its cancellation."""

    def turn_closed(self, turn: AcpTurn) -> None: ...


class AcpTurn(TurnBase):
    """Read by a run, fed by the connection's reader."""

    def __init__(self, session: PromptSession, turn: Turn, blocks: list[dict[str, Any]]) -> None:
        super().__init__()
        self._session = session
        self._blocks = blocks
        self._steering = session.new_steering()
        """None: the agent cannot be steered."""
        self._scope = CancelScope()
        self._ended = anyio.Event()
        self.approvals: Approvals | None = turn.options.approvals
        self.is_answered = False
        """The agent has answered the prompt; events of the next moment still belong to the turn."""
        self.is_cancelled = False
        self.over = anyio.Event()

    # -- as a LiveTurn

    async def steer(self, message_id: str, text: str) -> bool:
        if self._steering is None or not self.takes_calls:
            return False
        return await self._steering.send(self._session.id, UserMessageAccepted(message_id, text))

    async def cancel(self) -> None:
        """By `session/cancel`. Every pending permission is answered `cancelled`
        (https://agentclientprotocol.com/protocol/v1/prompt-turn#cancellation)."""
        self.is_cancelled = True
        await self.cancel_pending()
        try:
            with anyio.move_on_after(CANCEL_TIMEOUT_SECONDS):
                await self._session.cancel_prompt()
        except AgentFault as exc:
            log.info("a turn could not be cancelled: %s", exc.detail)
        self._session.end_commands(self)

    async def aclose(self) -> None:
        """A turn that is not over by now will not end on its own: the session is given up with it."""
        if not self.over.is_set() and not self._ended.is_set():
            self.is_cancelled = True
            self._scope.cancel()
            self._queue.close()
            await self._session.abandon()
        self._session.turn_closed(self)

    # -- as the session sees it

    def put(self, events: list[Event]) -> list[Event]:
        """The events that came after the turn's end, which the turn does not take."""
        if self._ended.is_set() or self._queue.is_closed:
            return events
        late: list[Event] = []
        if self._steering is not None and self._steering.accepted:
            events = self._steering.insert_accepted(events, cancelled=self.is_cancelled)
            self._session.add_accepted(events)
        if self._session.ends_by_update:
            before, end, after = split_at_end(events)
            if end is not None:
                self._ended.set()
                events, late = [*before, *self._session.last_warnings(), end], list(after)
        self._enqueue(events)
        return late

    async def request_interrupt(self, interrupt: Interrupt) -> Answer:
        """Give the interrupt to the run and wait for the answer, however long it takes."""
        return await self._wait_for_answer(interrupt.id, InterruptRequested((interrupt,)))

    async def request_tool_result(self, call: ClientToolCall) -> Answer:
        """The same for a client tool call."""
        return await self._wait_for_answer(call.id, ClientToolsCalled((call,)))

    @property
    def takes_calls(self) -> bool:
        return not self.is_cancelled and not self.is_answered and not self.over.is_set() and not self._ended.is_set()

    async def _wait_for_answer(self, interrupt_id: str, event: InterruptRequested | ClientToolsCalled) -> Answer:
        answered = anyio.Event()
        answer = Answer(interrupt_id, "cancelled")

        def receive(received: Answer) -> None:
            nonlocal answer
            answer = received
            answered.set()

        self._pending[interrupt_id] = receive
        self._queue.put(event)
        try:
            if not self.is_cancelled:
                await answered.wait()
            return answer
        finally:
            self._has_withdrawn = not answered.is_set()
            self._pending.pop(interrupt_id, None)

    def mark_answered(self) -> None:
        self.is_answered = True

    def fail(self, error: AgentFault) -> None:
        """The agent is gone. A turn that it had answered by then has ended well."""
        if not self.is_answered:
            self._queue.close(error)
            self.over.set()

    async def play(self) -> None:
        """The turn's task."""
        error: AgentFault | None = None
        try:
            with self._scope:
                last_events = await self._session.prompt(self._blocks, self)
                if self._steering is not None:
                    await self._steering.wait_until_answered()
                self.put(last_events)
                if self._session.ends_by_update:
                    await self._ended.wait()
        except AgentFault as exc:
            error = exc
        except Exception:  # a defect here must not end the gateway
            log.exception("a turn failed inside the gateway")
            error = AgentFault("the gateway itself failed; its log has the reason", code="INTERNAL_ERROR")
        finally:
            self._queue.close(error)
            self.over.set()
