"""Sessions that are open at an agent and that no thread has yet: forks, until the first run of their thread.

In: the agent's answer to the request that opened the session, and its updates. Out: both, for the thread that takes the
session up. The number of updates is bounded: the newest are kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class HeldSession:
    result: Any
    """The agent's answer to the request that opened it."""
    location: Mapping[str, Any]
    """The parameters that it was opened with (`session_setup.location_params`)."""
    updates: deque[Any]


class HeldSessions:
    """Of one connection."""

    def __init__(self, max_updates: int) -> None:
        self._max_updates = max_updates
        self._sessions: dict[str, HeldSession] = {}

    def add(self, session_id: str, result: Any, location: Mapping[str, Any], updates: Iterable[Any]) -> None:
        """`updates`: those that came before the answer."""
        self._sessions[session_id] = HeldSession(result, location, deque(updates, maxlen=self._max_updates))

    def get(self, session_id: str) -> HeldSession | None:
        return self._sessions.get(session_id)

    def pop(self, session_id: str) -> HeldSession | None:
        return self._sessions.pop(session_id, None)
