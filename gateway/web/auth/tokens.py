"""The tokens in force: those of the operator's token file, read again whenever it changes.

In: a token as a client sends it. Out: its `Caller`. A file that cannot be read, or is wrong, changes nothing: the last
good tokens stay in force, and the log says why. Never: a token in clear; only hashes are kept, and the hash that a
client's token has is compared in constant time.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from hmac import compare_digest
from pathlib import Path
from typing import TypeAlias

import anyio
import anyio.to_thread

from gateway.errors import ConfigError
from gateway.identity import Caller
from gateway.web.auth.token_file import ADVICE, TokenRecord, hash_token, read_token_file

log = logging.getLogger(__name__)

POLL_SECONDS = 0.25
"""Between two looks at the file. Looked at, not watched: secrets that a container's runtime mounts are replaced by
links, and not every file system reports changes."""

Stamp: TypeAlias = tuple[int, int, int, int]
"""Inode, modification time, size and time of the last change of mode or owner."""


class Tokens:
    def __init__(self, path: Path) -> None:
        """Raises `ConfigError`: at the start the file must be valid, and have a token in it."""
        self._path = path
        self._stamp = self._seen_stamp = _read_stamp(path)
        self._records = tuple(read_token_file(path))
        if not self._records:
            raise ConfigError(f"{path}: there is no token in it; {ADVICE} {path}")

    def find(self, token: str) -> Caller | None:
        """None: there is no such token, or it has expired. Every hash is compared, so that the time taken reveals
        nothing."""
        digest = hash_token(token)
        matches = [record for record in self._records if compare_digest(record.sha256, digest)]
        return _to_caller(matches[0]) if matches else None

    def find_principal(self, principal: str) -> Caller | None:
        """The principal as its token is now; None: it has none any more."""
        return next((_to_caller(each) for each in self._records if each.name == principal), None)

    def names(self) -> frozenset[str]:
        """The principals whose tokens are in force."""
        return frozenset(record.name for record in self._in_force())

    async def watch(self, on_change: Callable[[], None]) -> None:
        """Until cancelled. `on_change`: called when other tokens are in force, because the file has changed or a token
        has expired."""
        in_force = self._in_force()
        while True:
            await anyio.sleep(POLL_SECONDS)
            records = await anyio.to_thread.run_sync(self._read_if_changed)
            if records is not None:
                self._records = tuple(records)
                log.warning("%s: read again, %d token(s) are in force", self._path, len(self._in_force()))
            if (now := self._in_force()) != in_force:
                in_force = now
                on_change()

    def _in_force(self) -> list[TokenRecord]:
        return [record for record in self._records if _to_caller(record) is not None]

    def _read_if_changed(self) -> Sequence[TokenRecord] | None:
        """Only what has not changed since the last look: an editor that empties the file before it writes must not
        revoke all tokens for a moment."""
        stamp = _read_stamp(self._path)
        is_quiet = stamp == self._seen_stamp
        self._seen_stamp = stamp
        if stamp == self._stamp or not is_quiet:
            return None
        self._stamp = stamp
        try:
            return read_token_file(self._path)
        except ConfigError as exc:
            log.error("%s (the tokens that were in force stay in force)", exc.detail)
            return None


def _read_stamp(path: Path) -> Stamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size, status.st_ctime_ns


def _to_caller(record: TokenRecord) -> Caller | None:
    if record.expires is not None and record.expires <= time.time():
        return None
    return Caller(record.name, record.scopes, record.agents, "token", record.sha256, record.expires)
