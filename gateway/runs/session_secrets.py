"""The secrets of a session's MCP servers: hidden from other users of the machine, masked in what its agent reports.

In: the servers that a client named for a session. Out: the opening as the agent gets it, and turns whose errors and raw
messages have a mask in place of each secret. Files with secrets are removed with the session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anyio import to_thread

from gateway.agui.option_secrets import SecretMask
from gateway.drivers import LiveTurn, Opening, Session
from gateway.drivers.cli.temp_files import TempFiles
from gateway.drivers.mcp_launch import hide_secrets
from gateway.runs.masked_turn import MaskedTurn, masked_errors
from gateway.turn import Turn


class SessionSecrets:
    def __init__(self, servers: Sequence[Mapping[str, Any]], parent: Path | None = None) -> None:
        """`parent`: a directory that the agent can see. Default: the system's for temporary files."""
        self._mask = SecretMask(servers)
        self._files = TempFiles(parent)

    async def hide(self, opening: Opening) -> Opening:
        """As the agent gets it."""
        if not opening.mcp_servers:
            return opening
        return await to_thread.run_sync(hide_secrets, opening, self._files.save)

    async def start_masked(self, session: Session, turn: Turn) -> LiveTurn:
        if not self._mask:
            return await session.start(turn)
        with masked_errors(self._mask):
            return MaskedTurn(await session.start(turn), self._mask)

    @contextmanager
    def removed_on_error(self) -> Iterator[None]:
        """Around the opening of the session: if it fails, nothing is left, and the error is masked."""
        try:
            with masked_errors(self._mask):
                yield
        except BaseException:
            self.remove_files()
            raise

    def remove_files(self) -> None:
        """May be called twice."""
        self._files.remove()
