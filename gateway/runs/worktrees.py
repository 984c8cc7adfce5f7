"""The git worktrees of threads: each thread that wants one works in a folder and on a branch of its own.

In: a thread, and the folder that its run names. Out: the `Workplace` of its session. A worktree is made when the
thread's first session opens, kept in the store, made again when its folder is gone. Runs and the routes that change a
worktree take turns: `alone`.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TypeVar
from uuid import uuid4
from weakref import WeakValueDictionary

import anyio
from anyio import CancelScope
from anyio.to_thread import run_sync

from gateway.capability_paths import WORKTREE
from gateway.catalog.definition import AgentDefinition
from gateway.errors import Refused
from gateway.events import Layer
from gateway.gateway_files import withheld_paths
from gateway.git.changes import read_dirty_files, snapshot_changes
from gateway.git.command import UNAVAILABLE
from gateway.git.repository import Checkout, Repository, find_repository, is_inside
from gateway.git.view import open_view
from gateway.git.worktree import is_intact, make_worktree, path_of_git_dir, restore_worktree
from gateway.identity import ThreadKey
from gateway.runs.workspaces import Workspaces
from gateway.settings import Settings
from gateway.store.base import Store
from gateway.store.worktrees import WorktreeRecord
from gateway.turn import Notice, Options, Turn, title_of

POINTER = "/forwardedProps/gateway/worktree"
DIGEST_CHARS = 16
MAX_NAME_CHARS = 40
MAX_GIT_THREADS = 4
MAX_RUNS_READ = 5
WORKED = ("finished", "interrupted", "cancelled")
"""Statuses of a run in which the agent may have worked."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a session works."""

    cwd: Path
    additional_directories: tuple[Path, ...] = ()
    worktree: WorktreeRecord | None = None
    notices: tuple[Notice, ...] = ()
    is_new: bool = False
    """The folder was made just now."""


