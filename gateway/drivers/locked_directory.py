"""Private directories that a gateway which was killed leaves behind, and that the next gateway removes.

In: the parent directory and a prefix. Out: a directory that only this user can read, and its lock. It is in use as long
as a process holds the lock, which the kernel frees with the process. Everything here blocks for a moment.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CREATE_ATTEMPTS = 3


def create_locked(parent: Path, prefix: str) -> tuple[Path, int]:
    """A new directory and its lock. Between the two steps another gateway may remove it as stale: then the next attempt
    creates another."""
    for _ in range(CREATE_ATTEMPTS):
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))  # readable by this user only
        with suppress(OSError):
            lock_fd = _lock(path)
            if path.is_dir():
                return path, lock_fd
            os.close(lock_fd)
    raise OSError(f"no directory could be created in {parent}")


def remove_stale(parent: Path, prefix: str) -> None:
    """Remove the directories of gateways that were killed."""
    for path in parent.glob(f"{prefix}*"):
        with suppress(OSError), _locked(path):
            shutil.rmtree(path)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Raises `OSError` while another process holds the lock, or if the directory is another user's."""
    lock_fd = _lock(path)
    try:
        if os.fstat(lock_fd).st_uid != os.geteuid():
            raise PermissionError(path)
        yield
    finally:
        os.close(lock_fd)


def _lock(path: Path) -> int:
    lock_fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock_fd)
        raise
    return lock_fd
