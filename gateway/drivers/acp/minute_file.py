"""Agents that name a session's file by the minute in which the session is opened.

Gemini CLI 0.61 writes the beginning of a new session before it reads the one that it is to load. Both files have the
same name if the session was opened in this minute: then the conversation is lost. In any later minute it loads.
"""

from __future__ import annotations

from datetime import UTC, datetime
from glob import escape, glob
from pathlib import Path

import anyio
from anyio import to_thread

MINUTE_SECONDS = 60
ID_CHARS = 8


class MinuteFile:
    def __init__(self, pattern: str | None, home: Path | None = None) -> None:
        """`pattern`: `minute_file` of the agent's file; None: it can load its sessions at any time. `home`: for `~`."""
        self._pattern = pattern
        self._home = home

    async def wait_until_free(self, session_id: str) -> None:
        """Returns in a minute in which no file of this session was made; at most a minute later."""
        if await self.is_taken(session_id):
            now = datetime.now(UTC)
            await anyio.sleep(MINUTE_SECONDS - now.second - now.microsecond / 1e6)

    async def is_taken(self, session_id: str) -> bool:
        """A file of this session was made in this minute."""
        if self._pattern is None:
            return False
        minute = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M")
        path = self._pattern.replace("{minute}", minute).replace("{id}", escape(session_id[:ID_CHARS]))
        if path.startswith("~/"):
            path = f"{escape(str(self._home or Path.home()))}{path[1:]}"
        return bool(await to_thread.run_sync(glob, path))
