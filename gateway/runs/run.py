"""One run: the driver's events pass through `agui.outbound` into the log. It decides nothing about threads.

The run's task is the only one that writes to its log. Any task may call `stop`, which only asks the run to end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

import anyio
from anyio import CancelScope

from gateway.agui.outbound import Outbound, Suspended
from gateway.agui.translate import notice_event
from gateway.background import Tasks
from gateway.drivers import LiveTurn
from gateway.errors import GatewayError
from gateway.events import (
    ClientToolCall,
    Event,
    Interrupt,
    ReasoningMessageContent,
    TextMessageContent,
    ToolCallArgs,
    TurnEnded,
    TurnFailed,
)
from gateway.runs.log import Log
from gateway.runs.phase import FINAL, Phase, Signal, move
from gateway.runs.readiness import BeforePrompt
from gateway.store.base import RunRecord
from gateway.turn import Answer, Turn

log = logging.getLogger(__name__)

DEADLINE_STEP_SECONDS = 0.5
"""The deadline of a silent agent is moved at most this often: moving it costs as much as an event."""
DELTAS = (TextMessageContent, ReasoningMessageContent, ToolCallArgs)
MAX_MERGED_EVENTS = 1000
"""With so many a batch is sent before its merge window is over."""


@dataclass(frozen=True, slots=True)
class RunTimeouts:
    """How long a run waits, in seconds."""

    stall: float
    """Without an event."""
    run: float
    """From its start to its end."""
    grace: float
    question_window: float = 0.0
    """Interrupts that follow each other within this time are put to the user as one."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run was asked to stop. Without an error the client asked for it, and the run ends as `cancelled`."""

    error: tuple[str, str] | None = None
    """Code and message."""


