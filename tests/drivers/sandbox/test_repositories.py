"""A folder's git directory elsewhere is found, and never believed without proof."""

from __future__ import annotations

import subprocess
from pathlib import Path

from gateway.drivers.sandbox.repositories import git_directories, protected_paths

GIT = ("git", "-c", "user.name=x", "-c", "user.email=x@example.invalid", "-c", "protocol.file.allow=always")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run([*GIT, *arguments], cwd=folder, check=True, capture_output=True)


def new_repository(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init")
    git(folder, "commit", "--allow-empty", "-m", "first")
    return folder


def test_an_ordinary_repository_needs_nothing_outside(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "one")
    assert git_directories(folder) == []
    directories, executed = protected_paths([folder])
    assert directories == [folder / ".git"]
    assert {path.name for path in executed} >= {"config", "hooks"}


def test_a_worktree_needs_the_repository_it_belongs_to(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "one")
    git(folder, "worktree", "add", str(tmp_path / "two"))
    assert git_directories(tmp_path / "two") == [folder / ".git"]


def test_a_submodule_needs_its_own_directory(tmp_path: Path) -> None:
    inner, outer = new_repository(tmp_path / "inner"), new_repository(tmp_path / "outer")
    git(outer, "submodule", "add", str(inner), "sub")
    assert git_directories(outer / "sub") == [outer / ".git" / "modules" / "sub"]


def test_a_git_file_that_names_a_foreign_directory_is_not_believed(tmp_path: Path) -> None:
    secrets, folder = tmp_path / "secrets", tmp_path / "cloned"
    secrets.mkdir()
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {secrets}\n")
    assert git_directories(folder) == []


def test_a_git_file_that_names_another_worktree_is_not_believed(tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "one")
    git(folder, "worktree", "add", str(tmp_path / "two"))
    cloned = tmp_path / "cloned"
    cloned.mkdir()
    (cloned / ".git").write_text((tmp_path / "two" / ".git").read_text())
    assert git_directories(cloned) == []
