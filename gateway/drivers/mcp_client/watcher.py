"""One distinct MCP server, from the first session that has it to the last: connected, listed, watched, disconnected.

In: how it is reached. Out: its state now, and a call to every session that has it when the state changes. It runs in a
task of its own; every wait is bounded. A server that failed stays so.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

import anyio
from anyio import CancelScope, to_thread

from gateway.drivers.mcp_client.server_config import ServerConfig, ServerUnusable
from gateway.drivers.mcp_client.tool_list import ToolList

START_TIMEOUT_SECONDS = 30.0
"""Until its first list: the command of a server may have to download it first."""
LIST_TIMEOUT_SECONDS = 15.0
MIN_LIST_INTERVAL_SECONDS = 0.5
"""Between two lists, however often the server announces changes."""
RELIST_SECONDS = 30.0
"""After this the tools are listed again without an announcement: some servers never send one, and the request shows
that the server still answers."""
CLOSE_TIMEOUT_SECONDS = 5.0
"""To close a session over HTTP; a process has its own limits."""
MAX_REASON_CHARS = 300

OnChange = Callable[[], None]


@dataclass(frozen=True, slots=True)
class ServerState:
    """What is known of a server now."""

    status: Literal["connecting", "connected", "failed"]
    reason: str | None = None
    """Why it failed."""
    listing: ToolList = field(default_factory=ToolList)


class ServerWatcher:
    def __init__(self, server: ServerConfig, *, private: bool) -> None:
        self.server = server
        self.state = ServerState("connecting")
        self.since = time.monotonic()
        """When the state last changed."""
        self._private = private
        self._users: list[OnChange] = []
        self._is_stopping = False
        self._life = CancelScope()
        self._wait = CancelScope()
        self._limit = CancelScope()

    @property
    def has_users(self) -> bool:
        return bool(self._users)

    def add_user(self, on_change: OnChange) -> None:
        self._users.append(on_change)

    def remove_user(self, on_change: OnChange) -> None:
        self._users.remove(on_change)

    async def run(self, start_slots: anyio.Semaphore) -> None:
        """`start_slots`: bounds how many servers start at the same time."""
        with self._life:
            try:
                module = await to_thread.run_sync(import_module, "gateway.drivers.mcp_client.connection")
                async with AsyncExitStack() as starting:
                    await starting.enter_async_context(start_slots)
                    with anyio.fail_after(START_TIMEOUT_SECONDS) as self._limit:
                        await self._watch(module.open_connection, starting)
            except Exception as exc:  # of a library, a process, a network: any of them is this server's failure
                reason = self.server.mask_secrets(describe_failure(exc))[:MAX_REASON_CHARS]
                self._change(ServerState("failed", reason))

    def stop(self) -> None:
        """No session has it any more. A connected server is disconnected in order."""
        self._is_stopping = True
        if self.state.status == "connected":
            self._limit.deadline = anyio.current_time() + CLOSE_TIMEOUT_SECONDS
            self._wait.cancel()
        else:
            self._life.cancel()

    async def _watch(self, open_connection: Any, starting: AsyncExitStack) -> None:
        async with open_connection(self.server, private=self._private) as connection:
            tools = await connection.list_tools()
            await starting.aclose()
            self._limit.deadline = math.inf
            self._change(ServerState("connected", listing=tools))
            while not self._is_stopping:
                await self._list_next(connection)

    async def _list_next(self, connection: Any) -> None:
        with anyio.move_on_after(RELIST_SECONDS) as self._wait:
            await connection.wait_for_change()
        if self._is_stopping:
            return
        with anyio.fail_after(LIST_TIMEOUT_SECONDS):
            self._change(ServerState("connected", listing=await connection.list_tools()))
        with anyio.move_on_after(MIN_LIST_INTERVAL_SECONDS) as self._wait:
            await anyio.sleep_forever()

    def _change(self, state: ServerState) -> None:
        if state == self.state:
            return
        self.state = state
        self.since = time.monotonic()
        for on_change in self._users:
            on_change()


def describe_failure(exc: BaseException) -> str:
    """The first cause in one line; the gateway's own `ServerUnusable` before an exception of a library."""
    causes = list(_flatten_groups(exc))
    cause = next((each for each in causes if isinstance(each, ServerUnusable)), causes[0])
    if isinstance(cause, ServerUnusable):
        return str(cause)
    if isinstance(cause, TimeoutError):
        return "it did not answer in time"
    first_line, *_ = str(cause).splitlines() or [""]
    return f"{type(cause).__name__}: {first_line}" if first_line else type(cause).__name__


def _flatten_groups(exc: BaseException) -> Iterator[BaseException]:
    if isinstance(exc, BaseExceptionGroup):
        for inner in exc.exceptions:
            yield from _flatten_groups(inner)
    else:
        yield exc
