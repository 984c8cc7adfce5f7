"""One distinct MCP server, from the first session that has it to the last: connected, listed, followed, let go.

In: how it is reached. Out: what is known of it now, and a word to everybody who has it when that is another. It waits
in a task of its own; every wait is bounded. One that failed stays so.
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

from gateway.drivers.mcp_client.server_config import Server, Unusable
from gateway.drivers.mcp_client.tool_list import Listing

START_LIMIT = 30.0
"""Until its first listing is there: a server may be fetched before it starts."""
LIST_LIMIT = 15.0
PAUSE = 0.5
"""Between two listings, however often it says that they are others."""
ANYWAY = 30.0
"""After which it is asked though it said nothing: some never do, and so one sees that it is still there."""
CLOSE_LIMIT = 5.0
"""For a farewell over HTTP; a process has its own bounds."""
REASON = 300
"""Characters."""

Changed = Callable[[], None]


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a server now."""

    status: Literal["connecting", "connected", "failed"]
    reason: str | None = None
    """Why it failed."""
    listing: Listing = field(default_factory=Listing)


class ServerWatcher:
    def __init__(self, server: Server, *, private: bool) -> None:
        self.server, self._private = server, private
        self.users: list[Changed] = []
        self.state = State("connecting")
        self.since = time.monotonic()
        """When it became that."""
        self._left = False
        self._life, self._waiting, self._limit = CancelScope(), CancelScope(), CancelScope()

    async def live(self, gate: anyio.Semaphore) -> None:
        """`gate`: so many start at the same time."""
        with self._life:
            try:
                asking = await to_thread.run_sync(import_module, "gateway.drivers.mcp_client.connection")
                async with AsyncExitStack() as starting:
                    await starting.enter_async_context(gate)
                    with anyio.fail_after(START_LIMIT) as self._limit:
                        await self._talk(asking, starting)
            except Exception as exc:  # of a library, a process, a network: whatever it is, it is this server's state
                self._become(State("failed", self.server.masked(reason(exc))[:REASON]))

    def leave(self) -> None:
        """Nobody has it any more. One that is connected may say farewell."""
        self._left = True
        if self.state.status == "connected":
            self._limit.deadline = anyio.current_time() + CLOSE_LIMIT
            self._waiting.cancel()
        else:
            self._life.cancel()

    async def _talk(self, asking: Any, starting: AsyncExitStack) -> None:
        async with asking.opened(self.server, private=self._private) as connection:
            listing = await connection.tools()
            await starting.aclose()
            self._limit.deadline = math.inf
            self._become(State("connected", listing=listing))
            while not self._left:
                await self._follow(connection)

    async def _follow(self, connection: Any) -> None:
        with anyio.move_on_after(ANYWAY) as self._waiting:
            await connection.changed()
        if self._left:
            return
        with anyio.fail_after(LIST_LIMIT):
            self._become(State("connected", listing=await connection.tools()))
        with anyio.move_on_after(PAUSE) as self._waiting:
            await anyio.sleep_forever()

    def _become(self, state: State) -> None:
        if state == self.state:
            return
        self.state, self.since = state, time.monotonic()
        for changed in self.users:
            changed()


def reason(exc: BaseException) -> str:
    """The first word on what happened; our own words before a library's."""
    leaves = list(_leaves(exc))
    told = next((leaf for leaf in leaves if isinstance(leaf, Unusable)), leaves[0])
    if isinstance(told, Unusable):
        return str(told)
    if isinstance(told, TimeoutError):
        return "it did not answer in time"
    first, *_ = str(told).splitlines() or [""]
    return f"{type(told).__name__}: {first}" if first else type(told).__name__


def _leaves(exc: BaseException) -> Iterator[BaseException]:
    if isinstance(exc, BaseExceptionGroup):
        for inner in exc.exceptions:
            yield from _leaves(inner)
    else:
        yield exc
