"""The fourth part of a store's contract: which principal a session of an agent belongs to.

`Store.save_thread` writes it: the principal of the first thread that is saved with a session owns the session. An owner
never changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class SessionOwners(Protocol):
    """Every method may raise `errors.StoreError`."""

    async def owners(self, agent: str, sessions: Sequence[str]) -> dict[str, str]:
        """Session id → principal, for those of these sessions that have an owner."""

    async def prune(self, older_than: float) -> int:
        """Forgets the owners of sessions that no thread has and that were first saved before `older_than`. Returns how
        many."""
