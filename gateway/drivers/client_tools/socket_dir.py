"""A private directory for the sockets of this user's agents. It is removed with its last socket.

In: nothing. Out: paths for sockets. A gateway that was killed leaves its directory behind; the next gateway that starts
an agent removes it. A directory is in use as long as a process holds its lock, which the kernel frees with the process.
Everything here blocks for a moment, and is called in a thread.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Protocol
from uuid import uuid4

PREFIX = "agui-tools-"
MAX_PATH_BYTES = 100
"""Of a socket's path: some systems take 103, none takes fewer."""
MAX_NAME_BYTES = 30
"""Of the random part of a directory's name, and a socket's name in it."""
CREATE_ATTEMPTS = 3


class SocketPaths(Protocol):
    """Where sockets are created."""

    def new_path(self) -> Path:
        """A path for one socket."""

    def release(self, path: Path) -> None:
        """The socket is closed."""


class ExistingDirectory:
    """A directory that the caller creates and removes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def new_path(self) -> Path:
        return self._path / uuid4().hex[:12]

    def release(self, path: Path) -> None:
        with suppress(OSError):
            path.unlink(missing_ok=True)


class SocketDirectory:
    """Created with the first path, removed with the last."""

    def __init__(self, parent: Path | None = None) -> None:
        self._parent = parent
        self._mutex = Lock()
        self._path: Path | None = None
        self._lock_fd = -1
        self._sockets: set[Path] = set()

    def new_path(self) -> Path:
        """A path for one socket."""
        with self._mutex:
            if self._path is None:
                self._path, self._lock_fd = _create_locked(self._parent or default_parent())
            path = self._path / uuid4().hex[:12]
            self._sockets.add(path)
            return path

    def release(self, path: Path) -> None:
        """The socket is closed."""
        with self._mutex:
            self._sockets.discard(path)
            with suppress(OSError):
                path.unlink(missing_ok=True)
            if self._path is not None and not self._sockets:
                shutil.rmtree(self._path, ignore_errors=True)
                os.close(self._lock_fd)
                self._path = None

    def remove_stale(self) -> None:
        """Remove the directories of gateways that were killed."""
        for path in (self._parent or default_parent()).glob(f"{PREFIX}*"):
            with suppress(OSError), _locked(path):
                shutil.rmtree(path)


def default_parent() -> Path:
    """The user's runtime directory or the temporary one, unless its path is too long for a socket."""
    for place in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir()):
        if (
            place
            and os.access(place, os.W_OK)
            and len(os.fsencode(place)) + len(PREFIX) + MAX_NAME_BYTES <= MAX_PATH_BYTES
        ):
            return Path(place)
    return Path("/tmp")


def _create_locked(parent: Path) -> tuple[Path, int]:
    """A new directory and its lock. Between the two steps another gateway may remove it as stale: then the next attempt
    creates another."""
    for _ in range(CREATE_ATTEMPTS):
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))  # readable by this user only
        with suppress(OSError):
            lock_fd = _lock(path)
            if path.is_dir():
                return path, lock_fd
            os.close(lock_fd)
    raise OSError(f"no directory could be created in {parent}")


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
