"""The third part of a store's contract: the audit log, which is only ever added to.

An entry says who did what, when, and to which agent, thread and run. Numbers ascend and are never used again, also not
after old entries were deleted by their retention. Nothing else deletes an entry, and nothing changes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One entry of the audit log."""

    at: float
    """Seconds since the epoch."""
    action: str
    """What was done: `run.start`. `gateway.audit` has the list."""
    principal: str
    agent: str | None = None
    thread_id: str | None = None
    run_id: str | None = None
    detail: bytes = b"{}"
    """A JSON object; a store never reads it."""
    number: int = 0
    """Chosen by the store; 0: the entry is not stored yet."""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries are read; None: all."""

    since: float | None = None
    principal: str | None = None
    action: str | None = None
    """An action, or the part before its dot: `run` stands for all actions that begin with `run.`."""


ALL_ENTRIES = AuditFilter()


class Audit(Protocol):
    """Every method may raise `errors.StoreError`."""

    async def write(self, records: Sequence[AuditRecord]) -> int:
        """Adds the entries in their order; the number of the last one. Durable on return."""

    async def read(self, after: int, limit: int, where: AuditFilter = ALL_ENTRIES) -> list[AuditRecord]:
        """Up to `limit` entries with numbers above `after`, in order."""

    async def last_number(self) -> int:
        """The number of the newest entry; 0 if there never was one."""

    async def prune(self, older_than: float) -> int:
        """Deletes older entries. Returns how many."""
