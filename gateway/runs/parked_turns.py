"""Turns that wait between two runs, and whether the next run brings what they wait for.

Pure, but for the cancel scope of the task that expires a turn: turns are parked, resumed and ended by
`runs.thread_state`. A turn may wait for answers to its interrupts, for results of the client's own tools, or for both;
it goes on when all of it is there. Results come as `tool` messages, anywhere in the input. A run that brings some of
them is answered which are still missing, and what it brought is kept. A run that brings a new user message instead goes
on without them: the parked turn is ended, and a new one begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from anyio import CancelScope

from gateway.agui.outbound import Suspended
from gateway.drivers import LiveTurn
from gateway.events import ClientToolCall, Event, ToolCallResult
from gateway.identity import ThreadKey
from gateway.runs.interrupts import MAX_WAIT_SECONDS, Interrupts, ResumeResult, to_interrupt
from gateway.runs.run import Run
from gateway.turn import NO_RESULT, Answer, Turn


@dataclass(slots=True)
class ParkedTurn:
    live: LiveTurn
    run_id: str
    suspended: Suspended
    interrupts: Interrupts
    """As they are in the store. No run is live on the thread, so nothing else writes them."""
    calls: tuple[ClientToolCall, ...] = ()
    """Calls of the client's own tools whose results the turn waits for."""
    calls_expire: float | None = None
    """When the turn stops waiting for these calls."""
    known_messages: frozenset[str] = frozenset()
    """Ids of the messages that its run was given."""
    answers: dict[str, Answer] = field(default_factory=dict)
    """What has arrived while the rest is missing."""
    expiry: CancelScope | None = None
    """Of the task that ends the turn when it expires."""

    def renew_expiry(self) -> CancelScope:
        """A scope for the task that ends the turn when it expires; the last one may be cancelled already."""
        self.expiry = CancelScope()
        return self.expiry

    def keep(self, answers: dict[str, Answer], interrupts: Interrupts) -> None:
        """Some of what the turn waits for has arrived."""
        self.answers = answers
        self.interrupts = interrupts

    @property
    def expires(self) -> float | None:
        moments = (self.interrupts.next_expiry(), self.calls_expire)
        return min((moment for moment in moments if moment is not None), default=None)


class ParkedTurns:
    """The parked turns of this gateway, one per thread at most."""

    def __init__(self) -> None:
        self._turns: dict[ThreadKey, ParkedTurn] = {}

    def __iter__(self) -> Iterator[ThreadKey]:
        return iter(list(self._turns))

    def get(self, thread: ThreadKey) -> ParkedTurn | None:
        return self._turns.get(thread)

    def put(self, thread: ThreadKey, parked: ParkedTurn) -> None:
        self._turns[thread] = parked

    def pop(self, thread: ThreadKey) -> ParkedTurn | None:
        return self._turns.pop(thread, None)

    def run_id(self, thread: ThreadKey) -> str | None:
        """The run that left a turn parked."""
        parked = self._turns.get(thread)
        return None if parked is None else parked.run_id


def park_turn(
    run: Run, live: LiveTurn, interrupts: Interrupts, now: float, ttl: float
) -> tuple[list[dict[str, Any]], ParkedTurn]:
    """The run's interrupts as AG-UI's objects, and its turn, parked. To be called before the run is finished."""
    requested = [to_interrupt(interrupt, now, ttl) for interrupt in run.pending_interrupts]
    objects = run.outbound.check_interrupts(requested) if requested else []
    calls = tuple(run.pending_calls)
    known = frozenset(message["id"] for message in run.turn.messages)
    suspended = run.outbound.suspended()
    expires = calls_expiry(calls, now, ttl)
    return objects, ParkedTurn(live, run.record.run_id, suspended, interrupts, calls, expires, known)


def calls_expiry(calls: Sequence[ClientToolCall], now: float, ttl: float) -> float | None:
    """When the first of the calls expires."""
    bound = min(ttl, MAX_WAIT_SECONDS)
    # In this order: an agent may send NaN, and every comparison with NaN is false.
    seconds = [max(0.0, min(bound, bound if call.expires_in is None else call.expires_in)) for call in calls]
    return now + min(seconds) if seconds else None


def apply_resume(interrupts: Interrupts, parked: ParkedTurn, turn: Turn, now: float) -> ResumeResult:
    """What the next run may do. Records what it brings: answers with the interrupts, results with the parked turn."""
    resumed = interrupts.apply_resume(turn.resume, now, has_parked_turn=True)
    if not parked.calls or resumed.error is not None:
        return resumed
    answers = parked.answers | resumed.answers | find_results(turn.messages, parked.calls)
    missing = tuple(call for call in parked.calls if call.id not in answers)
    if not missing:
        return ResumeResult(answers=answers, continues_turn=True)
    if not turn.resume and _has_new_user_message(turn, parked):
        return ResumeResult(abandons_turn=True, missing_calls=missing)
    parked.keep(answers, interrupts)
    return ResumeResult(missing_calls=missing)


def find_results(messages: Sequence[dict[str, Any]], calls: Sequence[ClientToolCall]) -> dict[str, Answer]:
    """The `tool` messages that answer these calls, each as the answer to its call."""
    wanted = {call.id for call in calls}
    results = {message["toolCallId"]: message for message in messages if message["role"] == "tool"}
    return {call_id: Answer(call_id, "resolved", message) for call_id, message in results.items() if call_id in wanted}


def without_result(calls: Sequence[ClientToolCall]) -> list[Event]:
    """The results that are reported for calls that the client did not answer."""
    return [ToolCallResult(call.id, NO_RESULT, subagent=call.subagent) for call in calls]


def _has_new_user_message(turn: Turn, parked: ParkedTurn) -> bool:
    """The input ends in a user message that the parked run was not given."""
    last = turn.messages[-1] if turn.messages else None
    return last is not None and last["role"] == "user" and last["id"] not in parked.known_messages
