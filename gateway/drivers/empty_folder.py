"""An empty folder to start an agent's process in when it serves no folder of its own: probes, shared processes.

A process reads configuration of the folder it is started in, and of those above. The gateway's own working directory
may be anybody's project, and in the system's temporary directory any user may leave files, so the folder is below the
user's data directory.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from gateway.settings import data_dir


class EmptyFolder:
    def __init__(self) -> None:
        self._path: Path | None = None

    def path(self) -> Path:
        """Made when it is needed first."""
        if self._path is None or not self._path.is_dir():
            self._path = make_empty_folder()
        return self._path

    def remove(self) -> None:
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)
            self._path = None


def make_empty_folder() -> Path:
    parent: Path | None = data_dir() / "empty"
    try:
        assert parent is not None
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        parent = None  # a data directory that cannot be written: the system's temporary one is the next best
    return Path(tempfile.mkdtemp(prefix="agui-gateway-", dir=parent)).resolve()
