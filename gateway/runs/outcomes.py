"""How the last run of each thread ended, or that the thread was released, as far as its status depends on it.

In: a run's last event; that a session was released or opened again. Out: one of Agent Relay's statuses. Kept in memory
only: it does not outlive the gateway, because the next one opens all sessions again. Only threads that are not `idle`
take memory.
"""

from __future__ import annotations

from typing import Literal

from gateway.events import Wire
from gateway.identity import ThreadKey

Outcome = Literal["idle", "failed", "waiting", "releasing", "released", "offline"]

LOST_AGENT_CODES = ("AGENT_DIED", "AGENT_STALLED")
"""Error codes of a run whose agent is gone. After any other error the session is still there and takes more work."""
MAX_THREADS = 4096
"""Of more threads, the one whose outcome is the oldest counts as idle again."""


class LastOutcomes:
    def __init__(self) -> None:
        self._outcomes: dict[ThreadKey, Outcome] = {}

    def get(self, thread: ThreadKey) -> Outcome:
        return self._outcomes.get(thread, "idle")

    def run_ended(self, thread: ThreadKey, last_event: Wire, *, is_parked: bool) -> None:
        """`is_parked`: the turn itself waits, and its thread's status is known from that."""
        self._set(thread, "idle" if is_parked else _outcome_of(last_event))

    def session_releasing(self, thread: ThreadKey) -> None:
        """The session is being closed."""
        self._set(thread, "releasing")

    def session_released(self, thread: ThreadKey) -> None:
        self._set(thread, "released")

    def session_opened(self, thread: ThreadKey) -> bool:
        """Between two runs. True: the thread was released until now."""
        if self.get(thread) != "released":
            return False
        self._set(thread, "idle")
        return True

    def thread_deleted(self, thread: ThreadKey) -> None:
        """It is not there any more: a thread that was never begun is idle, because its first run can begin."""
        self._set(thread, "offline")

    def _set(self, thread: ThreadKey, outcome: Outcome) -> None:
        self._outcomes.pop(thread, None)
        if outcome != "idle":
            self._outcomes[thread] = outcome
        if len(self._outcomes) > MAX_THREADS:
            del self._outcomes[next(iter(self._outcomes))]


def _outcome_of(last_event: Wire) -> Outcome:
    match last_event:
        case {"type": "RUN_ERROR", "code": code} if code in LOST_AGENT_CODES:
            return "failed"
        case {"type": "RUN_FINISHED", "outcome": {"pendingToolCallIds": [_, *_]}}:
            return "waiting"
        case _:
            return "idle"
