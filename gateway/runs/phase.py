"""The phases of an agent's turn, as a table. Nothing here waits or sends; `runs.run` asks before it moves."""

from __future__ import annotations

from enum import Enum


class Phase(Enum):
    QUEUED = "queued"
    """Admitted, not yet given to the agent."""
    RUNNING = "running"
    PARKED = "parked"
    """AG-UI's run has ended with an interrupt, or with calls of the client's own tools pending; the agent's turn is
    still open and waits for the answer."""
    CANCELLING = "cancelling"
    """Asked to stop; what it still says is sent on, within the grace."""
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Signal(Enum):
    START = "start"
    ASK = "ask"
    ANSWER = "answer"
    END = "end"
    BREAK = "break"
    CANCEL = "cancel"


MOVES: dict[Phase, dict[Signal, Phase]] = {
    Phase.QUEUED: {Signal.START: Phase.RUNNING, Signal.CANCEL: Phase.CANCELLED, Signal.BREAK: Phase.FAILED},
    Phase.RUNNING: {
        Signal.ASK: Phase.PARKED,
        Signal.END: Phase.FINISHED,
        Signal.CANCEL: Phase.CANCELLING,
        Signal.BREAK: Phase.FAILED,
    },
    # An answer opens the next run: there is a client again. A cancel or a failure here has no stream to speak on.
    Phase.PARKED: {Signal.ANSWER: Phase.RUNNING, Signal.CANCEL: Phase.CANCELLING, Signal.BREAK: Phase.FAILED},
    # Whatever a turn that was asked to stop does next, it was stopped; a question it still asks is not put to anyone.
    Phase.CANCELLING: {
        Signal.ASK: Phase.CANCELLING,
        Signal.END: Phase.CANCELLED,
        Signal.BREAK: Phase.CANCELLED,
        Signal.CANCEL: Phase.CANCELLING,
    },
    Phase.FINISHED: {},
    Phase.FAILED: {},
    Phase.CANCELLED: {},
}

FINAL = frozenset(phase for phase, moves in MOVES.items() if not moves)


class NoSuchMove(RuntimeError):
    """A defect of the gateway, never of an agent or a client."""


def move(phase: Phase, signal: Signal) -> Phase:
    try:
        return MOVES[phase][signal]
    except KeyError:
        raise NoSuchMove(f"a turn that is {phase.value} cannot take {signal.value!r}") from None