class Run:
    def __init__(
        self,
        record: RunRecord,
        turn: Turn,
        outbound: Outbound,
        log: Log,
        timeouts: RunTimeouts,
        merge_window: Callable[[], float],
        before_prompt: BeforePrompt | None = None,
    ) -> None:
        """`merge_window`: for how many seconds a delta waits for others now. `before_prompt`: awaited right before the
        agent is given the turn."""
        self.record = record
        self.turn = turn
        self.outbound = outbound
        self.log = log
        self.before_prompt = before_prompt
        self.phase = Phase.QUEUED
        self.opening = CancelScope()
        """Around what must be opened before the run can drive its turn."""
        self.ending = anyio.Event()
        """The run was asked to stop, or is over."""
        self.prompted = anyio.Event()
        """The agent has been given the turn."""
        self.over = anyio.Event()
        self._timeouts = timeouts
        self._merge_window = merge_window
        self._timer: asyncio.TimerHandle | None = None
        """Of the run's whole time."""
        self._scope = CancelScope()
        self._stop: Stop | None = None
        self._next_deadline_move = 0.0
        self._pending_fault: GatewayError | None = None
        self._failure: TurnFailed | None = None
        self._live: LiveTurn | None = None

    async def write_start(self, suspended: Suspended | None) -> None:
        notices = [notice_event(notice) for notice in self.turn.warnings]
        await self.log.append(self.outbound.started(self.turn.parent_run_id, suspended) + notices)

    async def drive(self, live: LiveTurn, answers: Mapping[str, Answer]) -> None:
        """Until the turn ends, requests an interrupt, calls a tool of the client's, fails, stalls or is stopped.
        Afterwards `phase`, `pending_interrupts` and `pending_calls` say which."""
        self._live = live
        self.phase = move(self.phase, Signal.START)
        self.prompted.set()
        try:
            with self._scope:
                self._set_deadline(self._timeouts.stall)
                if answers:
                    await live.answer(answers)
                await self._pump(live)
            if self._scope.cancelled_caught and self._stop is None:
                seconds = self._timeouts.stall
                raise GatewayError(f"the agent said nothing for {seconds:g} seconds", code="AGENT_STALLED")
        except GatewayError as exc:
            self._failure = TurnFailed(exc.detail, exc.code)
        self._finish_phase()

    async def stop(self, reason: Stop) -> None:
        """Asks once; the run ends within the grace whatever the agent does."""
        if self._stop is not None or self.phase in FINAL:
            return
        self._stop = reason
        self.ending.set()
        self.opening.cancel()
        if self.phase is Phase.RUNNING and self._live is not None:
            self.phase = move(self.phase, Signal.CANCEL)
            self._set_deadline(self._timeouts.grace)
            await self._live.cancel()

    def limit_time(self, tasks: Tasks) -> None:
        """From now on the run's time counts. `tasks`: in which it is stopped when its time is over."""
        seconds = self._timeouts.run
        reason = Stop(("RUN_TIMEOUT", f"the run did not end within {seconds:g} seconds (run_timeout)"))
        self._timer = asyncio.get_running_loop().call_later(seconds, tasks.start_soon, self.stop, reason)

    def set_over(self) -> None:
        """The run is over, and nothing of it is left to be done."""
        if self._timer is not None:
            self._timer.cancel()
        self.over.set()

    async def steer(self, message_id: str, text: str) -> bool:
        """One more user message for the agent's next step; see `LiveTurn.steer`. False: the agent was given nothing."""
        if not self.is_steerable or self._live is None:
            return False
        return await self._live.steer(message_id, text)

    @property
    def is_steerable(self) -> bool:
        return self.phase is Phase.RUNNING and self._stop is None

    def cancel_queued(self) -> None:
        """The run was stopped before there was a turn."""
        self.phase = move(self.phase, Signal.CANCEL)

    @property
    def stop_reason(self) -> Stop | None:
        return self._stop

    @property
    def turn_end(self) -> TurnEnded | TurnFailed | None:
        """How the agent's turn ended; None: it has not."""
        return self._failure or self.outbound.ended

    @property
    def pending_interrupts(self) -> list[Interrupt]:
        return self.outbound.open_interrupts if self.phase is Phase.PARKED else []

    @property
    def pending_calls(self) -> list[ClientToolCall]:
        return self.outbound.client_calls if self.phase is Phase.PARKED else []

    def _set_deadline(self, seconds: float) -> None:
        self._scope.deadline = anyio.current_time() + seconds

    async def _pump(self, live: LiveTurn) -> None:
        outbound = self.outbound
        if self._stop is not None:
            return
        while batch := await self._next_batch(live):
            if (lines := outbound.encoded_lines(batch)) is not None:
                await self.log.append_lines(lines)
            else:
                await self.log.append(outbound.feed(batch))
            if outbound.is_waiting and self._stop is None:
                await self._gather(live)
            if outbound.ended is not None or (outbound.is_waiting and self._stop is None):
                return
            if self._stop is None and monotonic() > self._next_deadline_move:
                self._next_deadline_move = monotonic() + DEADLINE_STEP_SECONDS
                self._set_deadline(self._timeouts.stall + DEADLINE_STEP_SECONDS)

    async def _gather(self, live: LiveTurn) -> None:
        """Parallel tool calls request interrupts one after the other; those within the window are one outcome."""
        until = anyio.current_time() + self._timeouts.question_window
        while self.outbound.ended is None and anyio.current_time() < until:
            batch: list[Event] = []
            with CancelScope(deadline=until):
                batch = await self._next_batch(live)
            if not batch:
                return
            await self.log.append(self.outbound.feed(batch))

    async def _next_batch(self, live: LiveTurn) -> list[Event]:
        if self._pending_fault is not None:
            raise self._pending_fault
        batch = await live.next()
        # The first words of a run do not wait: a person does.
        if self.log.last > 1 and (seconds := self._merge_window()) and _has_only_deltas(batch):
            with anyio.move_on_after(seconds):
                try:
                    while len(batch) < MAX_MERGED_EVENTS and (more := await live.next()):
                        batch += more
                        if not _has_only_deltas(more):
                            break
                except GatewayError as exc:
                    self._pending_fault = exc  # what came before it is sent first
        return batch

    def _finish_phase(self) -> None:
        if self._stop is not None and self.phase is Phase.RUNNING:
            self.phase = move(self.phase, Signal.CANCEL)  # stopped before the agent was given the turn
        if isinstance(self.turn_end, TurnFailed):
            self.phase = move(self.phase, Signal.BREAK)
        elif self.outbound.is_waiting and self.turn_end is None and self._stop is None:
            self.phase = move(self.phase, Signal.ASK)
        else:
            self.phase = move(self.phase, Signal.END)


def _has_only_deltas(batch: Sequence[Event]) -> bool:
    return bool(batch) and all(type(event) in DELTAS for event in batch)
