"""Records in the audit log what others change in the trust file: `agui-gateway trust`, or an editor.

In: the trust file. Out: entries `folder.trust` and `folder.distrust`, within seconds while the gateway runs. What was
trusted while it did not run is recorded when it starts. Never: an entry for what the gateway itself has written into
the file, because the answer to a question is an entry already.
"""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path

import anyio
from anyio import to_thread

from gateway.audit import Action, AuditLog
from gateway.errors import ConfigError, StoreError
from gateway.store.audit import AuditFilter
from gateway.trust.trust_file import Folders, TrustFile

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0

TrustedFolder = tuple[str, Path]
"""A principal and a folder."""


class TrustAudit:
    def __init__(self, file: TrustFile, audit: AuditLog) -> None:
        self._file = file
        self._audit = audit
        self._known: set[TrustedFolder] = set()
        """What was in the file at the last look."""
        self._own: set[TrustedFolder] = set()
        """What the gateway writes into it."""

    async def add(self, principal: str, folder: Path) -> None:
        """Writes it into the file for the gateway. Raises `ConfigError`."""
        self._own.add((principal, folder))
        is_new = False
        try:
            is_new = await to_thread.run_sync(self._file.add, principal, folder)
        finally:
            if not is_new:
                self._own.discard((principal, folder))

    async def record_earlier(self) -> None:
        """To be called when the gateway starts, before anything else is recorded. Records the folders that have been
        trusted since the newest entry of the log: no gateway ran that could do it."""
        listed = _list(await self._read() or {})
        self._known = set(listed)
        try:
            missed = [trusted for trusted, since in listed.items() if await self._is_newest(since)]
        except StoreError as exc:
            log.error("trust that was given before the start is not in the audit log: %s", exc)
            return
        for trusted in missed:
            self._record("folder.trust", *trusted, listed[trusted])

    async def watch(self) -> None:
        """Until cancelled."""
        while True:
            await anyio.sleep(POLL_SECONDS)
            if (folders := await self._read()) is not None:
                self._record_changes(set(_list(folders)))

    def _record_changes(self, listed: set[TrustedFolder]) -> None:
        for trusted in sorted(listed - self._known - self._own):
            self._record("folder.trust", *trusted)
        for trusted in sorted(self._known - listed):
            self._record("folder.distrust", *trusted)
        self._own -= listed
        self._known = listed

    async def _is_newest(self, since: str) -> bool:
        """No entry of the log is as new."""
        try:
            at = datetime.fromisoformat(since).timestamp()
        except ValueError:
            return False
        return not await self._audit.read(0, 1, AuditFilter(since=at))

    async def _read(self) -> Folders | None:
        """None: the file cannot be used now, which the log says where it matters."""
        try:
            return await to_thread.run_sync(self._file.read)
        except ConfigError:
            return None

    def _record(self, action: Action, principal: str, folder: Path, since: str | None = None) -> None:
        detail = {"folders": [str(folder)], "for": "always", "by": "trust file"}
        self._audit.record(action, principal, detail=detail if since is None else {**detail, "since": since})


def _list(folders: Folders) -> dict[TrustedFolder, str]:
    return {(principal, folder): since for principal, own in folders.items() for folder, since in own.items()}
