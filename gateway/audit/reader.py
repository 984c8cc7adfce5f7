"""One reader's place in the audit log, and an entry as JSON."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import anyio
import orjson

from gateway.errors import StoreError
from gateway.store.audit import AuditFilter, AuditRecord
from gateway.store.base import Store

log = logging.getLogger(__name__)

MAX_READ_ENTRIES = 500


class AuditReader:
    def __init__(
        self, store: Store, next_growth: Callable[[], anyio.Event | None], after: int, where: AuditFilter
    ) -> None:
        """`next_growth`: the event that is set when entries were added; None: the gateway stops."""
        self._store = store
        self._next_growth = next_growth
        self._after = after
        self._where = where

    async def next(self) -> list[AuditRecord]:
        """The next entries, at least one; an empty list at the end of the gateway."""
        while (grown := self._next_growth()) is not None:
            try:
                records = await self._store.audit.read(self._after, MAX_READ_ENTRIES, self._where)
            except StoreError as exc:  # the stream ends; a reader that comes back misses nothing
                log.error("the audit log cannot be read: %s", exc)
                return []
            if records:
                self._after = records[-1].number
                return records
            await grown.wait()
        return []


def to_json(record: AuditRecord) -> dict[str, Any]:
    """Fields without a value are left out."""
    moment = datetime.fromtimestamp(record.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    fields = {
        "number": record.number,
        "at": moment,
        "action": record.action,
        "principal": record.principal,
        "agent": record.agent,
        "threadId": record.thread_id,
        "runId": record.run_id,
        "detail": orjson.loads(record.detail),
    }
    return {name: value for name, value in fields.items() if value is not None and value != {}}
