"""The git worktrees of threads, for clients: shown, committed, merged into their base, discarded.

In: a thread. Out: JSON, or a refusal that names the files in the way. Never while a run is live on the thread.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from gateway.audit import Action, AuditLog
from gateway.errors import Conflict, GatewayError, NotFound, Refused
from gateway.git.changes import (
    MAX_LISTED_FILES,
    Diff,
    commit_changes,
    count_commits,
    read_counts,
    read_diff,
    read_dirty_files,
)
from gateway.git.merge import merge_branch
from gateway.git.repository import Repository
from gateway.git.view import View, open_view
from gateway.git.worktree import delete_branch, is_intact, remove_checkout
from gateway.identity import ThreadKey
from gateway.runs.engine import Engine
from gateway.runs.worktrees import ThreadWorktrees, checkout_of
from gateway.store.base import Store
from gateway.store.worktrees import WorktreeRecord

log = logging.getLogger(__name__)

MAX_DIFF_BYTES = 2 * 2**20
MIN_ORPHAN_SECONDS = 60.0
"""A worktree is made a moment before its thread is stored."""


@dataclass(frozen=True, slots=True)
class KeptWork:
    """What is left of a worktree whose thread was deleted, because nothing else has it."""

    branch: str
    repository: str
    folder: str | None = None
    """Kept, too: what is in it could not be committed."""

    def to_json(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self.__slots__ if getattr(self, key) is not None}


class WorktreeService:
    def __init__(self, engine: Engine, worktrees: ThreadWorktrees, store: Store, audit: AuditLog) -> None:
        self._audit = audit
        self._engine = engine
        self._worktrees = worktrees
        self._store = store

    async def show(self, thread: ThreadKey) -> dict[str, Any]:
        record = self._find(thread)
        return await self._worktrees.in_thread(lambda: self._describe(record))

    async def read_diff(self, thread: ThreadKey) -> Diff:
        """Everything that the worktree has and its base has not, uncommitted changes included."""
        record = self._find(thread)

        def read() -> Diff:
            with self._opened(record) as (repository, view):
                return read_diff(view, checkout_of(record), _fork_point(view, repository, record), MAX_DIFF_BYTES)

        return await self._worktrees.in_thread(read)

    async def commit(self, thread: ThreadKey, message: str) -> str | None:
        """The new commit; None: there was nothing to commit."""
        async with self._idle(thread) as record:
            commit = await self._worktrees.in_thread(lambda: self._commit(record, message))
        if commit is not None:
            self._record("worktree.commit", thread, record, {"commit": commit})
        return commit

    async def merge(self, thread: ThreadKey, message: str | None, *, commit_first: bool) -> dict[str, Any]:
        """Into the base branch. `commit_first`: uncommitted changes too; otherwise they are in the way."""
        async with self._idle(thread) as record:
            merged = await self._worktrees.in_thread(lambda: self._merge(record, message, commit_first))
        detail = {"folder": record.base_folder, "into": merged["branch"]}
        self._record("worktree.merge", thread, record, detail | {key: merged[key] for key in ("commit", "result")})
        return merged

    async def discard(self, thread: ThreadKey) -> dict[str, Any]:
        """Removes folder and branch with everything that was not merged. The thread's next run begins with new ones."""
        async with self._idle(thread) as record:
            await self._engine.sessions.close(thread)
            commit = await self._worktrees.in_thread(lambda: self._discard(record))
            await self._worktrees.mark_discarded(record)
        self._record("worktree.discard", thread, record, {"commit": commit})
        return {"branch": record.branch, "commit": commit}

    async def remove(self, thread: ThreadKey) -> KeptWork | None:
        """The thread is about to be deleted; its session is closed. Work that is not merged is kept on its branch."""
        async with self._worktrees.alone(thread):
            record = self._worktrees.find(thread)
            kept = None if record is None else await self._worktrees.in_thread(lambda: self._remove(record))
            await self._worktrees.forget(thread)
            return kept

    async def fork(self, thread: ThreadKey, forked: ThreadKey) -> None:
        """The thread's copy gets a worktree with everything that is in the thread's own, if that has one."""
        await self._worktrees.fork(thread, forked)

    async def remove_orphans_for_ever(self, interval: float) -> None:
        """Of threads that were pruned."""
        while True:
            for record in self._worktrees.all():
                if time.time() - record.created > MIN_ORPHAN_SECONDS:
                    await self._remove_orphan(record)
            await anyio.sleep(interval)

    async def _remove_orphan(self, record: WorktreeRecord) -> None:
        thread = ThreadKey(*record.thread)
        try:
            if await self._store.thread(*thread) is None and self._engine.pending_run(thread) is None:
                kept = await self.remove(thread)
                log.info("the worktree %s of a thread that is gone was removed; kept: %s", record.folder, kept)
        except (GatewayError, OSError) as exc:
            log.warning("the worktree %s could not be removed: %s", record.folder, exc)

    def _record(self, action: Action, thread: ThreadKey, record: WorktreeRecord, detail: dict[str, Any]) -> None:
        fields = {"branch": record.branch, **detail}
        self._audit.record(action, thread.principal, agent=thread.agent, thread=thread.thread_id, detail=fields)

    # -- in a thread of its own

    def _describe(self, record: WorktreeRecord) -> dict[str, Any]:
        checkout = checkout_of(record)
        with self._opened(record) as (repository, view):
            base = _base_commit(view, repository, record)
            ahead, behind = count_commits(view, checkout, base, "HEAD")
            dirty = read_dirty_files(view, checkout)
            changes = read_counts(view, checkout, _fork_point(view, repository, record))
            return {
                "path": record.folder,
                "branch": record.branch,
                "commit": view.commit_of(checkout, "HEAD"),
                "base": {"path": record.base_folder, "branch": record.base_branch, "commit": base},
                "created": record.created,
                "ahead": ahead,
                "behind": behind,
                "dirty": [{"path": each.path, "status": each.status} for each in dirty[:MAX_LISTED_FILES]],
                "dirtyCount": len(dirty),
                "changes": [
                    {"path": each.path, "added": each.added, "removed": each.removed}
                    for each in changes[:MAX_LISTED_FILES]
                ],
                "changeCount": len(changes),
            }

    def _commit(self, record: WorktreeRecord, message: str) -> str | None:
        with self._opened(record) as (_, view):
            return commit_changes(view, checkout_of(record), message)

    def _merge(self, record: WorktreeRecord, message: str | None, commit_first: bool) -> dict[str, Any]:
        if record.base_branch is None:
            raise Refused(
                f"the worktree was made from a detached HEAD ({record.base_commit[:12]}), not from a branch: merge "
                f"{record.branch!r} by hand",
                code="BASE_DETACHED",
            )
        checkout = checkout_of(record)
        with self._opened(record) as (repository, view):
            if commit_first:
                commit_changes(view, checkout, message or f"Changes of {record.branch}")
            elif dirty := [each.path for each in read_dirty_files(view, checkout)]:
                raise Conflict(
                    f"the worktree has uncommitted changes: {', '.join(dirty[:5])}. Commit them first, or merge with "
                    '`"commit": true`.',
                    code="WORKTREE_DIRTY",
                    files=dirty[:MAX_LISTED_FILES],
                )
            text = message or f"Merge branch '{record.branch}'"
            merged = merge_branch(view, repository, record.branch, record.base_branch, text)
        kind = "fast-forward" if merged.is_fast_forward else "merge-commit"
        return {
            "branch": record.base_branch,
            "commit": merged.commit,
            "result": kind if merged.is_changed else "nothing-to-merge",
        }

    def _discard(self, record: WorktreeRecord) -> str | None:
        """The branch's last commit, by which git can still find it."""
        repository = self._worktrees.open_repository(record)
        remove_checkout(checkout_of(record))
        with open_view(repository.common_dir) as view:
            commit = view.commit_of(repository.base, f"refs/heads/{record.branch}")
            if commit is not None:
                delete_branch(view, repository.base, record.branch, commit)
        return commit

    def _remove(self, record: WorktreeRecord) -> KeptWork | None:
        checkout = checkout_of(record)
        try:
            repository = self._worktrees.open_repository(record)
        except Refused as exc:
            log.warning("%s stays: %s", record.folder, exc.detail)
            return KeptWork(record.branch, record.base_folder, record.folder)
        with open_view(repository.common_dir) as view:
            if is_intact(checkout):
                try:
                    commit_changes(view, checkout, f"Uncommitted changes of thread {record.thread_id}\n")
                except Conflict as exc:
                    log.warning("%s stays: %s", record.folder, exc.detail)
                    return KeptWork(record.branch, record.base_folder, record.folder)
            remove_checkout(checkout)
            commit = view.commit_of(repository.base, f"refs/heads/{record.branch}")
            if commit is None:
                return None
            base = _base_commit(view, repository, record)
            if commit != record.base_commit and not view.is_ancestor(repository.base, commit, base):
                return KeptWork(record.branch, record.base_folder)
            delete_branch(view, repository.base, record.branch, commit)
            return None

    # -- whose worktree, and when

    def _find(self, thread: ThreadKey) -> WorktreeRecord:
        record = self._worktrees.find(thread)
        if record is None:
            raise NotFound(
                f"the thread {thread.thread_id!r} has no worktree: it works in its folder itself, or its worktree was "
                "discarded and its next run makes another",
                code="NO_WORKTREE",
            )
        return record

    @asynccontextmanager
    async def _idle(self, thread: ThreadKey) -> AsyncIterator[WorktreeRecord]:
        """No run begins before the end of the context: it waits in `ThreadWorktrees.prepare`."""
        async with self._worktrees.alone(thread):
            record = self._find(thread)
            if (run := self._engine.pending_run(thread)) is not None:
                detail = f"the thread has a run under way, {run!r}: wait for its end, or cancel it first"
                raise Conflict(detail, code="RUN_IN_PROGRESS", runId=run)
            yield record

    @contextmanager
    def _opened(self, record: WorktreeRecord) -> Iterator[tuple[Repository, View]]:
        repository = self._worktrees.open_repository(record)
        if not is_intact(checkout_of(record)):
            detail = f"{record.folder} is gone: the thread's next run checks {record.branch!r} out again"
            raise Conflict(detail, code="WORKTREE_MISSING")
        with open_view(repository.common_dir) as view:
            yield repository, view


def _base_commit(view: View, repository: Repository, record: WorktreeRecord) -> str:
    """Where the base branch is now; where it was, if it is gone or there was none."""
    branch = record.base_branch
    return (branch and view.commit_of(repository.base, f"refs/heads/{branch}")) or record.base_commit


def _fork_point(view: View, repository: Repository, record: WorktreeRecord) -> str:
    """The newest commit that both have."""
    base = _base_commit(view, repository, record)
    output = view.git(checkout_of(record), "merge-base", base, "HEAD", accept=(0, 1))
    return output.line or record.base_commit
