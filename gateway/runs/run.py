"""One run: a driver's events → outbound → log. It decides nothing about threads; `runs.engine` does.

The run's task is the only one that writes to its log. `stop` may be called by anyone and only asks.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from time import monotonic

import anyio
from anyio import CancelScope

from gateway.agui.outbound import Outbound, Suspended
from gateway.agui.translate import notice_event
from gateway.drivers import LiveTurn
from gateway.errors import GatewayError
from gateway.events import ClientToolCall, Event, Interrupt, TurnEnded, TurnFailed
from gateway.runs.log import Log
from gateway.runs.phase import FINAL, Phase, Signal, move
from gateway.store.base import RunRecord
from gateway.turn import Answer, Turn

log = logging.getLogger(__name__)

LOOK_AGAIN = 0.5
"""The deadline of silence is moved at most this often: moving it costs as much as an event."""


@dataclass(frozen=True, slots=True)
class RunTimeouts:
    """How a run waits and joins, in seconds."""

    stall: float
    grace: float
    window: float = 0.0
    question_window: float = 0.0
    """Questions that follow each other within this are put as one."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run was asked to stop. Without an error the client asked for it, and it ends as `cancelled`."""

    error: tuple[str, str] | None = None
    """(code, sentence)"""


class Run:
    def __init__(self, record: RunRecord, turn: Turn, outbound: Outbound, log: Log, pace: RunTimeouts) -> None:
        self.record, self.turn, self.outbound, self.log = record, turn, outbound, log
        self._pace = pace
        self._scope = CancelScope()
        self._stop: Stop | None = None
        self._look_again = 0.0
        self._fault: GatewayError | None = None
        self._live: LiveTurn | None = None
        self.phase = Phase.QUEUED
        self.opening = CancelScope()
        """Around whatever must be opened before the run can drive its turn."""
        self.ending = anyio.Event()
        """Asked to stop, or over."""
        self.handing: Callable[[], Awaitable[None]] | None = None
        """To be waited for right before the agent is given the turn."""
        self.driven = anyio.Event()
        """The agent has been given the turn."""
        self.over = anyio.Event()

    async def begin(self, suspended: Suspended | None) -> None:
        notices = [notice_event(notice) for notice in self.turn.warnings]
        await self.log.append(self.outbound.started(self.turn.parent_run_id, suspended) + notices)

    async def drive(self, live: LiveTurn, answers: Mapping[str, Answer]) -> None:
        """Until the turn ends, asks, calls a tool of the client's, fails, stalls or is stopped. Afterwards `phase`,
        `asked` and `called` say which."""
        self._live = live
        self.phase = move(self.phase, Signal.START)
        self.driven.set()
        try:
            with self._scope:
                self._wait_at_most(self._pace.stall)
                if answers:
                    await live.answer(answers)
                await self._pump(live)
            if self._scope.cancelled_caught and self._stop is None:
                raise GatewayError(f"the agent said nothing for {self._pace.stall:g} seconds", code="AGENT_STALLED")
        except GatewayError as exc:
            self.outbound.ended = TurnFailed(exc.detail, exc.code)
        self._conclude()

    async def stop(self, reason: Stop) -> None:
        """Ask once; the run ends within the grace whatever the agent does."""
        if self._stop is not None or self.phase in FINAL:
            return
        self._stop = reason
        self.ending.set()
        self.opening.cancel()
        if self.phase is Phase.RUNNING and self._live is not None:
            self.phase = move(self.phase, Signal.CANCEL)
            self._wait_at_most(self._pace.grace)
            await self._live.cancel()

    async def steer(self, message_id: str, text: str) -> bool:
        """One more message of the user's, for the agent's next step; see `LiveTurn.steer`. False: nothing was said."""
        if not self.steerable or self._live is None:
            return False
        return await self._live.steer(message_id, text)

    @property
    def steerable(self) -> bool:
        return self.phase is Phase.RUNNING and self._stop is None

    def give_up(self) -> None:
        """Stopped before there was a turn."""
        self.phase = move(self.phase, Signal.CANCEL)

    @property
    def stopping(self) -> Stop | None:
        return self._stop

    @property
    def asked(self) -> list[Interrupt]:
        return self.outbound.open_interrupts if self.phase is Phase.PARKED else []

    @property
    def called(self) -> list[ClientToolCall]:
        return self.outbound.client_calls if self.phase is Phase.PARKED else []

    def _wait_at_most(self, seconds: float) -> None:
        self._scope.deadline = anyio.current_time() + seconds

    async def _pump(self, live: LiveTurn) -> None:
        outbound = self.outbound
        if self._stop is not None:
            return
        while batch := await self._batch(live):
            if (lines := outbound.encoded_lines(batch)) is not None:
                await self.log.append_lines(lines)
            else:
                await self.log.append(outbound.feed(batch))
            if outbound.is_waiting and self._stop is None:
                await self._gather(live)
            if outbound.ended is not None or (outbound.is_waiting and self._stop is None):
                return
            if self._stop is None and monotonic() > self._look_again:
                self._look_again = monotonic() + LOOK_AGAIN
                self._wait_at_most(self._pace.stall + LOOK_AGAIN)

    async def _gather(self, live: LiveTurn) -> None:
        """Parallel calls ask one after the other; what they ask within this is one outcome."""
        until = anyio.current_time() + self._pace.question_window
        while self.outbound.ended is None and anyio.current_time() < until:
            batch: list[Event] = []
            with CancelScope(deadline=until):
                batch = await self._batch(live)
            if not batch:
                return
            await self.log.append(self.outbound.feed(batch))

    async def _batch(self, live: LiveTurn) -> list[Event]:
        if self._fault is not None:
            raise self._fault
        batch = await live.next()
        if batch and self._pace.window:
            with anyio.move_on_after(self._pace.window):
                try:
                    while more := await live.next():
                        batch += more
                except GatewayError as exc:
                    self._fault = exc  # what came before it goes out first
        return batch

    def _conclude(self) -> None:
        ended = self.outbound.ended
        if self._stop is not None and self.phase is Phase.RUNNING:
            self.phase = move(self.phase, Signal.CANCEL)  # stopped before the agent was asked
        if isinstance(ended, TurnFailed):
            self.phase = move(self.phase, Signal.BREAK)
        elif self.outbound.is_waiting and ended is None and self._stop is None:
            self.phase = move(self.phase, Signal.ASK)
        else:
            self.outbound.ended = ended or TurnEnded()
            self.phase = move(self.phase, Signal.END)
