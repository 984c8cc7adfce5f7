"""The phases of an agent's turn, as a table. Never waits or sends: `runs.run` looks up each move before it acts."""

from __future__ import annotations

from enum import Enum


class Phase(Enum):
    QUEUED = "queued"
    """Admitted, not yet given to the agent."""
    RUNNING = "running"
    PARKED = "parked"
    """The AG-UI run has ended with an interrupt, or with pending calls of the client's own tools. The agent's turn is
    still open and waits for the answer."""
    CANCELLING = "cancelling"
    """Asked to stop; what the agent still sends within the grace is passed on."""
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
    # An answer opens the next run, and a client reads again. A cancel or a failure here has no stream to be sent on.
    Phase.PARKED: {Signal.ANSWER: Phase.RUNNING, Signal.CANCEL: Phase.CANCELLING, Signal.BREAK: Phase.FAILED},
    # A turn that was asked to stop counts as stopped whatever it does next; an interrupt it still requests is not sent.
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
    """A defect of the gateway, never the fault of an agent or a client."""


def move(phase: Phase, signal: Signal) -> Phase:
    try:
        return MOVES[phase][signal]
    except KeyError:
        raise NoSuchMove(f"a turn that is {phase.value} cannot take {signal.value!r}") from None
