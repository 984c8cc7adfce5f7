"""Why a thread cannot take a message now, and what must hold for a run that no client started.

Pure: what the thread has is an argument, and so is the clock. A live run blocks the thread until it ends. A turn that
waits for results of the client's own tools blocks it until they are there, or until the user goes on without them. An
open interrupt blocks it until it is answered, cancelled or expired.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from gateway.errors import Conflict
from gateway.runs.interrupts import Interrupts

BeforePrompt = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Blocker:
    kind: Literal["run", "interrupt", "calls"]
    run_id: str
    """The live run, or the one that left the interrupt or the calls."""
    until: float | None = None
    """When it ends at the latest, if that is known."""

    @property
    def reason(self) -> str:
        match self.kind:
            case "run":
                return f"the thread has a live run, {self.run_id!r}"
            case "interrupt":
                return f"the thread waits for an answer to what the run {self.run_id!r} asked"
            case "calls":
                return f"the turn of the run {self.run_id!r} waits for results of the client's own tools"


@dataclass(frozen=True, slots=True)
class Precondition:
    """What must hold for a run that no client watches; otherwise it does not start."""

    latest_run: str | None
    """The key of the newest run that is part of its input."""
    may_abandon_turn: bool = False
    """It may end a turn that waits for results of the client's own tools."""
    before_prompt: BeforePrompt | None = None
    """Awaited when the session is open, right before the agent is given the turn."""


def check_precondition(precondition: Precondition, parked_run: str | None, interrupts: Interrupts, now: float) -> None:
    """Raises `Conflict` where something blocks the thread."""
    blocker = find_blocker(None, parked_run, interrupts, now)
    if blocker is not None and not (blocker.kind == "calls" and precondition.may_abandon_turn):
        raise Conflict(blocker.reason, code="THREAD_BUSY", runId=blocker.run_id)


def find_blocker(live_run: str | None, parked_run: str | None, interrupts: Interrupts, now: float) -> Blocker | None:
    if live_run is not None:
        return Blocker("run", live_run)
    interrupts.expire(now)
    if entries := interrupts.open():
        return Blocker("interrupt", entries[0].run_id, interrupts.next_expiry())
    return None if parked_run is None else Blocker("calls", parked_run)
