"""Plays an agent's messages through a dialect and `Outbound` the way the driver and a run do: each question ends a run,
and the next one goes on. What a client would see of each run must be a stream that the official client takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from gateway.agui.outbound import Outbound
from gateway.events import Event, InterruptRequested, TurnEnded, TurnFailed, Wire
from gateway.turn import Answer
from gateway.wire.dialects import Dialect
from tests.agui.replay import accepted

Recording: TypeAlias = Callable[[], tuple[Dialect, list[bytes]]]
"""A fresh dialect with a turn begun, and the agent's messages."""


def read_turn(dialect: Dialect, batches: Iterable[Sequence[bytes]], exit_code: int | None = 0) -> list[Event]:
    """All events of the turn, to its end: by the agent's word, or by its death."""
    events: list[Event] = []
    for batch in batches:
        if not dialect.is_busy:
            break
        events += dialect.read(batch)
    if dialect.is_busy:
        events += dialect.on_process_exit(exit_code, "its last words")
        if dialect.is_busy:
            events.append(TurnFailed("the agent is gone", "AGENT_DIED"))
    return events


def client_runs(events: Sequence[Event], dialect: Dialect | None = None) -> list[list[Wire]]:
    """What a client sees: one stream for each run, all in order. Questions are answered `cancelled`."""
    runs: list[list[Wire]] = []
    out = Outbound("t", "r", "x")
    stream = out.started()
    for event in events:
        stream += out.feed([event])
        if isinstance(event, InterruptRequested):
            for question in event.interrupts if dialect is not None else ():
                assert dialect is not None
                dialect.answer(question.id, Answer(question.id, "cancelled"))
            interrupts = [{"id": question.id, "reason": question.reason} for question in event.interrupts]
            outcome = out.check_interrupts(interrupts)
            suspended = out.suspended()
            runs.append(accepted(stream + out.finished(outcome)))
            out = Outbound("t", f"r{len(runs)}", f"x{len(runs)}")
            stream = out.started(suspended=suspended)
        elif isinstance(event, TurnEnded | TurnFailed):
            break
    last = out.ended
    stream += out.failed(last.message, last.code) if isinstance(last, TurnFailed) else out.finished()
    runs.append(accepted(stream))
    return runs
