"""Where sockets for this user's own agents are: a folder that nobody else can enter, gone when it is empty.

In: nothing. Out: paths for sockets. A gateway that was killed leaves its folder behind; the next one that starts an
agent removes it. A folder is in use as long as somebody holds its lock, which the system lets go of with the process.
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
from uuid import uuid4

PREFIX = "agui-tools-"
LONGEST = 100
"""Of a socket's path, in bytes: some systems take 103, none less."""
TRIES = 3


class SocketDirectory:
    """Made when the first path is asked for, removed with the last."""

    def __init__(self, parent: Path | None = None) -> None:
        self._parent = parent
        self._alone = Lock()
        self._path: Path | None = None
        self._hold = -1
        self._used: set[Path] = set()

    def take(self) -> Path:
        """A path for one socket."""
        with self._alone:
            if self._path is None:
                self._path, self._hold = _made(self._parent or parent())
            path = self._path / uuid4().hex[:12]
            self._used.add(path)
            return path

    def give_back(self, path: Path) -> None:
        with self._alone:
            self._used.discard(path)
            with suppress(OSError):
                path.unlink(missing_ok=True)
            if self._path is not None and not self._used:
                shutil.rmtree(self._path, ignore_errors=True)
                os.close(self._hold)
                self._path = None

    def sweep(self) -> None:
        """Removes what gateways left behind that did not end by themselves."""
        for path in (self._parent or parent()).glob(f"{PREFIX}*"):
            with suppress(OSError), _held(path):
                shutil.rmtree(path)


def parent() -> Path:
    """The user's own place for such things, unless it is too deep down for a socket."""
    for place in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir()):
        if place and os.access(place, os.W_OK) and len(os.fsencode(place)) + len(PREFIX) + 30 <= LONGEST:
            return Path(place)
    return Path("/tmp")


def _made(place: Path) -> tuple[Path, int]:
    """The folder, with its lock. Between the two another gateway may take it for left behind: then another is made."""
    for _ in range(TRIES):
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))  # for this user alone
        with suppress(OSError):
            hold = _locked(path)
            if path.is_dir():
                return path, hold
            os.close(hold)
    raise OSError(f"no folder could be made in {place}")


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Raises `OSError` while another process has it, or if it is not this user's."""
    hold = _locked(path)
    try:
        if os.fstat(hold).st_uid != os.geteuid():
            raise PermissionError(path)
        yield
    finally:
        os.close(hold)


def _locked(path: Path) -> int:
    hold = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(hold, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(hold)
        raise
    return hold
