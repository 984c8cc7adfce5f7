"""The audit log and the owners of sessions in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gateway.store.audit import ALL_ENTRIES, AuditFilter, AuditRecord
from gateway.store.base import ThreadRecord


class MemoryAudit:
    """The contract is `audit.Audit`'s."""

    def __init__(self, check_open: Callable[[], None]) -> None:
        """`check_open`: raises if the store is not open."""
        self._check_open = check_open
        self._records: list[AuditRecord] = []
        self._last = 0

    async def write(self, records: Sequence[AuditRecord]) -> int:
        self._check_open()
        for record in records:
            self._last += 1
            self._records.append(replace(record, number=self._last))
        return self._last if records else 0

    async def read(self, after: int, limit: int, where: AuditFilter = ALL_ENTRIES) -> list[AuditRecord]:
        self._check_open()
        return [record for record in self._records if record.number > after and _is_wanted(record, where)][:limit]

    async def last_number(self) -> int:
        self._check_open()
        return self._last

    async def prune(self, older_than: float) -> int:
        self._check_open()
        before = len(self._records)
        self._records = [record for record in self._records if record.at >= older_than]
        return before - len(self._records)


def _is_wanted(record: AuditRecord, where: AuditFilter) -> bool:
    return (
        (where.since is None or record.at >= where.since)
        and (where.principal is None or record.principal == where.principal)
        and (where.action is None or f"{record.action}.".startswith(f"{where.action}."))
    )


class MemorySessionOwners:
    """The contract is `session_owners.SessionOwners`'."""

    def __init__(self, check_open: Callable[[], None], has_thread: Callable[[str, str], bool]) -> None:
        """`has_thread`: whether a thread of this agent has this session."""
        self._check_open = check_open
        self._has_thread = has_thread
        self._owners: dict[tuple[str, str], tuple[str, float]] = {}

    def add(self, thread: ThreadRecord) -> None:
        """The first owner stays."""
        if thread.session is not None:
            self._owners.setdefault((thread.agent, thread.session), (thread.principal, thread.updated))

    async def owners(self, agent: str, sessions: Sequence[str]) -> dict[str, str]:
        self._check_open()
        return {name: self._owners[agent, name][0] for name in sessions if (agent, name) in self._owners}

    async def prune(self, older_than: float) -> int:
        self._check_open()
        old = [
            name for name, (_, at) in self._owners.items() if at < older_than and not self._has_thread(name[0], name[1])
        ]
        for name in old:
            del self._owners[name]
        return len(old)
