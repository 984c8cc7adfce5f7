"""The folders that a user can choose for a thread: those inside the workspace roots, one level at a time.

In: a folder of the workspace. Out: the folders in it, and whether a thread can have a git worktree there. Never: files,
hidden folders, links that lead out of the workspace, folders of the gateway's own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.errors import Refused
from gateway.git.repository import find_repository, is_inside
from gateway.runs.workspaces import Workspaces

MAX_LISTED_FOLDERS = 500


@dataclass(frozen=True, slots=True)
class WorkspaceFolder:
    path: Path
    parent: Path | None
    """None: it is a root."""
    folders: tuple[Path, ...]
    is_cut: bool
    """There are more folders than are listed."""
    repository: Path | None
    """The checkout that it is in."""
    no_worktree: str | None
    """Why a thread can have no worktree there; None: it can."""

    def to_json(self) -> dict[str, Any]:
        reason = {} if self.no_worktree is None else {"reason": self.no_worktree}
        return {
            "path": str(self.path),
            "parent": None if self.parent is None else str(self.parent),
            "folders": [{"name": folder.name, "path": str(folder)} for folder in self.folders],
            "truncated": self.is_cut,
            "repository": None if self.repository is None else str(self.repository),
            "worktree": {"available": self.no_worktree is None, **reason},
        }


def read_folder(workspaces: Workspaces, path: str | None) -> WorkspaceFolder:
    """`path`: None for the folder that a thread works in by default. Reads the disk. Raises `Refused`."""
    folder = workspaces.resolve(path)
    parent = folder.parent if is_inside(folder.parent, workspaces.roots) else None
    folders = sorted(set(_inner_folders(workspaces, folder)), key=lambda inner: inner.name.lower())
    is_cut = len(folders) > MAX_LISTED_FOLDERS
    repository, no_worktree = None, None
    try:
        repository = find_repository(folder, workspaces.roots).base.folder
    except Refused as exc:
        no_worktree = exc.detail
    return WorkspaceFolder(folder, parent, tuple(folders[:MAX_LISTED_FOLDERS]), is_cut, repository, no_worktree)


def _inner_folders(workspaces: Workspaces, folder: Path) -> Iterator[Path]:
    """Each where it really is. A folder that cannot be read has none."""
    try:
        names = [entry.name for entry in os.scandir(folder) if not entry.name.startswith(".") and entry.is_dir()]
    except OSError:
        return
    for name in names:
        try:
            yield workspaces.resolve(str(folder / name))
        except Refused:
            continue
