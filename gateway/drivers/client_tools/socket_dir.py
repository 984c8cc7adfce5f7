"""A private directory for the sockets of this user's agents. It is removed with its last socket.

In: nothing. Out: paths for sockets. A gateway that was killed leaves its directory behind; the next gateway that starts
an agent removes it (`drivers.locked_directory`). Everything here blocks for a moment, and is called in a thread.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Protocol
from uuid import uuid4

from gateway.drivers.locked_directory import create_locked, remove_stale

PREFIX = "agui-tools-"
MAX_PATH_BYTES = 100
"""Of a socket's path: some systems take 103, none takes fewer."""
MAX_NAME_BYTES = 30
"""Of the random part of a directory's name, and a socket's name in it."""


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
                self._path, self._lock_fd = create_locked(self._parent or default_parent(), PREFIX)
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
        remove_stale(self._parent or default_parent(), PREFIX)


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
