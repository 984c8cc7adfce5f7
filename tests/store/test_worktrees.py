"""Worktrees of threads: the contract of every store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.store import SqliteStore, Store, WorktreeRecord
from tests.store.make import a_thread

pytestmark = pytest.mark.anyio

THREAD = ("otter", "thread-1", "ann")
WORKTREE = WorktreeRecord(
    *THREAD,
    folder="/data/worktrees/1/otter",
    git_dir="/src/otter/.git/worktrees/agui-1",
    base_folder="/src/otter",
    common_dir="/src/otter/.git",
    subfolder="søren",
    branch="agui/fix-1",
    base_branch=None,
    base_commit="0" * 40,
    created=100.0,
)


async def test_a_worktree_is_kept_as_it_was(store: Store) -> None:
    assert await store.worktrees.find(THREAD) is None
    await store.worktrees.save(WORKTREE)
    assert await store.worktrees.find(THREAD) == WORKTREE


async def test_a_thread_has_one_worktree(store: Store) -> None:
    await store.worktrees.save(WORKTREE)
    changed = replace(WORKTREE, base_branch="main", is_discarded=True)
    await store.worktrees.save(changed)
    assert await store.worktrees.all() == [changed]


async def test_threads_of_two_principals_have_worktrees_of_their_own(store: Store) -> None:
    other = replace(WORKTREE, principal="bob", created=50.0)
    await store.worktrees.save(WORKTREE)
    await store.worktrees.save(other)
    assert await store.worktrees.all() == [other, WORKTREE]
    assert await store.worktrees.delete(THREAD)
    assert not await store.worktrees.delete(THREAD)
    assert await store.worktrees.all() == [other]


async def test_a_worktree_outlives_its_threads_record(store: Store) -> None:
    """Otherwise the folder and the branch of a thread that was pruned would stay for ever."""
    await store.save_thread(a_thread())
    await store.worktrees.save(WORKTREE)
    await store.delete_thread(*THREAD)
    assert await store.worktrees.find(THREAD) == WORKTREE


async def test_a_worktree_outlives_the_process(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path / "store.db")
    await first.start()
    await first.worktrees.save(WORKTREE)
    await first.aclose()
    second = SqliteStore(tmp_path / "store.db")
    await second.start()
    assert await second.worktrees.find(THREAD) == WORKTREE
    await second.aclose()
