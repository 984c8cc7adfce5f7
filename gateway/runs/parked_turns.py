"""Turns that wait between two runs, and whether the next run brings what they wait for.

Pure: a turn is parked, unparked and ended by `runs.thread_state`. A turn may wait for answers to questions, for
results of the client's own tools, or for both; it goes on when all of it is there. Results come as `tool` messages,
wherever they stand in the input. A run that brings some of them is told which are still missing, and what it brought
is kept. One that brings a new message of the user's instead goes on without: the turn that waited is ended, and a new
one begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from anyio import CancelScope

from gateway.agui.outbound import Suspended
from gateway.drivers import LiveTurn
from gateway.events import ClientToolCall, Event, ToolCallResult
from gateway.runs.interrupts import LONGEST, Interrupts, ResumeResult, to_interrupt
from gateway.runs.run import Run
from gateway.turn import NO_RESULT, Answer, Turn


@dataclass(slots=True)
class Parked:
    """A turn that waits for answers, between two runs."""

    live: LiveTurn
    run_id: str
    suspended: Suspended
    book: Interrupts
    """With what the turn asks, as it is in the store: no run is live on the thread, so nobody else writes it."""
    calls: tuple[ClientToolCall, ...] = ()
    """Of the client's own tools, whose results it waits for."""
    expires: float | None = None
    """When it waits for these no longer."""
    told: frozenset[str] = frozenset()
    """Messages that its run was given."""
    given: dict[str, Answer] = field(default_factory=dict)
    """What has come of that it waits for, while the rest is missing."""
    expiry: CancelScope | None = None
    """Of the task that ends it then."""

    @property
    def until(self) -> float | None:
        both = (self.book.next_expiry(), self.expires)
        return min((moment for moment in both if moment is not None), default=None)


def parked_by(
    run: Run, live: LiveTurn, book: Interrupts, now: float, ttl: float
) -> tuple[list[dict[str, Any]], Parked]:
    """The run's questions as AG-UI's interrupts, and its turn, waiting. To be asked before the run is finished."""
    asked = [to_interrupt(question, now, ttl) for question in run.asked]
    interrupts = run.outbound.check_interrupts(asked) if asked else []
    calls, told = tuple(run.called), frozenset(message["id"] for message in run.turn.messages)
    suspended = run.outbound.suspended()
    return interrupts, Parked(live, run.record.run_id, suspended, book, calls, _expires(calls, now, ttl), told)


def _expires(calls: Sequence[ClientToolCall], now: float, ttl: float) -> float | None:
    """When the first of them does."""
    bound = min(ttl, LONGEST)
    # In this order, for an agent may say NaN, and no comparison with that holds.
    seconds = [max(0.0, min(bound, bound if call.expires_in is None else call.expires_in)) for call in calls]
    return now + min(seconds) if seconds else None


def settle(book: Interrupts, parked: Parked | None, turn: Turn, now: float) -> ResumeResult:
    """What the run may do. What it brings is noted: of questions in the book, of calls with the turn that waits."""
    settled = book.settle(turn.resume, now, turn_waits=parked is not None)
    if parked is None or not parked.calls or settled.error is not None:
        return settled
    given = parked.given | settled.answers | results(turn.messages, parked.calls)
    missing = tuple(call for call in parked.calls if call.id not in given)
    if not missing:
        return ResumeResult(answers=given, parked=True)
    if not turn.resume and _news(turn, parked):
        return ResumeResult(given_up=True, waits=missing)
    parked.given, parked.book = given, book
    return ResumeResult(waits=missing)


def results(messages: Sequence[dict[str, Any]], calls: Sequence[ClientToolCall]) -> dict[str, Answer]:
    """The `tool` messages that answer these calls, each as the answer to its call."""
    wanted = {call.id for call in calls}
    told = {message["toolCallId"]: message for message in messages if message["role"] == "tool"}
    return {name: Answer(name, "resolved", message) for name, message in told.items() if name in wanted}


def without_result(calls: Sequence[ClientToolCall]) -> list[Event]:
    """What is told of calls that nobody answered."""
    return [ToolCallResult(call.id, NO_RESULT, subagent=call.subagent) for call in calls]


def _news(turn: Turn, parked: Parked) -> bool:
    """The input ends in words of the user's that the run which waits was not given."""
    last = turn.messages[-1] if turn.messages else None
    return last is not None and last["role"] == "user" and last["id"] not in parked.told
