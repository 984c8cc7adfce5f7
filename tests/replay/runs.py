"""The events of a session → the runs that a client sees, as the gateway's engine makes them.

In: events, in order, and where runs start. Out: one list of AG-UI events for each run. An interrupt ends a run, its
answer starts the next, and the end of the turn ends the last. Events between two runs open the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from gateway.agui.outbound import Outbound, Suspended
from gateway.events import Event, Interrupt, InterruptRequested, TurnEnded, TurnFailed, Wire

DIED = TurnFailed("the agent is gone", "AGENT_DIED")

MakeOutbound = Callable[[int], Outbound]


def numbered_outbound(number: int) -> Outbound:
    """For goldens: every piece of text is an event of its own, as the agent sent it."""
    return Outbound("thread", f"run{number}", f"r{number}", merging=False)


def interrupt_json(interrupt: Interrupt) -> dict[str, Any]:
    """AG-UI's object, without the time."""
    fields = {
        "id": interrupt.id,
        "reason": interrupt.reason,
        "message": interrupt.message,
        "toolCallId": interrupt.tool_call_id,
        "responseSchema": interrupt.response_schema,
        "metadata": interrupt.metadata,
        "subagentRunId": interrupt.subagent,
    }
    return {key: value for key, value in fields.items() if value is not None}


class Runs:
    """The runs of one session. `numbers`: shared by the sessions of one recording, where run ids must differ.
    `parks_at_once`: an interrupt ends the run; otherwise the caller does with `park`, so that several that came
    together end one run. `marks_cancelled`: the end of a cancelled turn has the outcome `cancelled`."""

    def __init__(
        self,
        *,
        make_outbound: MakeOutbound = numbered_outbound,
        to_json: Callable[[Interrupt], dict[str, Any]] = interrupt_json,
        numbers: Iterable[int] | None = None,
        parks_at_once: bool = True,
        marks_cancelled: bool = True,
    ) -> None:
        self.streams: list[list[Wire]] = []
        self._make_outbound = make_outbound
        self._to_json = to_json
        self._numbers = iter(count(1) if numbers is None else numbers)
        self._parks_at_once = parks_at_once
        self._marks_cancelled = marks_cancelled
        self._outbound: Outbound | None = None
        self._suspended: Suspended | None = None
        self._interrupts: list[Interrupt] = []
        self._undelivered: list[Event] = []

    @property
    def is_open(self) -> bool:
        """A run is under way."""
        return self._outbound is not None

    def start(self) -> None:
        """The next run, unless one is under way. It begins with the events that came since the last."""
        if self._outbound is not None:
            return
        self._outbound = self._make_outbound(next(self._numbers))
        self.streams.append(self._outbound.started(suspended=self._suspended))
        self._suspended = None
        undelivered = self._undelivered
        self._undelivered = []
        self.add(undelivered)

    def add(self, events: Sequence[Event]) -> None:
        for event in events:
            if self._outbound is None:
                self._undelivered.append(event)
                continue
            self.streams[-1] += self._outbound.feed([event])
            if isinstance(event, InterruptRequested):
                self._interrupts += event.interrupts
                if self._parks_at_once:
                    self.park()
            elif isinstance(event, TurnEnded | TurnFailed):
                self.end()

    def park(self) -> None:
        """End the run with the interrupts that came in it, if any did."""
        if self._outbound is not None and self._interrupts:
            self._suspended = self._outbound.suspended()
            self._finish(self._outbound.finished([self._to_json(interrupt) for interrupt in self._interrupts]))

    def end(self) -> None:
        """End the run as the turn has ended."""
        if self._outbound is None:
            return
        match self._outbound.ended:
            case TurnFailed(message, code):
                self._finish(self._outbound.failed(message, code))
            case TurnEnded(stop_reason="cancelled") if self._marks_cancelled:
                self._finish(self._outbound.finished(cancelled=True))
            case _:
                self._finish(self._outbound.finished())

    def close(self) -> None:
        """The recording is over: events that no run has taken make a last run."""
        if self._undelivered:
            self.start()
        self.end()

    def _finish(self, events: list[Wire]) -> None:
        self.streams[-1] += events
        self._outbound = None
        self._interrupts = []
