"""One turn of a dialect without a recorded client: the agent's messages → events → the runs that a client sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from gateway.agui.outbound import Outbound
from gateway.events import Event, Interrupt, InterruptRequested, TurnEnded, TurnFailed, Wire
from gateway.turn import Answer
from gateway.wire.dialects import Dialect
from tests.agui.replay import accepted
from tests.replay.runs import DIED, Runs

Recording: TypeAlias = Callable[[], tuple[Dialect, list[bytes]]]
"""Returns a new dialect in a turn, and the agent's messages."""


def read_turn(dialect: Dialect, batches: Iterable[Sequence[bytes]], exit_code: int | None = 0) -> list[Event]:
    """All events of the turn, to its end: the agent reports it, or its process exits."""
    events: list[Event] = []
    for batch in batches:
        if not dialect.is_busy:
            break
        events += dialect.read(batch)
    if dialect.is_busy:
        events += dialect.on_process_exit(exit_code, "the last lines of stderr")
        if dialect.is_busy:
            events.append(DIED)
    return events


def client_runs(events: Sequence[Event], dialect: Dialect | None = None) -> list[list[Wire]]:
    """What a client sees: one stream for each run, all of which the official client accepts. Interrupts are answered
    `cancelled`."""
    runs = Runs(make_outbound=_merging_outbound, to_json=_brief_interrupt, marks_cancelled=False)
    runs.start()
    for event in events:
        runs.add([event])
        if isinstance(event, InterruptRequested):
            for interrupt in event.interrupts if dialect is not None else ():
                assert dialect is not None
                dialect.answer(interrupt.id, Answer(interrupt.id, "cancelled"))
            runs.start()
        elif isinstance(event, TurnEnded | TurnFailed):
            break
    runs.end()
    return [accepted(stream) for stream in runs.streams]


def _merging_outbound(number: int) -> Outbound:
    suffix = str(number - 1) if number > 1 else ""
    return Outbound("t", f"r{suffix}", f"x{suffix}")


def _brief_interrupt(interrupt: Interrupt) -> dict[str, Any]:
    return {"id": interrupt.id, "reason": interrupt.reason}
