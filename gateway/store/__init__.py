"""From a URL to a store.

    memory:                 nothing outlives the process
    sqlite:///PATH          one file, /PATH; a fourth slash changes nothing, `sqlite:///~/x.db` is under the home folder
    sqlite:PATH             one file, relative to the current folder (or to the home folder: `sqlite:~/x.db`)

The path is taken as it stands: no percent-decoding, no query.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gateway.errors import ConfigError
from gateway.store.base import AgentRecord, AuditRecord, Piece, RunRecord, Status, Store, ThreadRecord
from gateway.store.deliveries import Deliveries, DeliveryRecord, DeliveryStatus, Notes
from gateway.store.memory import MemoryStore
from gateway.store.sqlite.store import BACKLOG, SqliteStore

__all__ = [
    "STORES",
    "AgentRecord",
    "AuditRecord",
    "DeliveryRecord",
    "DeliveryStatus",
    "Deliveries",
    "MemoryStore",
    "Notes",
    "Piece",
    "RunRecord",
    "SqliteStore",
    "Status",
    "Store",
    "ThreadRecord",
    "open_store",
]


def open_store(url: str, *, backlog: int = BACKLOG) -> Store:
    """The store that `url` names, not yet started. `backlog`: bytes that may wait for the disk."""
    scheme, colon, rest = url.partition(":")
    if not colon or scheme not in STORES:
        raise _refusal(url, f"{scheme!r} is no kind of store" if colon else "it has no scheme")
    return STORES[scheme](url, rest, backlog)


def _memory(url: str, rest: str, backlog: int) -> Store:
    if rest not in ("", "//"):
        raise _refusal(url, "a store in memory has no path")
    return MemoryStore()


def _sqlite(url: str, rest: str, backlog: int) -> Store:
    if rest.startswith("//") and not rest.startswith("///"):
        raise _refusal(url, "what follows two slashes would be a host; a file takes three, or none")
    tail = rest.lstrip("/")
    if not tail or tail.endswith("/"):
        raise _refusal(url, "it names no file")
    if tail.startswith(":memory:"):
        raise _refusal(url, "a store in memory is `memory:`")
    path = Path(f"/{tail}" if rest.startswith("/") and not tail.startswith("~") else tail)
    try:
        return SqliteStore(path.expanduser(), backlog=backlog)
    except RuntimeError as exc:
        raise _refusal(url, str(exc)) from exc


def _refusal(url: str, reason: str) -> ConfigError:
    return ConfigError(f"--store {url}: {reason}; use sqlite:///PATH for a file, or memory:")


STORES: dict[str, Callable[[str, str, int], Store]] = {"memory": _memory, "sqlite": _sqlite}
