"""What outlives the gateway's process, and from a URL to a store.

In: `--store URL`. Out: a `Store`, not yet started. The names to know: `Store`, `Deliveries`, `Audit` and
`SessionOwners` (the contract), `STORES` (the backends), `open_store`.

    memory:                 nothing outlives the process
    sqlite:///PATH          one file, /PATH; a fourth slash changes nothing, `sqlite:///~/x.db` is in the home directory
    sqlite:PATH             one file, relative to the current directory (or to the home directory: `sqlite:~/x.db`)

The path is taken literally: no percent-decoding, no query.
"""

from __future__ import annotations

from gateway.store.audit import Audit, AuditFilter, AuditRecord
from gateway.store.backends import STORES, Backend, open_store
from gateway.store.base import AgentRecord, Piece, RunRecord, Status, Store, ThreadRecord
from gateway.store.deliveries import Deliveries, DeliveryRecord, DeliveryStatus, EventBatch
from gateway.store.memory import MemoryStore
from gateway.store.session_owners import SessionOwners
from gateway.store.sqlite.store import SqliteStore
from gateway.store.worktrees import WorktreeRecord, Worktrees

__all__ = [
    "STORES",
    "AgentRecord",
    "Audit",
    "AuditFilter",
    "AuditRecord",
    "Backend",
    "Deliveries",
    "DeliveryRecord",
    "DeliveryStatus",
    "MemoryStore",
    "Piece",
    "RunRecord",
    "SessionOwners",
    "SqliteStore",
    "Status",
    "Store",
    "EventBatch",
    "ThreadRecord",
    "WorktreeRecord",
    "Worktrees",
    "open_store",
]
