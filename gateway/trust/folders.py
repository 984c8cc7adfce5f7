"""Folders as trust knows them: real paths, and which are too wide to be trusted.

In: paths as people write them. Out: real paths, links resolved, so that a link cannot lend its folder another's trust.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def real_folder(path: Path | str) -> Path:
    return Path(os.path.realpath(os.path.expanduser(path)))


def is_inside(folder: Path, trusted: Iterable[Path]) -> bool:
    """The folder is one of these, or below one. Both sides are real paths."""
    return any(folder == each or each in folder.parents for each in trusted)


def too_wide_reason(folder: Path) -> str | None:
    """Why this folder should not be trusted as a whole; None: nothing speaks against it."""
    home = real_folder(Path.home())
    if folder == Path(folder.anchor):
        return f"{folder} is the root of the filesystem: everything on this machine would be trusted"
    if folder == home:
        return f"{folder} is the home directory: every download and every cloned repository in it would be trusted"
    if folder in home.parents:
        return f"{folder} contains the home directory: every cloned repository in it would be trusted"
    return None
