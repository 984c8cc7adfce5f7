"""A further part of a store's contract: the git worktrees of threads.

A record says where a thread's worktree is and what it was made from. It outlives the gateway's process, the worktree's
folder, and the thread's own record: the gateway removes it when it has removed the worktree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gateway.store.deliveries import ThreadName


@dataclass(frozen=True, slots=True)
class WorktreeRecord:
    """The worktree of one thread. Paths are absolute, with links resolved."""

    agent: str
    thread_id: str
    principal: str
    folder: str
    """The worktree."""
    git_dir: str
    """What git keeps of it, inside the repository."""
    base_folder: str
    """The user's checkout, in a workspace root."""
    common_dir: str
    """The repository of both."""
    subfolder: str
    """Where sessions start, relative to the worktree: "" for its top."""
    branch: str
    base_branch: str | None
    """None: the base was at a detached HEAD."""
    base_commit: str
    created: float
    """Seconds since the epoch."""
    is_discarded: bool = False
    """Folder and branch are removed; the thread's next run makes new ones."""

    @property
    def thread(self) -> ThreadName:
        return self.agent, self.thread_id, self.principal


class Worktrees(Protocol):
    """Every method may raise `errors.StoreError`. Every write is durable on return."""

    async def find(self, thread: ThreadName) -> WorktreeRecord | None:
        """The thread's worktree; None: it has none."""

    async def save(self, worktree: WorktreeRecord) -> None:
        """Inserts or replaces the worktree of its thread."""

    async def delete(self, thread: ThreadName) -> bool:
        """Forgets it; False if there was none."""

    async def all(self) -> list[WorktreeRecord]:
        """Every worktree, oldest first."""
