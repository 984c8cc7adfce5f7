"""How threads were left: what their newest run ended in, or that they were released, as far as a status tells of it.

In: a run's last event; that a session was released, or opened again. Out: a status of Agent Relay's. Kept here alone:
it outlives no gateway, for the next one begins all sessions afresh. Only what is not `idle` takes a place.
"""

from __future__ import annotations

from typing import Literal

from gateway.events import Wire
from gateway.identity import ThreadKey

Left = Literal["idle", "failed", "waiting", "released"]

BROKEN = ("AGENT_DIED", "AGENT_STALLED")
"""Codes of a run whose agent went away under it. After any other the session is there, and takes more work."""
KEPT = 4096
"""Threads; of more, the one that was left first is idle again."""


class LastOutcomes:
    def __init__(self) -> None:
        self._left: dict[ThreadKey, Left] = {}

    def of(self, thread: ThreadKey) -> Left:
        return self._left.get(thread, "idle")

    def ended(self, thread: ThreadKey, last: Wire, *, parked: bool) -> None:
        """`parked`: the turn itself waits, and says so as long as it does."""
        self._leave(thread, "idle" if parked else _left_by(last))

    def released(self, thread: ThreadKey) -> None:
        self._leave(thread, "released")

    def opened(self, thread: ThreadKey) -> bool:
        """Between two runs. True: it was released until now."""
        if self.of(thread) != "released":
            return False
        self._leave(thread, "idle")
        return True

    def forget(self, thread: ThreadKey) -> None:
        self._left.pop(thread, None)

    def _leave(self, thread: ThreadKey, left: Left) -> None:
        self._left.pop(thread, None)
        if left != "idle":
            self._left[thread] = left
        if len(self._left) > KEPT:
            del self._left[next(iter(self._left))]


def _left_by(last: Wire) -> Left:
    match last:
        case {"type": "RUN_ERROR", "code": code} if code in BROKEN:
            return "failed"
        case {"type": "RUN_FINISHED", "outcome": {"pendingToolCallIds": [_, *_]}}:
            return "waiting"
        case _:
            return "idle"
