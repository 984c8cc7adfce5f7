"""Folders of agent files, watched: an edit applies without a restart.

In: the folders as they were read at the start. Out: their overlays, read again after every change, and a call of
`on_change`. An invalid file is reported and its last good definition stays in use; a removed file removes its agent.
Where the system does not report changes, the folders are polled. A failure of the watch never ends the gateway.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import anyio
import anyio.to_thread
from watchfiles import awatch

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import Catalog, load_file, load_folder
from gateway.errors import ConfigError
from gateway.registry.agents import Failure
from gateway.registry.overlays import Overlay

log = logging.getLogger(__name__)

QUIET_MILLISECONDS = 25
"""Without a further change before the files are read: editors write in several steps."""
DEBOUNCE_MILLISECONDS = 100
"""How long changes are collected at most."""
POLL_MILLISECONDS = 100
"""Between two polls where the system does not report changes."""
IDLE_READ_MILLISECONDS = 2000
"""After this time the folders are read though no change was reported: one may have come before the watch began."""
RETRY_SECONDS = 2.0
"""Until a watch that failed is started again."""

Stamp: TypeAlias = tuple[int, int, int]
"""Modification time, size and inode."""


@dataclass(frozen=True, slots=True)
class AgentFile:
    """One file, as it was last read."""

    stamp: Stamp | None
    """Changes when the file is written; None: it must be read again."""
    definition: AgentDefinition | None
    """The last good one."""
    failure: Failure | None = None


class AgentFolder(Overlay):
    """The overlay of one folder."""

    def __init__(self, path: Path) -> None:
        """Raises `ConfigError` for the first problem: at the start every file must be valid."""
        self.path = path.resolve()
        # Before the files are read: one that is written meanwhile counts as changed.
        stamps = {file.resolve(): _read_stamp(file) for file in self.path.glob("*.toml")}
        super().__init__(str(path), load_folder(path))
        self._files = {each.source: AgentFile(stamps.get(each.source), each) for each in self.catalog.values()}
        self._is_missing = False

    def read(self) -> Callable[[], bool]:
        """Reads what is in the folder now; blocks. The result is to be called on the event loop: it updates the overlay
        and says whether anything has changed."""
        if not self.path.is_dir():
            return self._keep_all
        files = {path: _read_file(path, self._files.get(path)) for path in sorted(self.path.glob("*.toml"))}
        return lambda: self._update(files)

    def _keep_all(self) -> bool:
        """Keeps the agents of a folder that was removed or cannot be read: their runs go on."""
        if not self._is_missing:
            self._is_missing = True
            log.warning("%s: the folder is missing; its agents stay as they are until it is back", self.path)
        return False

    def _update(self, files: dict[Path, AgentFile]) -> bool:
        self._is_missing = False
        if files == self._files:
            return False
        self._log_problems(files)
        self._files = files
        catalog: Catalog = {}
        failures: dict[str, Failure] = {}
        for file in files.values():
            if file.definition is not None and file.definition.id not in catalog:
                catalog[file.definition.id] = file.definition
                if file.failure is not None:
                    failures[file.definition.id] = file.failure
        self.catalog = catalog
        self.failures = failures
        return True

    def _log_problems(self, files: dict[Path, AgentFile]) -> None:
        """Logs each problem once."""
        owners: dict[str, Path] = {}
        for path, file in files.items():
            if file == self._files.get(path):
                pass
            elif file.failure is not None:
                suffix = "" if file.definition is None else " (its last good definition is kept)"
                log.warning("%s%s", file.failure.error, suffix)
            elif file.definition is not None and file.definition.id in owners:
                log.warning("%s: id: %r is taken by %s", path, file.definition.id, owners[file.definition.id])
            if file.definition is not None:
                owners.setdefault(file.definition.id, path)


def _read_file(path: Path, known: AgentFile | None) -> AgentFile:
    stamp = _read_stamp(path)
    if known is not None and stamp is not None and known.stamp == stamp:
        return known
    try:
        return AgentFile(stamp, load_file(path))
    except ConfigError as exc:
        since = known.failure.since if known is not None and known.failure is not None else time.time()
        return AgentFile(stamp, known.definition if known is not None else None, Failure(exc.detail, since))


def _read_stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)


class FileWatcher:
    def __init__(self, folders: Sequence[AgentFolder], on_change: Callable[[], None]) -> None:
        """`on_change`: called when the overlay of a folder has changed."""
        self._folders = folders
        self._on_change = on_change
        self._stop = anyio.Event()
        self._has_complained = False

    async def run(self) -> None:
        """Until `stop`."""
        while not self._stop.is_set():
            try:
                await self._follow()
            except Exception as exc:  # the watching library and the file system may raise anything; the agents stay
                if not self._has_complained:
                    self._has_complained = True
                    log.warning("agent files are read every %g s only, the watch failed: %s", RETRY_SECONDS, exc)
                with anyio.move_on_after(RETRY_SECONDS):
                    await self._stop.wait()
                await self._read_folders()

    async def _follow(self) -> None:
        watched = self._existing_paths()
        async for _ in awatch(
            *watched,
            watch_filter=None,
            debounce=DEBOUNCE_MILLISECONDS,
            step=QUIET_MILLISECONDS,
            stop_event=self._stop,
            rust_timeout=IDLE_READ_MILLISECONDS,
            yield_on_timeout=True,
            poll_delay_ms=POLL_MILLISECONDS,
            recursive=False,
        ):
            await self._read_folders()
            if watched != self._existing_paths():
                return  # a folder was created or removed: the watch starts again

    def _existing_paths(self) -> list[Path]:
        return [folder.path for folder in self._folders if folder.path.is_dir()]

    async def _read_folders(self) -> None:
        has_changed = False
        for folder in self._folders:
            update = await anyio.to_thread.run_sync(folder.read)
            has_changed = update() or has_changed
        if has_changed:
            self._on_change()

    def stop(self) -> None:
        self._stop.set()