class ThreadWorktrees:
    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        self._folder = Path(os.path.realpath(settings.worktrees))
        self._workspaces = Workspaces(settings.workspace, withheld_paths(settings))
        self._records: dict[ThreadKey, WorktreeRecord] = {}
        self._locks: WeakValueDictionary[ThreadKey, anyio.Lock] = WeakValueDictionary()
        self._limiter = anyio.CapacityLimiter(MAX_GIT_THREADS)

    async def load(self) -> None:
        """Before anything else: what the last gateway has made."""
        self._records = {ThreadKey(*record.thread): record for record in await self._store.worktrees.all()}

    def find(self, thread: ThreadKey) -> WorktreeRecord | None:
        """The thread's worktree; None: it has none, or it was discarded."""
        record = self._records.get(thread)
        return None if record is None or record.is_discarded else record

    def all(self) -> list[WorktreeRecord]:
        return list(self._records.values())

    def layer(self, thread: ThreadKey) -> Layer:
        """What the gateway states of the thread's worktree."""
        return {} if (record := self.find(thread)) is None else layer_of(record)

    @asynccontextmanager
    async def alone(self, thread: ThreadKey) -> AsyncIterator[None]:
        lock = self._locks.setdefault(thread, anyio.Lock())
        async with lock:
            yield

    async def in_thread(self, work: Callable[[], T]) -> T:
        """git blocks. Once begun, the work is done to its end."""
        return await run_sync(work, limiter=self._limiter)

    async def save(self, record: WorktreeRecord) -> None:
        await self._store.worktrees.save(record)
        self._records[ThreadKey(*record.thread)] = record

    async def forget(self, thread: ThreadKey) -> None:
        await self._store.worktrees.delete(thread)
        self._records.pop(thread, None)

    # -- where a session works

    async def prepare(
        self, thread: ThreadKey, turn: Turn, definition: AgentDefinition, session_id: str | None, open_cwd: Path | None
    ) -> Workplace:
        """`session_id`: of the session to resume. `open_cwd`: the folder of the thread's open session, if there is one.
        Raises `Refused`."""
        async with self.alone(thread):
            if (record := self._records.get(thread)) is not None:
                return await self._use(record, turn, open_cwd)
            if definition.is_local_process and await self._is_wanted(thread, turn, definition, session_id):
                if turn.options.worktree and (session_id is not None or open_cwd is not None):
                    raise Refused(
                        "the thread has begun without a worktree, and its session stays in its folder: begin a new "
                        "thread with `worktree`",
                        code="WORKTREE_TOO_LATE",
                        pointer=POINTER,
                    )
                try:
                    return await self._make(thread, turn)
                except Refused as exc:
                    if turn.options.worktree or exc.code != UNAVAILABLE:
                        exc.extra.setdefault("pointer", POINTER)
                        raise
                    message = f"the thread works in its folder itself, not in a worktree: {exc.detail}"
                    return self._plain(turn.options, open_cwd, Notice(UNAVAILABLE, message, POINTER))
            return self._plain(turn.options, open_cwd)

    async def _is_wanted(
        self, thread: ThreadKey, turn: Turn, definition: AgentDefinition, session_id: str | None
    ) -> bool:
        """A default holds for new threads only: one that has begun in a folder goes on there."""
        if turn.options.worktree is not None:
            return turn.options.worktree
        if not (self._settings.worktree if definition.worktree is None else definition.worktree) or session_id:
            return False
        runs = await self._store.thread_runs(*thread, MAX_RUNS_READ)
        return not any(run.status in WORKED for run in runs)

    def _plain(self, options: Options, open_cwd: Path | None, *notices: Notice) -> Workplace:
        """A run that names no folder goes on in the one that its session is open in."""
        cwd = open_cwd if options.cwd is None and open_cwd is not None else self._workspaces.resolve(options.cwd)
        directories = self._workspaces.resolve_all(options.additional_directories or ())
        return Workplace(cwd, directories, notices=notices)

    async def _make(self, thread: ThreadKey, turn: Turn) -> Workplace:
        cwd = self._workspaces.resolve(turn.options.cwd)
        repository = find_repository(cwd, self._workspaces.roots)
        name = title_of(turn.messages) or thread.thread_id
        subfolder = str(cwd.relative_to(repository.base.folder))
        record, dirty = await self._make_from(thread, repository, name, subfolder)
        notices = [_notice_of_dirty_base(record, dirty)] if dirty else []
        return self._place(record, turn.options, None, *notices, is_new=True)

    async def _make_from(
        self, thread: ThreadKey, repository: Repository, name: str, subfolder: str, parent: WorktreeRecord | None = None
    ) -> tuple[WorktreeRecord, int]:
        """The new worktree, and how many files of the base have changes that are not in it."""
        digest = sha256("\0".join(thread).encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARS]
        folder = self._folder / digest / repository.base.folder.name
        checkout = Checkout(folder, path_of_git_dir(repository, f"agui-{digest}"))
        branch = f"agui/{_slug(name)}-{uuid4().hex[:6]}"

        def make() -> tuple[WorktreeRecord, int]:
            with open_view(repository.common_dir) as view:
                base_branch = view.branch_of(repository.base)
                start = None
                if parent is not None:
                    text = f"State of thread {parent.thread_id} when it was forked\n"
                    start = snapshot_changes(view, checkout_of(parent), text)
                commit = make_worktree(repository, checkout, branch, start)
                dirty = 0 if parent is not None else len(read_dirty_files(view, repository.base))
            record = WorktreeRecord(
                *thread,
                folder=str(folder),
                git_dir=str(checkout.git_dir),
                base_folder=str(repository.base.folder),
                common_dir=str(repository.common_dir),
                subfolder="" if subfolder == "." else subfolder,
                branch=branch,
                base_branch=base_branch if parent is None else parent.base_branch,
                base_commit=commit if parent is None else parent.base_commit,
                created=time.time(),
            )
            return record, dirty

        record, dirty = await self.in_thread(make)
        with CancelScope(shield=True):
            await self.save(record)
        return record, dirty

    async def fork(self, thread: ThreadKey, forked: ThreadKey) -> WorktreeRecord | None:
        """A worktree for a thread's copy, with everything that is in the thread's own. None: it has none."""
        async with self.alone(thread):
            if (parent := self.find(thread)) is None:
                return None
            repository = self.open_repository(parent)
            record, _ = await self._make_from(forked, repository, forked.thread_id, parent.subfolder, parent)
            return record

    # -- the folders of the workspace behind a session's

    def originals(self, thread: ThreadKey, options: Options, open_cwd: Path | None) -> tuple[Path, ...]:
        """The folders of the workspace that a session with these options works in, or would work in; of a worktree, its
        repository's own. The working directory first. Nothing is made. Raises `Refused`."""
        record = self.find(thread)
        if options.cwd is not None:
            cwd = self._original(record, options.cwd)
        elif open_cwd is not None:
            cwd = self.original_of(thread, open_cwd)
        elif record is not None:
            cwd = Path(record.base_folder) / record.subfolder
        else:
            cwd = self._workspaces.resolve(None)
        return (cwd, *(self._original(record, path) for path in options.additional_directories or ()))

    def original_of(self, thread: ThreadKey, folder: Path) -> Path:
        """The same folder in the workspace, if this one is in the thread's worktree; else the folder itself."""
        return _to_original(self.find(thread), folder)

    def _original(self, record: WorktreeRecord | None, path: str) -> Path:
        resolved = Path(os.path.realpath(self._workspaces.roots[0] / path)) if "\0" not in path else None
        if record is not None and resolved is not None and is_inside(resolved, [Path(record.folder)]):
            return _to_original(record, resolved)
        return self._workspaces.resolve(path)

    # -- a worktree that exists

    async def _use(self, record: WorktreeRecord, turn: Turn, open_cwd: Path | None) -> Workplace:
        if turn.options.worktree is False:
            raise Refused(
                f"the thread works in its worktree, on the branch {record.branch!r}: begin a new thread to work in the "
                "folder itself",
                code="WORKTREE_FIXED",
                pointer=POINTER,
            )
        repository = self.open_repository(record)
        if not record.is_discarded and is_intact(checkout_of(record)):
            return self._place(record, turn.options, open_cwd)
        if not record.is_discarded and await self.in_thread(
            lambda: restore_worktree(repository, checkout_of(record), record.branch)
        ):
            message = f"the worktree's folder was gone: the branch {record.branch!r} was checked out again"
            return self._place(record, turn.options, None, Notice("WORKTREE_RESTORED", message, POINTER), is_new=True)
        name = title_of(turn.messages) or record.thread_id
        new, dirty = await self._make_from(ThreadKey(*record.thread), repository, name, record.subfolder)
        notices = [_notice_of_dirty_base(new, dirty)] if dirty else []
        if not record.is_discarded:
            message = (
                f"worktree and branch {record.branch!r} were gone: the thread goes on with a new one, {new.branch!r}"
            )
            notices.append(Notice("WORKTREE_LOST", message, POINTER))
        return self._place(new, turn.options, None, *notices, is_new=True)

    def open_repository(self, record: WorktreeRecord) -> Repository:
        """The worktree's repository, checked again: the agent may have replaced parts of it. Raises `Refused`."""
        folder = Path(record.base_folder)
        if not is_inside(Path(os.path.realpath(folder)), self._workspaces.roots) or not folder.is_dir():
            detail = f"{folder}, which the thread's worktree was made from, is no folder of the workspace any more"
            raise Refused(detail, code=UNAVAILABLE)
        repository = find_repository(folder, self._workspaces.roots)
        if str(repository.common_dir) != record.common_dir:
            detail = f"{folder} has another repository than the thread's worktree was made from"
            raise Refused(detail, code=UNAVAILABLE)
        return repository

    def _place(
        self, record: WorktreeRecord, options: Options, open_cwd: Path | None, *notices: Notice, is_new: bool = False
    ) -> Workplace:
        if options.cwd is None:
            cwd = open_cwd or self._resolve_inside(record, Path(record.folder) / record.subfolder)
        elif (inside := self._map(record, options.cwd)) is not None:
            cwd = inside
        else:
            raise Refused(
                f"the thread works in the worktree of {record.base_folder}; {options.cwd!r} is not in it: begin a new "
                "thread to work there",
                code="WORKTREE_ELSEWHERE",
                pointer="/forwardedProps/gateway/cwd",
            )
        directories = tuple(
            self._map(record, path) or self._workspaces.resolve(path) for path in options.additional_directories or ()
        )
        return Workplace(cwd, directories, record, notices, is_new)

    def _map(self, record: WorktreeRecord, path: str) -> Path | None:
        """A folder of the base as the same folder of the worktree. None: it is in neither."""
        resolved = Path(os.path.realpath(self._workspaces.roots[0] / path))
        if is_inside(resolved, [Path(record.folder)]):
            return self._resolve_inside(record, resolved)
        base = Path(record.base_folder)
        if not is_inside(resolved, [base]):
            return None
        return self._resolve_inside(record, Path(record.folder) / resolved.relative_to(base))

    def _resolve_inside(self, record: WorktreeRecord, path: Path) -> Path:
        """The agent may have made a link of it that leads elsewhere. A folder that the branch lacks is made."""
        resolved = Path(os.path.realpath(path))
        if not is_inside(resolved, [Path(record.folder)]):
            raise Refused(f"{path} leads out of the thread's worktree", code="PATH_OUTSIDE_WORKSPACE")
        resolved.mkdir(parents=True, exist_ok=True)
        return resolved

    async def mark_discarded(self, record: WorktreeRecord) -> None:
        await self.save(replace(record, is_discarded=True))


def _to_original(record: WorktreeRecord | None, folder: Path) -> Path:
    if record is None or not is_inside(folder, [Path(record.folder)]):
        return folder
    return Path(record.base_folder) / folder.relative_to(record.folder)


def checkout_of(record: WorktreeRecord) -> Checkout:
    return Checkout(Path(record.folder), Path(record.git_dir))


def layer_of(record: WorktreeRecord) -> Layer:
    return {
        f"{WORKTREE}.branch": record.branch,
        f"{WORKTREE}.path": record.folder,
        f"{WORKTREE}.base": record.base_branch or record.base_commit,
    }


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:MAX_NAME_CHARS].strip("-") or "thread"


def _notice_of_dirty_base(record: WorktreeRecord, dirty: int) -> Notice:
    message = (
        f"the thread works in a worktree of its own, on the branch {record.branch!r}. {dirty} file(s) in "
        f"{record.base_folder} have uncommitted changes: these are not in it"
    )
    return Notice("WORKTREE_BASE_DIRTY", message, POINTER, {"branch": record.branch, "files": dirty})
