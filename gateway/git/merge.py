"""A branch merged into the branch that it was made from: fast-forward, or a merge commit.

In: both branches and the base checkout. Out: the new commit. It is made whole before anything is changed: a merge that
conflicts, or that would touch files with changes in the base checkout, is refused and leaves everything as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gateway.errors import Conflict, Refused
from gateway.git.changes import MAX_LISTED_FILES, read_dirty_files
from gateway.git.command import GitFailed
from gateway.git.repository import Checkout, Repository
from gateway.git.view import View


@dataclass(frozen=True, slots=True)
class Merged:
    commit: str
    is_fast_forward: bool
    is_changed: bool
    """False: the base had everything already."""


def merge_branch(view: View, repository: Repository, branch: str, base_branch: str, message: str) -> Merged:
    """Raises `Conflict` with the files that keep it from being done."""
    base = repository.base
    head = view.commit_of(base, f"refs/heads/{branch}")
    tip = view.commit_of(base, f"refs/heads/{base_branch}")
    if head is None or tip is None:
        raise Refused(f"there is no branch {base_branch if head else branch!r} any more", code="BRANCH_NOT_FOUND")
    if view.is_ancestor(base, head, tip):
        return Merged(tip, is_fast_forward=True, is_changed=False)
    is_fast_forward = view.is_ancestor(base, tip, head)
    commit = head if is_fast_forward else _merge_commit(view, base, tip, head, message)
    if view.branch_of(base) == base_branch:
        _update_checkout(view, base, tip, commit)
    else:
        _refuse_if_checked_out(repository.common_dir, base_branch)
        view.git(base, "update-ref", "-m", f"merge {branch}", f"refs/heads/{base_branch}", commit, tip)
    return Merged(commit, is_fast_forward, is_changed=True)


def _merge_commit(view: View, base: Checkout, tip: str, head: str, message: str) -> str:
    output = view.git(
        base, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", tip, head, accept=(0, 1)
    )
    tree, *files = output.names
    if output.code:
        raise Conflict(
            f"the merge conflicts in {', '.join(files[:5])}: nothing was changed. Let the agent merge the base branch "
            "into its own and resolve this, or merge by hand.",
            code="MERGE_CONFLICT",
            files=files[:MAX_LISTED_FILES],
        )
    return view.git(base, "commit-tree", tree, "-p", tip, "-p", head, "-F", "-", stdin=message.encode()).line


def _update_checkout(view: View, base: Checkout, tip: str, commit: str) -> None:
    touched = set(view.git(base, "diff", "--name-only", "-z", "--no-renames", tip, commit).names)
    dirty = [each.path for each in read_dirty_files(view, base) if each.path in touched]
    if dirty:
        raise Conflict(
            f"{base.folder} has uncommitted changes in files that the merge touches: {', '.join(dirty[:5])}. Nothing "
            "was changed. Commit or stash them there, then merge again.",
            code="BASE_DIRTY",
            files=dirty[:MAX_LISTED_FILES],
        )
    try:
        view.git(base, "merge", "--ff-only", "--quiet", "--no-verify-signatures", commit)
    except GitFailed as exc:
        raise Conflict(f"{base.folder} cannot take the merge: {exc.detail}", code="BASE_NOT_READY") from exc


def _refuse_if_checked_out(common_dir: Path, branch: str) -> None:
    """To move a branch under a checkout would show its old files as changes."""
    for head in (common_dir / "HEAD", *common_dir.glob("worktrees/*/HEAD")):
        if head.is_file() and head.read_text("utf-8", "replace").strip() == f"ref: refs/heads/{branch}":
            detail = f"the branch {branch!r} is checked out elsewhere ({head.parent}): merge it there"
            raise Conflict(detail, code="BASE_ELSEWHERE")
