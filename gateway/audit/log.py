"""The one way into the audit log.

In: actions with their principals. Out: entries in the store. `record` returns at once: the entry is written within a
moment, together with others. `record_durably` returns when the entry is stored, and raises when it cannot be: what must
not happen without an entry (a registration, an approval) waits for it. When the store fails, entries of `record` wait
in memory, up to a bound, and the operator reads it in the log; beyond the bound they are counted as lost.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio

from gateway.audit.actions import Action
from gateway.audit.detail import to_detail
from gateway.audit.reader import AuditReader
from gateway.audit.refusals import Refusal, RefusalCount, RefusalCounter
from gateway.errors import StoreError
from gateway.store.audit import AuditFilter, AuditRecord
from gateway.store.base import Store

log = logging.getLogger(__name__)

MAX_PENDING = 10_000
"""Entries that may wait for a store that cannot be written."""
RETRY_SECONDS = 1.0
CONNECT_SECONDS = 86400.0
"""A principal's requests are one entry `principal.connect` in so long."""
MAX_CONNECTED = 10_000


class AuditLog:
    def __init__(
        self, store: Store, secrets: Callable[[], Sequence[str]] = tuple, clock: Callable[[], float] = time.time
    ) -> None:
        """`secrets`: values that must not be in an entry."""
        self._store = store
        self._secrets = secrets
        self._clock = clock
        self._pending: list[AuditRecord] = []
        self._lost = 0
        self._refusals = RefusalCounter()
        self._connected: dict[str, float] = {}
        self._wake = anyio.Event()
        self._grown = anyio.Event()
        self._is_closed = False

    # -- writing

    def record(
        self,
        action: Action,
        principal: str,
        *,
        agent: str | None = None,
        thread: str | None = None,
        run: str | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """Written within a moment. `detail`: a JSON object; it is bounded, and secrets in it are masked."""
        self._add(self._to_record(action, principal, agent, thread, run, detail))

    async def record_durably(
        self,
        action: Action,
        principal: str,
        *,
        agent: str | None = None,
        thread: str | None = None,
        run: str | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """Stored on return, after everything that was recorded before. Raises `StoreError`."""
        await self._write(self._to_record(action, principal, agent, thread, run, detail))

    def record_refusal(self, principal: str, code: str, route: str, status: int) -> None:
        """A request was refused. `principal`: of a request without one, the address of its client. Bounded: many
        refusals in a minute are one entry with their count."""
        counts = self._refusals.add(Refusal(principal, code, route, status), self._clock())
        for count in counts:
            self._add(self._to_refusal(count))
        self._wake.set()

    def record_connection(self, principal: str) -> None:
        """A request was authenticated. The first one, and one each day, is an entry."""
        now = self._clock()
        if now < self._connected.get(principal, 0.0):
            return
        if len(self._connected) >= MAX_CONNECTED:
            self._connected.clear()
        self._connected[principal] = now + CONNECT_SECONDS
        self.record("principal.connect", principal)

    def to_detail(self, fields: Mapping[str, Any]) -> bytes:
        """For an entry that the store writes itself, in one transaction with what it is about."""
        return to_detail(fields, self._secrets())

    def notify(self) -> None:
        """Entries were written by the store itself (registrations): readers look now."""
        grown, self._grown = self._grown, anyio.Event()
        grown.set()

    async def write_for_ever(self) -> None:
        """The task that writes what was recorded."""
        while True:
            await self._wait_for_work()
            for count in self._refusals.take(self._clock()):
                self._add(self._to_refusal(count))
            try:
                await self._write()
            except StoreError as exc:
                log.error("%d audit entries wait for the store: %s", len(self._pending), exc)
                await anyio.sleep(RETRY_SECONDS)

    def close_readers(self) -> None:
        """The gateway stops: every reader's stream ends."""
        self._is_closed = True
        self.notify()

    async def aclose(self) -> None:
        """Writes what is pending."""
        for count in self._refusals.take_all():
            self._add(self._to_refusal(count))
        try:
            await self._write()
        except StoreError as exc:
            log.error("%d audit entries are lost: %s", len(self._pending), exc)

    async def _wait_for_work(self) -> None:
        if self._pending:
            return
        ends = self._refusals.ends
        with anyio.move_on_after(None if ends is None else max(0.0, ends - self._clock())):
            await self._wake.wait()
        self._wake = anyio.Event()

    def _add(self, record: AuditRecord) -> None:
        if len(self._pending) >= MAX_PENDING:
            self._lost += 1
            return
        self._pending.append(record)
        self._wake.set()

    async def _write(self, *last: AuditRecord) -> None:
        records, self._pending = [*self._pending, *last], []
        if self._lost:
            records.append(self._to_record("audit.lose", "gateway", None, None, None, {"count": self._lost}))
        if not records:
            return
        lost, self._lost = self._lost, 0
        try:
            await self._store.audit.write(records)
        except BaseException:
            # In their order, before what came meanwhile. The last ones have a caller that learns of the failure.
            kept = records[: len(records) - len(last) - bool(lost)]
            self._pending = [*kept, *self._pending]
            self._lost += lost
            raise
        self.notify()

    def _to_record(
        self,
        action: Action,
        principal: str,
        agent: str | None,
        thread: str | None,
        run: str | None,
        detail: Mapping[str, Any] | None,
    ) -> AuditRecord:
        line = to_detail(detail, self._secrets()) if detail else b"{}"
        return AuditRecord(self._clock(), action, principal, agent, thread, run, line)

    def _to_refusal(self, count: RefusalCount) -> AuditRecord:
        refusal = count.refusal
        detail = {"code": refusal.code, "route": refusal.route, "status": refusal.status, "count": count.count}
        return self._to_record("request.refuse", refusal.principal, None, None, None, detail)

    # -- reading

    async def read(self, after: int, limit: int, where: AuditFilter) -> list[AuditRecord]:
        """Everything that was recorded before is in it."""
        await self._write()
        return await self._store.audit.read(after, limit, where)

    def follow(self, after: int, where: AuditFilter) -> AuditReader:
        return AuditReader(self._store, self._next_growth, after, where)

    def _next_growth(self) -> anyio.Event | None:
        return None if self._is_closed else self._grown
