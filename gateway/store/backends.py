"""The registry of stores: scheme of a URL → backend. It alone decides which backends exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gateway.errors import ConfigError
from gateway.store.base import Store
from gateway.store.memory import MemoryStore
from gateway.store.sqlite.store import MAX_BACKLOG_BYTES, SqliteStore


class InvalidUrl(ValueError):
    """The part of a URL after the scheme is wrong; the text says why."""


@dataclass(frozen=True, slots=True)
class Backend:
    """One kind of store."""

    open: Callable[[str, int], Store]
    """From the part of the URL after `scheme:`, and the bytes that may wait to be written. Raises `InvalidUrl`."""
    usage: str
    """How its URL is written, for error messages: `sqlite:///PATH for a file`."""
    example: str
    """A URL of a new store in the directory `{directory}`; the contract suite opens it."""


def open_store(url: str, *, backlog: int = MAX_BACKLOG_BYTES) -> Store:
    """The store of this URL, not yet started. `backlog`: bytes that may wait to be written."""
    scheme, colon, rest = url.partition(":")
    try:
        if not colon:
            raise InvalidUrl("it has no scheme")
        if scheme not in STORES:
            raise InvalidUrl(f"{scheme!r} is not a kind of store")
        return STORES[scheme].open(rest, backlog)
    except InvalidUrl as exc:
        usages = ", or ".join(backend.usage for backend in STORES.values())
        raise ConfigError(f"--store {url}: {exc}; use {usages}") from exc


def _open_memory(rest: str, backlog: int) -> Store:
    if rest not in ("", "//"):
        raise InvalidUrl("a store in memory has no path")
    return MemoryStore()


def _open_sqlite(rest: str, backlog: int) -> Store:
    if rest.startswith("//") and not rest.startswith("///"):
        raise InvalidUrl("after two slashes there would be a host; a file needs three slashes, or none")
    tail = rest.lstrip("/")
    if not tail or tail.endswith("/"):
        raise InvalidUrl("it names no file")
    if tail.startswith(":memory:"):
        raise InvalidUrl("a store in memory is `memory:`")
    path = Path(f"/{tail}" if rest.startswith("/") and not tail.startswith("~") else tail)
    try:
        return SqliteStore(path.expanduser(), backlog=backlog)
    except RuntimeError as exc:
        raise InvalidUrl(str(exc)) from exc


STORES: dict[str, Backend] = {
    "sqlite": Backend(_open_sqlite, "sqlite:///PATH for a file", "sqlite://{directory}/store.db"),
    "memory": Backend(_open_memory, "memory: to keep nothing", "memory:"),
}
