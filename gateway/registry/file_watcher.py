"""Folders of agent files, watched: an edit is applied without a restart.

In: the folders as they were read at the start. Out: their layers in the roster, anew after every change. A file that
cannot be read is reported and its last good definition kept; a file that is removed takes its agent along. Where the
system cannot tell of changes they are found by looking; a failure of that, too, never ends the gateway.
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

QUIET = 25
"""Milliseconds without a further change before the files are read: editors write in several steps."""
TOGETHER = 100
"""Milliseconds that changes are waited for at most."""
POLL = 100
"""Milliseconds between two looks where the system tells of no changes."""
ANYWAY = 2000
"""Milliseconds after which the folders are looked at though nothing was told: what happened before the watch began."""
AGAIN = 2.0
"""Seconds until a watch that failed is tried again."""

Stamp: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Kept:
    """One file."""

    stamp: Stamp | None
    """By what one sees that it was written; None: it must be read again."""
    definition: AgentDefinition | None
    """The last good one."""
    trouble: Failure | None = None


class AgentFolder(Overlay):
    """The layer of one folder."""

    def __init__(self, path: Path) -> None:
        """Raises `ConfigError` for whatever is wrong: at the start everything must be right."""
        self.path = path.resolve()
        # Before they are read: what is written while that happens is new.
        stamps = {file.resolve(): _stamp(file) for file in self.path.glob("*.toml")}
        super().__init__(str(path), load_folder(path))
        self._files = {told.source: Kept(stamps.get(told.source), told) for told in self.catalog.values()}
        self._missing = False

    def read(self) -> Callable[[], bool]:
        """What is in it now; blocks. The result puts it on the shelf, and says whether anything is new."""
        if not self.path.is_dir():
            return self._keep_all
        found: dict[Path, Kept] = {}
        for path in sorted(self.path.glob("*.toml")):
            found[path] = _read(path, self._files.get(path))
        return lambda: self._take(found)

    def _keep_all(self) -> bool:
        """A folder that is gone, or not to be read, is no reason to end what runs."""
        if not self._missing:
            self._missing = True
            log.warning("%s: the folder is gone; its agents stay as they are until it is back", self.path)
        return False

    def _take(self, found: dict[Path, Kept]) -> bool:
        self._missing = False
        if found == self._files:
            return False
        self._complain(found)
        self._files = found
        catalog: Catalog = {}
        troubles: dict[str, Failure] = {}
        for kept in found.values():
            if kept.definition is not None and kept.definition.id not in catalog:
                catalog[kept.definition.id] = kept.definition
                if kept.trouble is not None:
                    troubles[kept.definition.id] = kept.trouble
        self.catalog, self.troubles = catalog, troubles
        return True

    def _complain(self, found: dict[Path, Kept]) -> None:
        """Once of each mistake."""
        owners: dict[str, Path] = {}
        for path, kept in found.items():
            before = self._files.get(path)
            if kept == before:
                pass
            elif kept.trouble is not None:
                last = "" if kept.definition is None else " (its last good definition is kept)"
                log.warning("%s%s", kept.trouble.error, last)
            elif kept.definition is not None and kept.definition.id in owners:
                log.warning("%s: id: %r is taken by %s", path, kept.definition.id, owners[kept.definition.id])
            if kept.definition is not None:
                owners.setdefault(kept.definition.id, path)


def _read(path: Path, before: Kept | None) -> Kept:
    stamp = _stamp(path)
    if before is not None and stamp is not None and before.stamp == stamp:
        return before
    try:
        return Kept(stamp, load_file(path))
    except ConfigError as exc:
        since = before.trouble.since if before is not None and before.trouble is not None else time.time()
        return Kept(stamp, before.definition if before is not None else None, Failure(exc.detail, since))


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)


class FileWatcher:
    def __init__(self, folders: Sequence[AgentFolder], changed: Callable[[], None]) -> None:
        """`changed`: some shelf is another now."""
        self._folders, self._changed = folders, changed
        self._stop = anyio.Event()
        self._complained = False

    async def run(self) -> None:
        """Until `stop`."""
        while not self._stop.is_set():
            try:
                await self._follow()
            except Exception as exc:  # a library and a file system: whatever they raise, the agents stay
                if not self._complained:
                    self._complained = True
                    log.warning("changes of agent files are looked for every %g s only: %s", AGAIN, exc)
                with anyio.move_on_after(AGAIN):
                    await self._stop.wait()
                await self._look()

    async def _follow(self) -> None:
        there = [folder.path for folder in self._folders if folder.path.is_dir()]
        async for _ in awatch(
            *there,
            watch_filter=None,
            debounce=TOGETHER,
            step=QUIET,
            stop_event=self._stop,
            rust_timeout=ANYWAY,
            yield_on_timeout=True,
            poll_delay_ms=POLL,
            recursive=False,
        ):
            await self._look()
            if there != [folder.path for folder in self._folders if folder.path.is_dir()]:
                return  # one has come or gone: the watch begins anew

    async def _look(self) -> None:
        news = False
        for folder in self._folders:
            put = await anyio.to_thread.run_sync(folder.read)
            news = put() or news
        if news:
            self._changed()

    def stop(self) -> None:
        self._stop.set()
