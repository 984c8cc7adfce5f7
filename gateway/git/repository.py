"""Which repository a folder belongs to, found without running git.

In: a folder inside the workspace roots. Out: a `Repository` that lies inside them with everything that it is made of.
A `.git` that leads elsewhere is refused: it could show an agent another repository, or have the gateway write there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.errors import Refused
from gateway.git.command import UNAVAILABLE

MAX_POINTER_BYTES = 4096
"""Of a file that names a folder: `.git`, `commondir`."""
LINKED_NAMES = ("objects", "refs", "packed-refs", "logs", "info", "shallow", "reftable")
"""What a repository is made of, but for its configuration and hooks."""
CHECKED_NAMES = (*LINKED_NAMES, "worktrees")
"""Where the gateway writes."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A folder with a repository's files."""

    folder: Path
    git_dir: Path
    """Of this checkout: its HEAD and its index."""


@dataclass(frozen=True, slots=True)
class Repository:
    base: Checkout
    """The checkout that the user has."""
    common_dir: Path
    """What all checkouts share: objects, branches."""


def find_repository(folder: Path, roots: Sequence[Path]) -> Repository:
    """`folder` and `roots` with links resolved. Raises `Refused`."""
    for candidate in (folder, *folder.parents):
        if not is_inside(candidate, roots):
            break
        if os.path.lexists(candidate / ".git"):
            return _open(candidate, roots)
        if all((candidate / name).exists() for name in ("HEAD", "objects", "refs")):
            raise _unavailable(f"{candidate} is a bare repository: name a folder of a checkout")
    raise _unavailable(f"{folder} is in no git repository inside the workspace: run `git init` there and commit")


def is_inside(path: Path, roots: Sequence[Path]) -> bool:
    return any(path == root or root in path.parents for root in roots)


def _open(folder: Path, roots: Sequence[Path]) -> Repository:
    git_dir = _follow(folder / ".git", "gitdir: ")
    common_dir = _follow(git_dir / "commondir", "", git_dir)
    for path in (git_dir, common_dir):
        if not is_inside(path, roots):
            raise _unavailable(f"the repository of {folder} is at {path}, outside the workspace")
    for name in CHECKED_NAMES:
        if not is_inside(Path(os.path.realpath(common_dir / name)), [common_dir]):
            raise _unavailable(f"{common_dir / name} is a link to a place outside the repository")
    for line in _read(common_dir / "objects" / "info" / "alternates").splitlines():
        path = Path(os.path.realpath(common_dir / "objects" / line.strip()))
        if line.strip() and not line.startswith("#") and not is_inside(path, roots):
            raise _unavailable(f"{common_dir} borrows objects from {path}, outside the workspace")
    return Repository(Checkout(folder, git_dir), common_dir)


def _follow(pointer: Path, prefix: str, default: Path | None = None) -> Path:
    """The folder that a file names, or the folder that stands there itself."""
    if pointer.is_dir():
        return Path(os.path.realpath(pointer))
    text = _read(pointer).strip()
    if default is not None and not text:
        return default
    if not text.startswith(prefix) or not text.removeprefix(prefix):
        raise _unavailable(f"{pointer} names no repository")
    return Path(os.path.realpath(pointer.parent / text.removeprefix(prefix)))


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_POINTER_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _unavailable(detail: str) -> Refused:
    return Refused(detail, code=UNAVAILABLE)
