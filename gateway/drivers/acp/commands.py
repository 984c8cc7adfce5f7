"""The commands of a session's turns: a cancelled turn leaves none of them running.

In: when a tool call has no result yet, and that the turn was cancelled. Out: what the agent started for its open calls,
and left running after the turn's end, is ended. Never: the agent's MCP servers and daemons
(`process.leftovers`); a process that may belong to another thread's turn; a terminal that the gateway runs
(`terminals`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio
from anyio import to_thread

from gateway.background import Tasks
from gateway.drivers.acp.connection import Connection
from gateway.drivers.base import Opening
from gateway.drivers.client_tools.server import SHIM
from gateway.drivers.process.leftovers import (
    current_ticks,
    end_leftovers,
    read_arguments,
    read_directory,
    runs_server,
)

log = logging.getLogger(__name__)

TURN_END_TIMEOUT_SECONDS = 2.0
"""After `session/cancel`: an agent that ends its commands itself does it within this time."""


class OpenCalls(Protocol):
    """The session's reader."""

    @property
    def has_open_calls(self) -> bool:
        """A tool call of the turn has begun, and has no result yet."""


class TurnCommands:
    """Of one session. `is_enabled`: by the agent's file."""

    def __init__(self, calls: OpenCalls, opening: Opening, tasks: Tasks, *, is_enabled: bool) -> None:
        self._calls = calls
        self._opening = opening
        self._tasks = tasks
        self._is_enabled = is_enabled
        self._since = 0
        """The last moment at which no call was open. What was started since belongs to the open calls. The moment at
        which the first of them was read would be too late: its command may run by then."""

    def note_calls(self) -> None:
        """When a turn begins, and after each message that may have begun or ended a call."""
        if not self._calls.has_open_calls:
            self._since = current_ticks()

    def end(self, over: anyio.Event, connection: Connection, others: Sequence[Path]) -> None:
        """The turn was cancelled. `over`: set at its end. `others`: the folders of other sessions of the same process
        that are in a turn now: what is at work there may be theirs."""
        if self._calls.has_open_calls and self._is_enabled:
            self._tasks.start_soon(self._end, self._since, over, connection, others)

    async def _end(self, since: int, over: anyio.Event, connection: Connection, others: Sequence[Path]) -> None:
        with anyio.move_on_after(TURN_END_TIMEOUT_SECONDS):
            await over.wait()
        is_kept = partial(self._is_kept, others=others)
        count = await to_thread.run_sync(end_leftovers, connection.supervisor_pid, since, is_kept)
        if count:
            log.info("%s processes of a cancelled turn were ended", count)

    def _is_kept(self, pid: int, others: Sequence[Path]) -> bool:
        arguments = read_arguments(pid)
        if str(SHIM) in arguments or any(runs_server(arguments, server) for server in self._opening.mcp_servers):
            return True
        if not others:
            return False
        folder = read_directory(pid)
        is_own = folder is not None and folder.is_relative_to(self._opening.cwd)
        return not is_own or any(folder is not None and folder.is_relative_to(other) for other in others)
