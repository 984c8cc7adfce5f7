"""The trust file: who trusts which folder, and since when.

In: a principal and a real folder. Out: JSON, readable and writable for its owner only, replaced as a whole under a
lock, and read again when it has changed. `*` stands for every principal. Never: trust from a file that another user
could have written, or that cannot be understood.

    {"version": 1, "principals": {"local": {"/src/project": {"since": "2026-11-18T03:00:00Z"}}}}
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gateway.errors import ConfigError

log = logging.getLogger(__name__)

EVERYBODY = "*"
MAX_FILE_BYTES = 4 * 1024 * 1024
VERSION = 1

Folders = dict[str, dict[Path, str]]
"""Principal → folder → time since which it is trusted."""


class TrustFile:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, ...] | None = None
        """Of the file that was read last."""
        self._folders: Folders = {}

    @property
    def path(self) -> Path:
        return self._path

    def folders(self, principal: str) -> Mapping[Path, str]:
        """The folders that the principal trusts, with everybody's. A file that cannot be used counts as empty, and the
        log says why."""
        self._refresh()
        return {**self._folders.get(EVERYBODY, {}), **self._folders.get(principal, {})}

    def read(self) -> Folders:
        """Raises `ConfigError` for a file that cannot be used."""
        try:
            with self._path.open("rb") as file:
                self._check_owner(os.fstat(file.fileno()))
                data = file.read(MAX_FILE_BYTES + 1)
        except FileNotFoundError:
            return {}
        except OSError as exc:
            raise ConfigError(f"{self._path}: cannot be read: {exc.strerror}") from exc
        if len(data) > MAX_FILE_BYTES:
            raise ConfigError(f"{self._path}: larger than {MAX_FILE_BYTES} bytes, so it is not used")
        return _parse(data, self._path)

    def add(self, principal: str, folder: Path) -> bool:
        """False: the principal trusted it before. Raises `ConfigError`."""
        with self._locked():
            folders = self.read()
            own = folders.setdefault(principal, {})
            if folder in own:
                return False
            own[folder] = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
            self._write(folders)
            return True

    def remove(self, principal: str, folder: Path) -> bool:
        """False: it is not in the file. Raises `ConfigError`."""
        with self._locked():
            folders = self.read()
            if folders.get(principal, {}).pop(folder, None) is None:
                return False
            self._write({name: own for name, own in folders.items() if own})
            return True

    def _refresh(self) -> None:
        try:
            found = os.stat(self._path)
            stamp = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
        except OSError:
            stamp = None
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._folders = {} if stamp is None else self.read()
        except ConfigError as exc:
            log.error("no folder is trusted by the trust file: %s", exc.detail)
            self._folders = {}

    def _check_owner(self, found: os.stat_result) -> None:
        if found.st_uid != os.geteuid():
            raise ConfigError(f"{self._path}: belongs to another user, so it is not used")
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ConfigError(f"{self._path}: other users can write it, so it is not used: chmod 600 {self._path}")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time, of all processes."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as exc:
            raise ConfigError(f"{self._path}: cannot be written: {exc.strerror}") from exc
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _write(self, folders: Folders) -> None:
        principals = {
            name: {str(folder): {"since": since} for folder, since in own.items()} for name, own in folders.items()
        }
        data = json.dumps({"version": VERSION, "principals": principals}, indent=2, ensure_ascii=False) + "\n"
        try:
            descriptor, name = tempfile.mkstemp(prefix=".trust-", dir=self._path.parent)  # mode 0600
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data.encode("utf-8", "surrogateescape"))
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(name, self._path)
            except BaseException:
                os.unlink(name)
                raise
        except OSError as exc:
            raise ConfigError(f"{self._path}: cannot be written: {exc.strerror}") from exc


def _parse(data: bytes, path: Path) -> Folders:
    try:
        document: Any = json.loads(data.decode("utf-8", "surrogateescape"))
        if document["version"] != VERSION:
            raise ConfigError(f"{path}: version {document['version']!r} is not known, so it is not used")
        return {
            str(principal): {Path(folder): str(entry["since"]) for folder, entry in own.items()}
            for principal, own in document["principals"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        raise ConfigError(f"{path}: is not a trust file, so it is not used: {exc!r}") from exc
