"""The git directory of a folder, where it is elsewhere: of a worktree, and of a submodule.

In: a folder. Out: the directories that git needs there. The folder is not trusted: its `.git` file may name any
directory. So a directory counts only if it names this folder in turn, as git itself has written it.
"""

from __future__ import annotations

import re
from pathlib import Path

MAX_FILE_BYTES = 64 * 1024
_WORKTREE = re.compile(r"^\s*worktree\s*=\s*(.+?)\s*$", re.MULTILINE)


def git_directories(folder: Path) -> list[Path]:
    """Outside of the folder; the shared directory of a worktree includes its own. Empty for an ordinary repository."""
    link = folder / ".git"
    text = _read(link)
    if text is None or not text.startswith("gitdir:"):
        return []
    own = (folder / text.removeprefix("gitdir:").strip()).resolve()
    if (back := _read(own / "gitdir")) is not None:  # a worktree
        common = (own / (_read(own / "commondir") or "").strip()).resolve()
        is_genuine = (own / back.strip()).resolve() == link.resolve() and own.parent == common / "worktrees"
        return [common] if is_genuine else []
    named = _WORKTREE.search(_read(own / "config") or "")  # a submodule
    return [own] if named is not None and (own / named[1]).resolve() == folder.resolve() else []


def protected_paths(folders: list[Path]) -> tuple[list[Path], list[Path]]:
    """Of the repositories in these folders: (git directories, what is in them that git executes). Git runs hooks, and
    commands that its configuration names, outside of the sandbox too: when the user works in the folder."""
    repositories = [path for folder in folders for path in (folder / ".git", *git_directories(folder))]
    repositories = [path for path in repositories if path.is_dir() and not path.is_symlink()]
    executed = [path / name for path in repositories for name in ("config", "hooks", "config.worktree")]
    return repositories, [path for path in executed if path.exists() and not path.is_symlink()]


def _read(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
