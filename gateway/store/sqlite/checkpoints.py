"""Checkpoints, in a thread and on a connection of their own: the pages of the write-ahead log into the database file.

In: what was committed. Out: a checkpoint after about every `CHECKPOINT_PAGES`. A checkpoint syncs the disk, which takes
20 to 100 ms on a busy one. SQLite would do it inside a commit, and all callers of the writer would wait for it. These
are passive checkpoints, which hold up neither readers nor commits:
https://www.sqlite.org/c3ref/wal_checkpoint_v2.html. While there is always another commit, the log cannot start again
from its beginning; then a commit does the checkpoint after all (`schema.MAX_LOG_PAGES`).

Never: an error for a caller. A checkpoint that fails is tried again after as many further pages.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path

from gateway.store.pieces import stored_size
from gateway.store.sqlite import schema
from gateway.store.sqlite.transaction import Item, Row

log = logging.getLogger(__name__)

CHECKPOINT_PAGES = 4000
PAGES_PER_ITEM = 2
"""Of its table and of the index, at least."""


class Checkpoints:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._pages = 0
        self._is_due = threading.Event()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="store-checkpoints", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, items: Iterable[Item]) -> None:
        """They were committed. Called by the thread that writes."""
        self._pages += sum(_count_pages(item) for item in items)
        if self._pages >= CHECKPOINT_PAGES:
            self._pages = 0
            self._is_due.set()

    def close(self) -> None:
        """Waits for a checkpoint that is under way."""
        self._is_closed = True
        self._is_due.set()
        self._thread.join()

    def _run(self) -> None:
        connection = schema.connect(self._path)
        try:
            while self._is_due.wait() and not self._is_closed:
                self._is_due.clear()
                try:
                    connection.execute("pragma wal_checkpoint(passive)").fetchall()
                except sqlite3.Error as exc:
                    log.warning("the store %s: no checkpoint: %s", self._path, exc)
        finally:
            connection.close()


def _count_pages(item: Item) -> int:
    size = stored_size(item.payload) if isinstance(item, Row) else 0
    return PAGES_PER_ITEM + size // schema.PAGE_BYTES
