"""Worktrees of threads in memory."""

from __future__ import annotations

from collections.abc import Callable

from gateway.store.deliveries import ThreadName
from gateway.store.worktrees import WorktreeRecord


class MemoryWorktrees:
    """The contract is `worktrees.Worktrees`'."""

    def __init__(self, check_open: Callable[[], None]) -> None:
        """`check_open`: raises if the store is not open."""
        self._check_open = check_open
        self._worktrees: dict[ThreadName, WorktreeRecord] = {}

    async def find(self, thread: ThreadName) -> WorktreeRecord | None:
        self._check_open()
        return self._worktrees.get(thread)

    async def save(self, worktree: WorktreeRecord) -> None:
        self._check_open()
        self._worktrees[worktree.thread] = worktree

    async def delete(self, thread: ThreadName) -> bool:
        self._check_open()
        return self._worktrees.pop(thread, None) is not None

    async def all(self) -> list[WorktreeRecord]:
        self._check_open()
        return sorted(self._worktrees.values(), key=lambda each: (each.created, each.thread))
