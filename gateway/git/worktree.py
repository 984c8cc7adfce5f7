"""Linked worktrees (https://git-scm.com/docs/git-worktree): made, made again, removed.

In: a repository, a folder, a branch. Out: a checkout of its own in that folder, which `git worktree list` shows. The
files by which git links both are written here, because `git worktree add` would read the repository's configuration.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from gateway.errors import Refused
from gateway.git.command import UNAVAILABLE
from gateway.git.repository import Checkout, Repository
from gateway.git.view import View, is_bare, open_view


def make_worktree(repository: Repository, checkout: Checkout, branch: str, start: str | None = None) -> str:
    """A new branch at `start` (None: where the base is) and its checkout. Returns the commit. Raises `Refused`."""
    with open_view(repository.common_dir) as view:
        commit = view.commit_of(repository.base, start or "HEAD")
        if commit is None:
            if is_bare(repository.common_dir):
                detail = f"{repository.base.folder} has a bare repository: name a folder of a checkout"
            else:
                detail = f"the repository of {repository.base.folder} has no commit yet: commit something there first"
            raise Refused(detail, code=UNAVAILABLE)
        view.git(repository.base, "update-ref", "--create-reflog", f"refs/heads/{branch}", commit, "")
        _check_out(view, repository, checkout, branch)
        return commit


def restore_worktree(repository: Repository, checkout: Checkout, branch: str) -> bool:
    """Checks the branch out again. False: there is no such branch any more."""
    with open_view(repository.common_dir) as view:
        if view.commit_of(repository.base, f"refs/heads/{branch}") is None:
            return False
        _check_out(view, repository, checkout, branch)
        return True


def _check_out(view: View, repository: Repository, checkout: Checkout, branch: str) -> None:
    remove_checkout(checkout)
    folder, git_dir = checkout.folder, checkout.git_dir
    try:
        folder.mkdir(parents=True, mode=0o700)
        git_dir.mkdir(parents=True)
        (git_dir / "gitdir").write_text(f"{folder / '.git'}\n", "utf-8", "surrogateescape")
        (git_dir / "commondir").write_text(f"{os.path.relpath(repository.common_dir, git_dir)}\n", "utf-8")
        (git_dir / "HEAD").write_text(f"ref: refs/heads/{branch}\n", "utf-8")
        (folder / ".git").write_text(f"gitdir: {git_dir}\n", "utf-8", "surrogateescape")
        view.git(checkout, "reset", "--hard", "--quiet")
    except BaseException:
        remove_checkout(checkout)
        raise


def remove_checkout(checkout: Checkout) -> None:
    """The folder and what git keeps of it; the branch stays. Links in the folder are removed, not followed."""
    for path in (checkout.folder, checkout.git_dir):
        if path.is_symlink():
            path.unlink()
        elif path.exists():
            shutil.rmtree(path)


def delete_branch(view: View, base: Checkout, branch: str, commit: str) -> None:
    """Only if the branch is still at the commit."""
    view.git(base, "update-ref", "-d", f"refs/heads/{branch}", commit)


def is_intact(checkout: Checkout) -> bool:
    """Both halves are there. The agent may have removed or changed its own half: the other one is what counts."""
    return checkout.folder.is_dir() and (checkout.git_dir / "HEAD").is_file() and (checkout.git_dir / "index").exists()


def path_of_git_dir(repository: Repository, name: str) -> Path:
    return repository.common_dir / "worktrees" / name
