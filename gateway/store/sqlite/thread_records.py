"""Records of threads, kept in memory: those that were read or written last, and which threads have none.

In: what was read and written. Out: the record of a thread without a query. This process alone writes the file, so what
is kept is what the file has. Never: a record that is being written; who asks for it then must ask the file afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from gateway.store.base import ThreadRecord

MAX_RECORDS = 4096

Name: TypeAlias = tuple[str, str, str]
"""Agent, thread id, principal."""


class Unknown:
    """Nothing is kept of the thread."""


UNKNOWN: Final = Unknown()


class ThreadRecords:
    def __init__(self) -> None:
        self._records: dict[Name, ThreadRecord | None] = {}
        self._writes: Counter[Name] = Counter()
        """Writes that are under way."""
        self.changes = 0
        """Grows with every write, when it begins and when it ends."""

    def find(self, name: Name) -> ThreadRecord | Unknown | None:
        """None: the thread has no record."""
        return self._records.get(name, UNKNOWN)

    def is_being_written(self, name: Name) -> bool:
        return name in self._writes

    def put_read(self, name: Name, record: ThreadRecord | None, changes: int) -> None:
        """`changes`: their number before the query. If something was written since, the record may be an old one."""
        if changes == self.changes and name not in self._writes:
            self._put(name, record)

    @contextmanager
    def write(self, name: Name, record: ThreadRecord | None) -> Iterator[None]:
        """Around the write. `record`: what the thread has if it succeeds; None: it was deleted."""
        self._records.pop(name, None)
        self._writes[name] += 1
        self.changes += 1
        is_written = False
        try:
            yield
            is_written = True
        finally:
            self.changes += 1
            self._writes[name] -= 1
            if not self._writes[name]:
                del self._writes[name]
                if is_written:
                    self._put(name, record)

    def clear(self) -> None:
        """Any threads may have been deleted, or may be while this is called before and after."""
        self._records.clear()
        self.changes += 1

    def _put(self, name: Name, record: ThreadRecord | None) -> None:
        self._records.pop(name, None)
        self._records[name] = record
        if len(self._records) > MAX_RECORDS:
            del self._records[next(iter(self._records))]
