"""What keeps a thread from taking a message, and what must hold for a run that begins by itself.

Pure: what the thread has is an argument, the clock too. A live run is in the way until it ends; a turn that waits for
tools of the client's until their results are there, or the user goes on without; an open question until it is
answered, given up or too old.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from gateway.errors import Conflict
from gateway.runs.interrupts import Interrupts


@dataclass(frozen=True, slots=True)
class Blocker:
    kind: Literal["run", "question", "calls"]
    run_id: str
    """The live run; or the one that left the question, or the calls."""
    until: float | None = None
    """When it is out of the way at the latest, if that is known."""

    @property
    def reason(self) -> str:
        match self.kind:
            case "run":
                return f"the thread has a live run, {self.run_id!r}"
            case "question":
                return f"the thread waits for an answer to what the run {self.run_id!r} asked"
            case "calls":
                return f"the turn of the run {self.run_id!r} waits for results of the client's own tools"


@dataclass(frozen=True, slots=True)
class Precondition:
    """What a run counts on that nobody watches: else it is not begun."""

    latest: str | None
    """The key of the newest run that its input tells of."""
    goes_on: bool = False
    """It may end a turn that waits for tools of the client's."""
    handing: Callable[[], Awaitable[None]] | None = None
    """To be waited for when the session is open, right before the agent is given the turn."""


def hold(parked: str | None, book: Interrupts, now: float, calm: Precondition) -> None:
    """Raises `Conflict` where the thread is not as calm as the run needs it."""
    found = find_blocker(None, parked, book, now)
    if found is not None and not (found.kind == "calls" and calm.goes_on):
        raise Conflict(found.reason, code="THREAD_BUSY", runId=found.run_id)


def find_blocker(live: str | None, parked: str | None, book: Interrupts, now: float) -> Blocker | None:
    """`live`, `parked`: the thread's live run, and the one whose turn waits."""
    if live is not None:
        return Blocker("run", live)
    book.expire(now)
    if asked := book.open():
        return Blocker("question", asked[0].run_id, book.next_expiry())
    return None if parked is None else Blocker("calls", parked)
